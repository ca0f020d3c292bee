"""Metrics of the user's own, and the conditions of 4.3.5 that they must meet."""

from __future__ import annotations

import numpy as np
import pytest

import whence
from whence.explain import HEIGHT, Metric

ROADS = """
.decl road(x: symbol, y: symbol)
.decl ferry(x: symbol, y: symbol)
.decl way(x: symbol, y: symbol)
way(x, y) :- road(x, y).
way(x, y) :- ferry(x, y), ferry(x, y), ferry(x, y).
way(x, z) :- way(x, y), way(y, z).
"""


def roads() -> whence.Session:
    session = whence.open(text=ROADS)
    session.load(ferry=[("a", "d")], road=[("a", "b"), ("b", "c"), ("c", "d")])
    session.run()
    return session


def test_a_metric_of_the_user_chooses_another_proof() -> None:
    """What is low may be large: a rule of three costs more than two of one and two."""

    def tuples_used(values: list[np.ndarray]) -> np.ndarray:  # type: ignore[type-arg]
        return np.sum(np.stack(values) + 5 * (len(values) == 3), axis=0) + 1  # type: ignore[no-any-return]

    session = roads()
    assert session.explain('way("a", "d")').height == 1
    dear = session.explain('way("a", "d")', metric=Metric("tuples", 1, tuples_used))
    assert dear.height == 3
    assert session.explain('way("a", "d")', metric=HEIGHT).height == 1


@pytest.mark.parametrize(
    ("combine", "message"),
    [
        (lambda values: np.max(np.stack(values), axis=0), "not monotone: it makes"),
        (lambda values: 200 - np.min(np.stack(values), axis=0) + 100, "falls where a part of it grows"),
        (lambda values: np.max(np.stack(values), axis=0) + np.random.default_rng().integers(1, 99), "equal values"),
        (lambda values: np.ones(1), "one value for each"),
    ],
)
def test_what_is_no_metric_is_refused(combine: object, message: str) -> None:
    with pytest.raises(whence.WhenceError, match=message):
        roads().explain('way("a", "d")', metric=Metric("odd", 0, combine))  # type: ignore[arg-type]


def test_sizes_beyond_counting_still_give_a_proof() -> None:
    """A tree that doubles at each of 100 levels has more nodes than there are numbers; its tuples are few."""
    session = whence.open(
        text="""
        .decl n(x: number)
        n(0).
        n(x + 1) :- n(x), n(y), y = x, x < 100.
        """
    )
    session.run()
    explanation = session.explain("n(100)", metric="size", depth=3)
    assert explanation.height == 3
    assert explanation.size == 15
