"""Z-sets against dictionaries: the group, and what is made of them."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings

from circuit.random_streams import zset_of, zsets
from whence.circuit import LEFT, RIGHT, ZSet
from whence.errors import WhenceError

quick = settings(max_examples=60, deadline=None)


def as_dict(z: ZSet) -> dict[tuple[int, ...], int]:
    return dict(z)


def added(*weights: dict[tuple[int, ...], int]) -> dict[tuple[int, ...], int]:
    total: Counter[tuple[int, ...]] = Counter()
    for one in weights:
        for row, weight in one.items():
            total[row] += weight
    return {row: weight for row, weight in total.items() if weight}


@quick
@given(zsets(2), zsets(2), zsets(2))
def test_it_is_an_abelian_group(a: ZSet, b: ZSet, c: ZSet) -> None:
    assert as_dict(a + b) == added(as_dict(a), as_dict(b))
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a - a == ZSet(2)
    assert not len(a + -a)
    assert a * 3 == a + a + a
    assert a * 0 == ZSet(2)


@quick
@given(zsets(2))
def test_projection_and_selection_are_linear(a: ZSet) -> None:
    wanted: Counter[tuple[int, ...]] = Counter()
    for (_, y), weight in a:
        wanted[(y,)] += weight
    assert as_dict(a.project([1])) == {row: weight for row, weight in wanted.items() if weight}
    assert as_dict(a.select(lambda rows: rows[:, 0] > 1)) == {r: w for r, w in a if r[0] > 1}
    assert as_dict(a.map(lambda rows: rows + 1, 2)) == {(x + 1, y + 1): w for (x, y), w in a}


@quick
@given(zsets(2), zsets(2))
def test_a_join_multiplies_weights(a: ZSet, b: ZSet) -> None:
    wanted: Counter[tuple[int, ...]] = Counter()
    for (x, y), v in a:
        for (y2, z), w in b:
            if y == y2:
                wanted[x, z] += v * w
    kept = a.join(b, on=[(1, 0)], keep=[(LEFT, 0), (RIGHT, 1)])
    assert as_dict(kept) == {row: weight for row, weight in wanted.items() if weight}
    crossed = a.join(b, on=[])
    assert as_dict(crossed) == {(*r, *s): v * w for r, v in a for s, w in b}


@quick
@given(zsets(2))
def test_sets_differences_and_groups(a: ZSet) -> None:
    assert as_dict(a.to_set()) == {row: 1 for row, weight in a if weight > 0}
    assert as_dict(a.to_diff()) == {row: (weight > 0) - (weight < 0) for row, weight in a}
    there = a.to_set()
    groups: dict[int, list[int]] = defaultdict(list)
    for (x, y), _ in there:
        groups[x].append(y)
    for name, function in (("sum", sum), ("min", min), ("max", max)):
        assert as_dict(there.group([0], name, 1)) == {(x, function(ys)): 1 for x, ys in groups.items()}
    assert as_dict(there.group([0])) == {(x, len(ys)): 1 for x, ys in groups.items()}
    assert as_dict(there.group([])) == ({(len(there),): 1} if len(there) else {})


def test_weights_count_in_groups() -> None:
    z = ZSet.of({(1, 5): 3, (1, 7): -1, (2, 4): 2, (2, 9): -2})
    assert as_dict(z.group([0])) == {(1, 2): 1}
    assert as_dict(z.group([0], "sum", 1)) == {(1, 8): 1}
    assert as_dict(z.group([0], "max", 1)) == {(1, 5): 1, (2, 4): 1}


def test_rows_without_columns_are_numbers() -> None:
    three, two = ZSet.of({(): 3}), ZSet.of({(): 2})
    assert as_dict(three + two) == {(): 5}
    assert as_dict(three.join(two, on=[])) == {(): 6}
    assert not len(three - three)


@pytest.mark.parametrize("count", [0, 1, 1000, 100_000])
def test_many_rows_in_many_pieces(count: int) -> None:
    random = np.random.default_rng(count)
    rows = random.integers(0, 300, (count, 2))
    weights = random.integers(-2, 3, count)
    z = ZSet(2)
    for part in np.array_split(np.arange(count), 7):
        z = z + ZSet.from_array(rows[part], weights[part])
    wanted: Counter[tuple[int, ...]] = Counter()
    for row, weight in zip(map(tuple, rows.tolist()), weights.tolist(), strict=True):
        wanted[row] += weight
    assert as_dict(z) == {row: weight for row, weight in wanted.items() if weight}


def test_looking_does_not_change_what_was_given() -> None:
    rows, weights = np.array([[1], [1], [2]]), np.array([1, 2, 0])
    z = ZSet.from_array(rows, weights)
    assert as_dict(z) == {(1,): 3}
    assert rows.tolist() == [[1], [1], [2]]
    assert weights.tolist() == [1, 2, 0]
    assert z[1] == 3
    assert z[5] == 0
    assert repr(z) == "{(1,): +3}"


def test_what_is_wrong_is_said() -> None:
    for wrong, message in (
        (lambda: ZSet.of([]), "needs its number of columns"),
        (lambda: ZSet.of([(1, 2), (1,)]), "the row (1,) has 1 columns"),
        (lambda: ZSet.of([("a",)]), "whole numbers"),
        (lambda: ZSet(1) + ZSet(2), "1 and 2 columns"),
        (lambda: zset_of({(1, 2): 1}, 2).join(ZSet(1), on=[(2, 0)]), "no column 2 on side 0"),
        (lambda: zset_of({(1, 2): 1}, 2).group([0], "median", 1), "no aggregate 'median'"),
        (lambda: zset_of({(1, 2): 1}, 2).group([0], "sum"), "of which column"),
        (lambda: zset_of({(1, 2): 1}, 2).group([4]), "no column 4"),
        (lambda: ZSet.from_array(np.array([1, 2])), "should be (rows, columns)"),
    ):
        with pytest.raises(WhenceError, match=message.replace("(", r"\(").replace(")", r"\)")):
            wrong()
