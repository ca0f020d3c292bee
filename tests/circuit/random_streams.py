"""Random Z-sets and streams of them, small enough for weights to cancel."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from whence.circuit import ZSet


def zset_of(weights: Mapping[tuple[int, ...], int], arity: int) -> ZSet:
    return ZSet.of(weights, arity)


def zsets(arity: int, values: int = 3, most: int = 6) -> st.SearchStrategy[ZSet]:
    rows = st.tuples(*[st.integers(0, values)] * arity)
    return st.dictionaries(rows, st.integers(-2, 2), max_size=most).map(lambda weights: zset_of(weights, arity))


def streams(arity: int, ticks: int = 5) -> st.SearchStrategy[list[ZSet]]:
    return st.lists(zsets(arity), max_size=ticks)


def nested_streams(arity: int, epochs: int = 4, ticks: int = 4) -> st.SearchStrategy[list[list[ZSet]]]:
    return st.lists(streams(arity, ticks), min_size=1, max_size=epochs)
