"""Iterations that the kernel goes through by itself: the central theorem again, with every way in and out of it.

Programs drawn at random have few iterations, so they are handed over at once here, and room is made scarce.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whence
from maintain.test_update import check, quick, seeds, thorough
from oracle.generate import programs
from oracle.rules import Program
from whence.engines.local import execute, propagation
from whence.engines.local.kernel.layout import CHUNK
from whence.maintain import update

FIXTURES = [HealthCheck.function_scoped_fixture]


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Strata are handed over after their first iteration, and come back for everything."""
    monkeypatch.setattr(update, "SHORT", 1)
    monkeypatch.setattr(execute, "BUFFER", CHUNK)
    monkeypatch.setattr(propagation, "BUDGET", 1)
    return monkeypatch


@settings(quick, suppress_health_check=FIXTURES)
@given(programs(), seeds, st.sampled_from([1, 3, 256]))
def test_update_equals_bootstrap(soon: pytest.MonkeyPatch, program: Program, seed: int, most: int) -> None:
    soon.setattr(propagation, "MOST", most)
    check(program, seed, "update")


@pytest.mark.slow
@settings(thorough, suppress_health_check=FIXTURES)
@given(programs(), seeds, st.sampled_from([1, 3, 256]))
def test_on_many_more_programs(soon: pytest.MonkeyPatch, program: Program, seed: int, most: int) -> None:
    soon.setattr(propagation, "MOST", most)
    check(program, seed, "update", epochs=6)


LADDER = """
.decl edge(a: number, b: number)
.decl shut(a: number)
.decl reach(a: number)
.decl path(a: number, b: number)
.decl even(a: number)
.decl odd(a: number)
reach(b) :- edge(0, b), !shut(b).
reach(b) :- reach(a), edge(a, b), !shut(b).
path(a, b) :- edge(a, b).
path(a, c) :- edge(a, b), path(b, c).
even(0) :- edge(0, _).
odd(b) :- even(a), edge(a, b).
even(b) :- odd(a), edge(a, b).
"""


def ladder(length: int, random: Random) -> list[tuple[int, int]]:
    """A path with a shortcut here and there, so that tuples come by several ways and in several iterations."""
    edges = [(i, i + 1) for i in range(length)]
    return edges + [(i, min(length, i + random.randint(2, 9))) for i in range(0, length, 7)]


@pytest.mark.parametrize("most", [2, 40, 256])
def test_long_chains_are_cut_and_mended(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(propagation, "MOST", most)
    random = Random(most)
    edges = ladder(300, random)
    session = whence.open(text=LADDER)
    session.load(edge=edges)
    session.run()
    there = {"edge": set(edges), "shut": set[tuple[int, ...]]()}
    ahead = _counting(monkeypatch)
    for _ in range(12):
        a = random.choice(sorted(there["edge"]))
        b = (random.randrange(300), random.randrange(300))
        shut = (random.randrange(300),)
        insert = {"edge": [b] if b not in there["edge"] else [], "shut": [shut] if shut not in there["shut"] else []}
        delete = {"edge": [a], "shut": list(there["shut"])[:1]}
        session.update(insert=insert, delete=delete, strategy="update")
        for name in there:
            there[name] = (there[name] | set(insert[name])) - set(delete[name])
        fresh = whence.open(text=LADDER)
        fresh.load(**{name: sorted(rows) for name, rows in there.items()})
        fresh.run()
        for name in session:
            assert set(session[name].tuples(annotated=True)) == set(fresh[name].tuples(annotated=True)), name
    assert sum(ahead) > 100, "the kernel has not gone through iterations by itself"


def test_an_interrupt_between_two_of_its_iterations_leaves_the_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    session = whence.open(text=LADDER)
    session.load(edge=ladder(300, Random(1)))
    session.run()
    before = {name: set(session[name].tuples(annotated=True)) for name in session}
    monkeypatch.setattr(propagation, "BUDGET", 5)
    ticks = iter(range(40))

    def tick() -> None:
        if next(ticks, None) is None:
            raise KeyboardInterrupt

    session.on_tick(tick)
    with pytest.raises(KeyboardInterrupt):
        session.update(delete={"edge": [(3, 4)]}, strategy="update")
    session.on_tick(lambda: None)
    assert {name: set(session[name].tuples(annotated=True)) for name in session} == before
    session.update(delete={"edge": [(3, 4)]}, strategy="update")
    session.update(insert={"edge": [(3, 4)]}, strategy="update")
    assert {name: set(session[name].tuples(annotated=True)) for name in session} == before


def test_a_division_by_zero_is_told_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update, "SHORT", 1)
    text = """.decl n(a: number, b: number)
.decl r(a: number)
r(0).
r(a + 1 + 100 / (50 - a) - 100 / (50 - a)) :- r(a), n(a, _).
"""
    session = whence.open(text=text, file="division.dl")
    session.load(n=[(i, i) for i in range(40)])
    session.run()
    with pytest.raises(whence.WhenceError, match=r"division.dl:4.*division by zero"):
        session.update(insert={"n": [(i, i) for i in range(40, 60)]}, strategy="update")
    assert len(session["r"]) == 41


def _counting(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collects how many iterations the kernel goes through each time that it is asked to."""
    counted: list[int] = []
    run = propagation.Propagation.run

    def counting(self: propagation.Propagation) -> tuple[int, int]:
        found = run(self)
        counted.append(self.rounds)
        return found

    monkeypatch.setattr(propagation.Propagation, "run", counting)
    return counted
