"""Tables and indexes against a dictionary, through the kernel as it is loaded from disk."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.engines.local.kernel import library
from whence.engines.local.memory import MAPPED, Array
from whence.engines.local.table import Table
from whence.errors import WhenceError

KERNEL = library.load()
words = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)


def flat(rows: list[tuple[int, ...]]) -> np.ndarray:
    return np.array(rows, np.int64).reshape(-1)


@settings(deadline=None)
@given(st.integers(0, 5).flatmap(lambda arity: st.lists(st.lists(st.tuples(*[words] * arity)), max_size=4)))
def test_a_table_is_an_ordered_set_with_counts(batches: list[list[tuple[int, ...]]]) -> None:
    """Each batch is an iteration: a tuple keeps the count of the first one that has it."""
    arity = next((len(row) for batch in batches for row in batch), 0)
    table = Table(KERNEL, arity)
    expected: dict[tuple[int, ...], int] = {}
    for batch in batches:
        fresh = len(table)
        table.insert(flat(batch), len(batch), fresh)
        for row, count in Counter(batch).items():
            expected.setdefault(row, count)
    assert [tuple(row) for row in table.rows.tolist()] == list(expected)
    assert table.counts.tolist() == list(expected.values())
    asked = [*expected, tuple([77] * arity)]
    found = table.locate(flat(asked), len(asked)).tolist()
    assert found[: len(expected)] == list(range(len(expected)))
    assert found[-1] == list(expected).index(asked[-1]) if asked[-1] in expected else -1


def test_weights_are_added_within_an_iteration_only() -> None:
    table = Table(KERNEL, 1)
    weights = np.array([3, 4, 5], np.int64)
    table.insert(flat([(1,), (2,), (1,)]), 3, fresh=0, weights=weights)
    table.insert(flat([(1,), (3,)]), 2, fresh=2, weights=weights)
    assert table.counts.tolist() == [8, 4, 4]


@pytest.mark.parametrize("arity", [1, 2, 3, 7])
def test_many_rows(arity: int) -> None:
    """Enough to grow many times, and to be mapped."""
    random = np.random.default_rng(arity)
    rows = random.integers(0, 50_000, (300_000, arity))
    rows[:, 1:] %= 3
    table = Table(KERNEL, arity)
    table.insert(rows.reshape(-1), len(rows))
    _, first, counts = np.unique(rows, axis=0, return_index=True, return_counts=True)
    order = np.argsort(first)
    assert np.array_equal(table.rows, rows[first[order]])
    assert np.array_equal(table.counts, counts[order])
    assert table.nbytes <= len(table) * (8 * arity + 4 + 8 / 0.375) + 1000


def test_an_index_finds_the_newest_first() -> None:
    table = Table(KERNEL, 2)
    table.insert(flat([(1, 10), (2, 20), (1, 11)]), 3)
    index = table.index((0,))
    index.extend(2)
    assert (index.keys, index.size) == (2, 2)
    index.extend(3)
    assert (index.keys, index.size) == (2, 3)


def test_a_large_array_grows_in_place_even_while_it_is_looked_at() -> None:
    array = Array(np.int64, MAPPED // 8)
    array.view[:] = 7
    kept = array.view[:10]
    array.grow(MAPPED)
    assert (array.view[: MAPPED // 8] == 7).all()
    assert not array.view[MAPPED // 8 :].any()
    assert (kept == 7).all()


@pytest.mark.parametrize("damage", ["missing", "empty", "truncated", "changed", "no header"])
def test_a_damaged_kernel_file_is_compiled_again(damage: str, tmp_path: Path) -> None:
    name = f"kernel-{library._fingerprint()}.bin"
    content = (library.cache_folder() / name).read_bytes()
    damaged = {
        "empty": b"",
        "truncated": content[: len(content) // 2],
        "changed": content[:-1] + bytes([content[-1] ^ 1]),
        "no header": b"\n" + content,
    }
    if damage != "missing":
        (tmp_path / name).write_bytes(damaged[damage])
    assert library._from_file(tmp_path / name) is None


@pytest.mark.slow
def test_compiling_writes_a_file_that_loads(tmp_path: Path) -> None:
    code = (
        "import os; from whence.engines.local.kernel import library; said = []; library.load(said.append);"
        "from whence.engines.local.table import Table; import numpy as np; t = Table(library.load(), 1);"
        "t.insert(np.arange(5), 5); print(len(t), len(said))"
    )
    for compiled in ("5 1", "5 0"):
        ran = subprocess.run(
            [sys.executable, "-c", code],
            env={"WHENCE_CACHE": str(tmp_path), "PATH": ""},
            capture_output=True,
            text=True,
        )
        assert ran.stdout.strip() == compiled, ran.stderr


def test_a_table_that_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whence.engines.local.table.MOST_ROWS", 64)
    table = Table(KERNEL, 1)
    table.insert(np.arange(64), 64)
    with pytest.raises(WhenceError, match="a relation would have more than 64 tuples"):
        table.insert(np.arange(65), 65)
