"""What operators remember: sums with dead rows, histories of weights, and that neither grows for ever."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from circuit.random_streams import zsets
from whence.circuit import ZSet
from whence.circuit.thresholds import Distinct
from whence.circuit.trace import Trace

timed = st.lists(st.tuples(st.integers(0, 3), zsets(1)), max_size=8)


@settings(max_examples=60, deadline=None)
@given(timed)
def test_a_trace_is_the_sum_of_what_came(batches: list[tuple[int, ZSet]]) -> None:
    trace, wanted = Trace(1, timed=True), ZSet(2)
    for time, batch in batches:
        trace.add(batch, time)
        wanted = wanted + ZSet.of({(*row, time): weight for row, weight in batch}, arity=2)
    assert trace.zset() == wanted
    assert len(trace) == len(wanted)
    asked = np.array([(x, t) for x in range(5) for t in range(5)])
    assert trace.weights_of(asked).tolist() == [wanted[x, t] for x, t in asked.tolist()]


@settings(max_examples=60, deadline=None)
@given(timed)
def test_what_distinct_knows_is_what_it_has_given(batches: list[tuple[int, ZSet]]) -> None:
    """Fed at any times in any order, its output is the set at each time, and `given` and `present` say so."""
    distinct, total = Distinct(1, timed=True), ZSet(2)
    for time, batch in batches:
        distinct.follow(batch, time)
        total = total + ZSet.of({(*row, time): weight for row, weight in batch}, arity=2)
    before = ZSet(2)
    for time in range(4):
        assert distinct.given() == before
        out = distinct.pop(time)
        before = before + ZSet.of({(*row, time): weight for row, weight in out}, arity=2)
        until = total.select(lambda rows, t=time: rows[:, 1] <= t).project([0]).to_set()  # type: ignore[misc]
        assert before.project([0]) == until
    assert distinct.integral() == before
    assert {row for row, _ in until} == {tuple(row) for row in distinct.present().tolist()}
    asked = np.arange(5).reshape(-1, 1)
    assert distinct.has(asked).tolist() == [until[x] > 0 for x in range(5)]


@pytest.mark.parametrize("holder", [Trace, Distinct])
def test_rows_that_went_are_given_up(holder: type[Trace] | type[Distinct]) -> None:
    """A window that moves over many rows: what is held stays near what is there."""
    held = holder(2)
    kept = ZSet.from_array(np.stack([np.arange(50), np.arange(50)], axis=1))
    take = held.add if isinstance(held, Trace) else lambda batch: held.step(0, batch)
    take(kept)
    for start in range(1000, 60_000, 500):
        numbers = np.arange(start, start + 500)
        window = ZSet.from_array(np.stack([numbers, numbers * 7], axis=1))
        take(window)
        take(-window)
    assert len(held.table) < 5000
    rest = held.zset() if isinstance(held, Trace) else held.integral()
    assert rest == kept
