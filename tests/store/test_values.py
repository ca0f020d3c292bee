"""What is written is what is read: every kind of column, any number of columns and tuples, whoever wrote the files."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.tuples import Row, arrow, bits, found
from whence.store import Store, StoreError, parquet
from whence.store.manifest import folder_of

NAN = float("nan")
OTHER_NAN = float(np.array([0x7FF8000000000123], np.uint64).view(np.float64)[0])
VALUES: dict[str, list[object]] = {
    "number": [0, -1, 2**63 - 1, -(2**63)],
    "unsigned": [0, 2**63, 2**64 - 1],
    "float": [0.0, -0.0, NAN, OTHER_NAN, -NAN, float("inf"), -float("inf"), 5e-324, 0.1],
    "symbol": ["", "a", "ß日🦊", "a\0b", "tab\tline\n", "'\"\\", "e\u0301", "é", "long " * 1_000_000],
    "record": ["nil", "[1, nil]", "[[], 日]"],
}


def declared(*relations: str) -> str:
    return ".type R = [x: number, y: R]\n" + "\n".join(f".decl {relation}" for relation in relations)


def write_one(store: Store, relation: str, columns: str, data: object) -> None:
    with store.commit(declared(f"{relation}({columns})")) as writer:
        writer.write(relation, data)


@pytest.mark.parametrize("kind", VALUES)
def test_each_kind(kind: str, tmp_path: Path) -> None:
    rows: list[Row] = [(value, place, place * 2**40) for place, value in enumerate(VALUES[kind])]
    store = Store.create(tmp_path)
    write_one(store, "r", f"x: {'R' if kind == 'record' else kind}", arrow(kind, rows))
    assert list(map(bits, found(Store.open(tmp_path), "r"))) == sorted(map(bits, rows))
    with store.commit() as writer:  # a value is deleted, and no other that only looks like it
        writer.change("r", arrow(kind, []), arrow(kind, rows[:1]))
    assert list(map(bits, found(store, "r"))) == sorted(map(bits, rows[1:]))


@pytest.mark.parametrize("kind", VALUES)
def test_each_kind_deleted_in_a_file_of_its_own(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whence.store.commit.CHANGED_SHARE", 100)
    store = Store.create(tmp_path)
    left: list[Row] = [(value, place, 1) for place, value in enumerate(VALUES[kind])]
    write_one(store, "r", f"x: {'R' if kind == 'record' else kind}", arrow(kind, left))
    while left:
        gone = left.pop()
        with store.commit() as writer:
            writer.change("r", arrow(kind, []), arrow(kind, [gone]).select([0]))
        assert list(map(bits, found(store, "r"))) == sorted(map(bits, left)), f"after {gone[0]!r:.20} was deleted"


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(-(2**63), 2**63 - 1),
            st.integers(0, 2**64 - 1),
            st.floats(),
            st.text(st.characters(codec="utf-8")),
            st.text(max_size=3),
            st.integers(0, 2**31 - 1),
            st.integers(1, 2**63 - 1),
        ),
        unique_by=bits,
    )
)
def test_any_values(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> None:
    store = Store.create(tmp_path_factory.mktemp("store"))
    kinds = "number unsigned float symbol symbol"
    write_one(store, "r", "a: number, b: unsigned, c: float, d: symbol, e: symbol", arrow(kinds, rows))
    assert list(map(bits, found(store, "r"))) == sorted(map(bits, rows))


def test_a_relation_without_columns(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    with store.commit(declared("yes()", "no()")) as writer:
        writer.write("yes", arrow("", [(3, 2)]))
        writer.write("no", arrow("", []))
    assert (found(store, "yes"), found(store, "no")) == ([(3, 2)], [])
    with store.commit() as writer:
        writer.change("yes", arrow("", [(1, 1)]), arrow("", [(3, 2)]))
        writer.change("no", arrow("", [(0, 5)]), arrow("", []))
    assert (found(store, "yes"), found(store, "no")) == ([(1, 1)], [(0, 5)])
    with store.commit() as writer:
        writer.change("yes", [], arrow("", [(1, 1)]))
        writer.keep("no")
    assert (found(store, "yes"), found(store, "no")) == ([], [(0, 5)])


def test_a_relation_without_tuples_has_columns_and_types(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    write_one(store, "r", "x: unsigned, y: symbol", [])
    assert store.read("r").schema.types == [pa.uint64(), pa.string(), pa.int32(), pa.int64()]
    (path,) = store.paths("r")
    assert pq.read_schema(path).names == ["x", "y", "iteration", "count"]


def test_tuples_come_in_many_forms(tmp_path: Path) -> None:
    rows: list[Row] = [(1, "a", 0, 1), (2, "b", 1, 2)]
    table = arrow("number symbol", rows)
    small = table.cast(
        pa.schema(zip(table.column_names, [pa.int8(), pa.large_string(), pa.int64(), pa.uint8()], strict=True))
    )
    coded = table.set_column(1, "code", table.column(1).dictionary_encode())
    forms = [table, table.to_batches()[0], table.to_batches(), iter([table[:1], table[1:]]), table.to_reader(), small]
    store = Store.create(tmp_path)
    for form in [*forms, coded, table.to_pandas()]:
        write_one(store, "r", "x: number, y: symbol", form)
        assert found(store, "r") == rows


def test_counts_are_there_or_not(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    table = arrow("number", [(1, 0, 1), (2, 1, 2)])
    write_one(store, "r", "x: number", table.select([0, 1]))
    assert not store.relation("r").counted
    assert found(store, "r") == [(1, 0, None), (2, 1, None)]
    some = table.set_column(2, "count", pa.array([1, None], pa.int64()))
    with pytest.raises(StoreError, match="some tuples of 'r' have a count and some have none"):
        write_one(store, "r", "x: number", some)
    with pytest.raises(StoreError, match="write it whole"), store.commit() as writer:
        writer.change("r", arrow("number", [(3, 0, 1)]), [])
    write_one(store, "r", "x: number", table)
    assert store.relation("r").counted


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table({"x": [1]}), "come with 1 columns; they should have x, iteration, count"),
        (pa.table({"x": [1], "i": [0], "c": [1], "d": [1]}), "come with 4 columns"),
        (pa.table({"x": ["1"], "i": [0]}), "column 'x' of 'r' is string, which does not fit int64"),
        (pa.table({"x": [1.5], "i": [0]}), "column 'x' of 'r' is double, which does not fit int64"),
        (pa.table({"x": pa.array([2**63], pa.uint64()), "i": [0]}), "is uint64, which does not fit int64"),
        (pa.table({"x": [1], "i": [2**31]}), "column 'iteration' of 'r' is int64, which does not fit int32"),
        (pa.table({"x": pa.array([None], pa.int64()), "i": [0]}), "column 'x' of 'r' has nulls"),
        (pa.table({"x": [1], "i": pa.array([None], pa.int32())}), "column 'iteration' of 'r' has nulls"),
    ],
)
def test_tuples_that_do_not_fit(table: pa.Table, message: str, tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    with pytest.raises(StoreError, match=message):
        write_one(store, "r", "x: number", table)
    assert Store.open(tmp_path).numbers == ()


def test_a_number_is_no_symbol(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="column 'x' of 'r' is int64, which does not fit string"):
        write_one(Store.create(tmp_path), "r", "x: symbol", pa.table({"x": [1], "i": [0]}))


def test_deleted_tuples_that_do_not_fit(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    write_one(store, "r", "x: number, y: number", arrow("number number", [(1, 2, 0, 1)]))
    for columns in (1, 5):
        wrong = pa.table([[1]] * columns, list(map(str, range(columns))))
        message = rf"deleted tuples of 'r' come with {columns} columns; .* have x, y"
        with pytest.raises(StoreError, match=message), store.commit() as writer:
            writer.change("r", [], wrong)
    assert store.numbers == (0,)


def test_many_row_groups_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS", 7)
    monkeypatch.setattr(parquet, "FILE_ROWS", 20)
    rows: list[Row] = [(number, 0, 1) for number in range(100)]
    store = Store.create(tmp_path)
    write_one(store, "r", "x: number", (arrow("number", rows[start : start + 9]) for start in range(0, 100, 9)))
    assert [file.rows for file in store.relation("r").files] == [21, 21, 21, 21, 16]
    assert found(store, "r") == rows
    with store.commit() as writer:
        writer.change("r", arrow("number", [(5, 9, 9)]), arrow("number", [rows[5], rows[99]]))
    assert found(store, "r") == sorted([*rows[:5], *rows[6:99], (5, 9, 9)])


# Names


def test_names_that_are_no_file_names(tmp_path: Path) -> None:
    names = ["what?", "_hidden", "__", "?", "path", "Path" * 60, "Path" * 60 + "x", "con"]
    store = Store.create(tmp_path)
    with store.commit(declared(*(f"{name}(x: number)" for name in names))) as writer:
        for place, name in enumerate(names):
            writer.write(name, arrow("number", [(place, 0, 1)]))
    store = Store.open(tmp_path)
    assert {name: found(store, name) for name in names} == {name: [(place, 0, 1)] for place, name in enumerate(names)}
    folders = [path.name for path in (tmp_path / "epochs/0").iterdir()]
    assert len(folders) == len(names)
    assert not [name for name in folders if name[0] in "_." or "?" in name or len(name) > 100]


@given(st.lists(st.text(st.sampled_from("aA_.-?/ é3f"), min_size=1, max_size=200), unique=True))
def test_different_relations_have_different_folders(names: list[str]) -> None:
    assert len(set(map(folder_of, names))) == len(names)


def test_columns_named_like_our_own(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    rows: list[Row] = [(1, 2, 3, 4, 5, 6)]
    columns = "iteration: number, Count: number, x: number, X: number"
    write_one(store, "r", columns, arrow("number number number number", rows))
    assert found(store, "r") == rows
    assert store.relation("r").schema.fields == ("iteration_", "Count_", "x", "X_", "iteration", "count")


# Files that somebody else wrote


def spark_like(folder: Path, tables: list[pa.Table]) -> Path:
    """A folder as Spark writes it."""
    folder.mkdir(parents=True)
    (folder / "_SUCCESS").touch()
    (folder / ".part-0.snappy.parquet.crc").touch()
    for place, table in enumerate(tables):
        pq.write_table(table, folder / f"part-{place:05}-c000.snappy.parquet")
    return folder


def spark_table(rows: list[tuple[int, str, int, int | None]]) -> pa.Table:
    xs, ys, iterations, counts = zip(*rows, strict=True) if rows else [()] * 4
    return pa.table(
        {
            "x": pa.array(map(Decimal, xs), pa.decimal128(20, 0)),
            "y": pa.array(ys, pa.string()),
            "iteration": pa.array(iterations, pa.int32()),
            "count": pa.array(counts, pa.int64()),
        }
    )


def test_files_are_adopted(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store")
    rows: list[tuple[int, str, int, int | None]] = [(2**64 - 1, "a", 0, 1), (0, "b", 1, 2)]
    with store.commit(declared("r(x: unsigned, y: symbol)", "none(x: unsigned, y: symbol)", "s(x: number)")) as writer:
        spark_like(writer.staging("r"), [spark_table(rows[:1]), spark_table([]), spark_table(rows[1:])])
        assert writer.adopt("r").rows == 2
        spark_like(tmp_path / "elsewhere", [spark_table([])])
        writer.adopt("none", tmp_path / "elsewhere")
        writer.staging("s").mkdir()
        writer.adopt("s")
    assert (found(store, "r"), found(store, "none"), found(store, "s")) == (sorted(rows), [], [])
    assert len(store.paths("r")) == 2
    assert not list((tmp_path / "store/epochs").glob("*.staging"))
    store.check()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (spark_table([]).drop(["y"]), "has the columns x, iteration, count; those of 'r' are x, y, iteration, count"),
        (arrow("unsigned symbol", []), "has the columns c0, c1, c2, c3"),
        (spark_table([]).set_column(0, "x", pa.array([], pa.int64())), "is int64; in 'r' it is uint64"),
        (spark_table([]).set_column(3, "count", pa.array([], pa.int32())), "is int32; in 'r' it is int64"),
        (spark_table([(1, "a", 0, 1), (2, "a", 0, None)]), "some tuples of 'r' have a count and some have none"),
        (
            spark_table([(1, "a", 0, 1)]).set_column(1, "y", pa.array([None], pa.string())),
            "column 'y' of .* has nulls",
        ),
    ],
)
def test_files_that_do_not_fit(table: pa.Table, message: str, tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store")
    with (
        pytest.raises(StoreError, match=message),
        store.commit(declared("r(x: unsigned, y: symbol)")) as writer,
    ):
        writer.adopt("r", spark_like(tmp_path / "from", [table]))
    assert list((tmp_path / "from").glob("part-*")), "what was not adopted was moved"


def test_there_is_nothing_to_adopt(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store")
    (tmp_path / "text").mkdir()
    (tmp_path / "text/part-0.parquet").write_text("text")
    with store.commit(declared("r(x: number)")) as writer:
        with pytest.raises(StoreError, match=r"there is no folder .* to take the tuples of 'r' from"):
            writer.adopt("r")
        with pytest.raises(StoreError, match="is not a Parquet file"):
            writer.adopt("r", tmp_path / "text")
        writer.write("r", [])
