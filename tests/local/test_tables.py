"""Evaluations that stop half-way, and numbers of derivations that are larger than their column."""

from __future__ import annotations

import time

import numpy as np
import pytest

import whence

CLOSURE = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
MOST = 2**31 - 1


class StopAt:
    def __init__(self, iteration: int) -> None:
        self.last = iteration

    def stratum(self, *_: object) -> None: ...

    def iteration(self, iteration: int, new: int) -> None:
        if iteration == self.last:
            raise KeyboardInterrupt


@pytest.mark.parametrize("iteration", [1, 2, 30])
def test_an_evaluation_that_was_interrupted_can_be_done_again(iteration: int) -> None:
    edges = [(i, i + 1) for i in range(60)]
    session = whence.open(text=CLOSURE)
    session.load(edge=edges, path=[(0, 100)])
    paths = session["path"]
    with pytest.raises(KeyboardInterrupt):
        session.run(StopAt(iteration))
    assert (sorted(session["edge"]), list(paths)) == (edges, [(0, 100)])
    session.run()
    assert sorted(paths) == sorted({(0, 100)} | {(i, j) for i in range(61) for j in range(i + 1, 61)})


def test_what_a_failed_iteration_derived_is_dropped() -> None:
    """It fails within its first iteration, when one rule has derived tuples already."""
    session = whence.open(text=".decl a(x: number)\n.decl b(x: number)\n.output b\nb(x) :- a(x).\nb(1 / x) :- a(x).\n")
    session.load(a=[(2,), (1,), (0,)], b=[(7,)])
    with pytest.raises(whence.WhenceError, match="division by zero"):
        session.run()
    assert list(session["b"]) == [(7,)]


@pytest.mark.parametrize(
    ("body", "size", "derivations"),
    [
        ("a(_), a(_)", 46340, 46340**2),
        ("a(_), a(_)", 46341, MOST),
        ("a(_), a(_)", 65536, MOST),  # 2^32, of which four bytes hold 0
        ("a(_), a(_), a(_), a(_)", 65536, MOST),  # 2^64
    ],
)
def test_a_count_of_derivations_stops_at_the_most_that_fits(body: str, size: int, derivations: int) -> None:
    session = whence.open(text=f".decl a(x: number)\n.decl p(x: number)\n.output p\np(1) :- {body}.")
    session.load(a=np.arange(size).reshape(-1, 1))
    session.run()
    assert list(session["p"].tuples(annotated=True)) == [((1,), 1, derivations)]


def test_a_count_of_derivations_stops_while_it_adds_up() -> None:
    session = whence.open(text=".decl a(x: number)\n.decl b(x: number)\n.decl p(x: number)\n.output p\n"
                               "p(1) :- b(_), a(_), a(_).\np(1) :- a(_), a(_).")  # fmt: skip
    session.load(a=np.arange(40000).reshape(-1, 1), b=[(1,)])
    session.run()
    assert list(session["p"].tuples(annotated=True)) == [((1,), 1, MOST)]


@pytest.mark.parametrize("keys", [1, 7])
def test_counting_the_tuples_of_a_key_again_and_again_costs_little(keys: int) -> None:
    """Each of `a` has as many derivations as `b` has tuples with its key: they are counted once a chunk of `a`."""
    size = 140_000
    session = whence.open(text=".decl a(x: number, k: number)\n.decl b(k: number, y: number)\n.decl p(x: number)\n"
                               ".output p\np(x) :- a(x, k), b(k, _).")  # fmt: skip
    numbers = np.arange(size)
    session.load(a=np.stack([numbers, numbers % keys], 1), b=np.stack([numbers % keys, numbers], 1))
    started = time.perf_counter()
    session.run()
    assert time.perf_counter() - started < 5
    assert {count for _, _, count in session["p"].tuples(annotated=True)} == {size // keys}
