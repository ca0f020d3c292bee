"""Reading on Spark: what the local engine reads from the same file, and for what is wrong the same words."""

from __future__ import annotations

import datetime
import gzip
import json
import struct
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from whence.engines.local import directives
from whence.engines.local.arrow import columns_of
from whence.engines.local.forms import RowError
from whence.engines.local.reading import FactsError
from whence.engines.local.tables import LocalTables
from whence.engines.spark.columns import carried_schema, natural
from whence.engines.spark.sources import Given, from_frame, read_input
from whence.errors import WhenceError
from whence.lang import Program, compile_text, load

PROGRAMS = Path(__file__).parent.parent / "programs"
EDGE = ".decl edge(x: number, y: number)\n"
TYPED = ".decl t(n: number, u: unsigned, f: float, s: symbol)\n"
LISTS = ".type List = [head: number, tail: List]\n.decl l(x: List)\n"


def here(program: Program, relation: str, folder: Path) -> list[tuple[Any, ...]]:
    """The tuples as the local engine reads them."""
    tables = LocalTables(replace(program, facts=()))
    for directive in program.directives_of("input"):
        if directive.relation == relation:
            directives.read_input(directive, folder, tables)
    rows = tables.stored[relation].table.rows
    columns = columns_of(tables, program.relations[relation], rows)
    return sorted(zip(*(map(bits, c.to_pylist()) for c in columns), strict=True)) if columns else [()] * len(rows)


def there(program: Program, relation: str, folder: Path | str, spark: SparkSession, **rest: Any) -> Given:
    (directive,) = (d for d in program.directives_of("input") if d.relation == relation)
    return read_input(directive, program.relations[relation], program, folder, spark, **rest)


def tuples(program: Program, relation: str, given: Given) -> list[tuple[Any, ...]]:
    assert given.frame.schema == carried_schema(program.relations[relation], annotated=False)
    found = [tuple(row) for row in given.frame.collect()]
    assert len(found) == given.rows
    given.release()
    kinds = [column.kind for column in program.relations[relation].columns]
    return sorted({tuple(map(of_carried, row, kinds)) for row in found})


def of_carried(value: Any, kind: str) -> Any:
    if kind == "float":
        return struct.pack("q", value).hex()
    return value % (1 << 64) if kind == "unsigned" else value


def bits(value: Any) -> Any:
    return struct.pack("d", value).hex() if isinstance(value, float) else value


def failure(program: Program, relation: str, folder: Path, spark: SparkSession) -> FactsError:
    """The error on Spark, which is the local engine's."""
    with pytest.raises(FactsError) as at_spark:
        there(program, relation, folder, spark)
    with pytest.raises(FactsError) as at_home:
        here(program, relation, folder)
    assert (str(at_spark.value), at_spark.value.hint) == (str(at_home.value), at_home.value.hint)
    return at_spark.value


# Text


VARIED = ["arity_zero", "floats", "long_symbols", "records", "unicode_symbols", "unsigned"]
VARIED += sorted(folder.name for folder in PROGRAMS.glob("directive_*"))
OTHERS = sorted(folder.parent.name for folder in PROGRAMS.glob("*/facts") if folder.parent.name not in VARIED)


def compare(folder: Path, spark: SparkSession) -> int:
    program = load(folder / "program.dl")
    files = [d.relation for d in program.directives_of("input") if d.parameters.get("IO") != "stdin"]
    for relation in files:
        given = there(program, relation, folder / "facts", spark)
        assert tuples(program, relation, given) == here(program, relation, folder / "facts"), (folder.name, relation)
    return len(files)


def test_example_programs_are_read_as_in_process(spark: SparkSession) -> None:
    assert sum(compare(PROGRAMS / name, spark) for name in VARIED if (PROGRAMS / name).exists()) > 8


@pytest.mark.slow
def test_all_other_programs_are_read_as_in_process(spark: SparkSession) -> None:
    assert sum(compare(PROGRAMS / name, spark) for name in OTHERS) > 50


@pytest.mark.parametrize(
    ("declared", "data"),
    [
        (".decl r(x: symbol, y: symbol)", "a\tb\r\nc\td\r\n é\t日本\n"),
        (".decl r(x: symbol, y: symbol)", "\ufeffa\tb\n"),
        (".decl r(x: symbol)", "\ufeff"),
        (".decl r(x: symbol)", ""),
        (".decl r(x: symbol)", "a\n\nb"),
        (".decl r(x: symbol)", "a\rb\n\r\n"),
        (".decl r(x: symbol)", "x" * 3_000_000 + "\n" + "é" * 1_000_000),
        (".decl r(x: float, y: unsigned)", "-0\t0x1F\n0\t18446744073709551615\nnan\t0b11\n"),
        (".type L = [h: symbol, t: L]\n.decl r(x: L)", '[a,[b, nil]]\n[ a, ["b,c",nil]]\nnil\n[a, [b,nil]]\n'),
        (".decl r()", "()\n"),
        (".decl r()", ""),
    ],
)
def test_text_is_read_as_in_process(declared: str, data: str, tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "r.facts").write_bytes(data.encode())
    program = compile_text(declared + "\n.input r")
    assert tuples(program, "r", there(program, "r", tmp_path, spark)) == here(program, "r", tmp_path)


def test_equal_records_are_equal_texts(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "l.facts").write_text("[1,[2,nil]]\n[1, [2, nil]]\n[ +1 ,[02, nil] ]\n")
    program = compile_text(LISTS + ".input l")
    given = there(program, "l", tmp_path, spark)
    assert given.rows == 3
    assert given.frame.distinct().collect() == [Row(c0="[1, [2, nil]]")]


@pytest.mark.parametrize("name", ["edge.facts", "edge.facts.gz", "_edge.facts", ".edge", "we[i]rd {a} 100%.facts"])
def test_names_and_gzip_are_no_obstacle(name: str, tmp_path: Path, spark: SparkSession) -> None:
    lines = b"x,y\n1,2\n3,4\n"
    (tmp_path / name).write_bytes(gzip.compress(lines) if name.endswith(("s", "gz")) and "[" not in name else lines)
    program = compile_text(EDGE + f'.input edge(filename="{name}", delimiter=",", headers=true)')
    assert tuples(program, "edge", there(program, "edge", tmp_path, spark)) == [(1, 2), (3, 4)]
    (tmp_path / name).write_bytes(b"x,y\n1,2\n3,four\n")
    if not name.endswith("gz"):
        assert failure(program, "edge", tmp_path, spark).line == 3


def test_every_file_of_a_folder_has_its_header(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "edges").mkdir()
    for i in range(5):
        (tmp_path / "edges" / f"{i}.csv").write_text(f"x\ty\n{i}\t{i}\n")
    program = compile_text(EDGE + '.input edge(filename="edges", headers=true)')
    assert tuples(program, "edge", there(program, "edge", tmp_path, spark)) == [(i, i) for i in range(5)]
    (tmp_path / "edges" / "3.csv").write_text("x\ty\n1\t2\n1\tz\n")
    with pytest.raises(FactsError, match=r"edges/3\.csv:3:3: column y of edge should be a number, not `z`"):
        there(program, "edge", tmp_path, spark)


def test_a_uri_is_taken_as_it_is(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "e.facts").write_text("1\t2\n")
    program = compile_text(EDGE + f'.input edge(filename="file:{tmp_path}/e.facts")')
    assert tuples(program, "edge", there(program, "edge", "elsewhere", spark)) == [(1, 2)]
    program = compile_text(EDGE + '.input edge(filename="e.facts")')
    assert tuples(program, "edge", there(program, "edge", f"file:{tmp_path}", spark)) == [(1, 2)]


def test_standard_input(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = compile_text(EDGE + '.input edge(IO="stdin", headers=true)')

    def typed(data: bytes) -> None:
        (tmp_path / "typed").write_bytes(data)
        monkeypatch.setattr("sys.stdin", open(tmp_path / "typed"))  # noqa: SIM115

    typed(b"x\ty\n1\t2\n3\t4")
    assert tuples(program, "edge", there(program, "edge", tmp_path, spark)) == [(1, 2), (3, 4)]
    typed(b"x\ty\n1\t2\n3\tz\n")
    with pytest.raises(FactsError, match=r"^standard input:3:3: column y of edge should be a number, not `z`$"):
        there(program, "edge", tmp_path, spark)


# What is wrong with text


@pytest.mark.parametrize(
    ("declared", "data"),
    [
        (EDGE, b"1\t2\n1\n"),
        (EDGE, b"1\t2\n\n3\t4\n"),
        (EDGE, b"1\t2\t3\n"),
        (EDGE, b"1\t2\n1\tx\n"),
        (EDGE, b"\xef\xbb\xbf1\tx\n"),
        (EDGE, b"1\t99999999999999999999\n"),
        (EDGE, b"1\t\r\n"),
        (".decl edge(x: symbol)", b"a\nb\xff\n"),
        (".decl edge(x: symbol, y: unsigned)", "é\t-1\n".encode()),
        (".decl edge(x: float)", b"1e999\n"),
        (".type L = [h: number, t: L]\n.decl edge(a: symbol, x: L)", b"\xc3\xa9\t[1, nil]\na\t[1, nill]\n"),
        (".decl edge()", b"()\nyes\n"),
    ],
)
def test_a_bad_line_is_named_as_in_process(declared: str, data: bytes, tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "edge.facts").write_bytes(data)
    failure(compile_text(declared + "\n.input edge"), "edge", tmp_path, spark)


def test_a_missing_file_is_named_as_in_process(tmp_path: Path, spark: SparkSession) -> None:
    assert "there is no such file" in str(failure(compile_text(EDGE + ".input edge"), "edge", tmp_path, spark))


@pytest.mark.parametrize("where", ["file:/no/such.facts", "nosuch://host/x.facts"])
def test_a_uri_that_leads_nowhere_is_one_sentence(where: str, tmp_path: Path, spark: SparkSession) -> None:
    program = compile_text(EDGE + f'.input edge(filename="{where}")')
    with pytest.raises(FactsError) as caught:
        there(program, "edge", tmp_path, spark)
    assert str(caught.value).startswith(where)
    assert "\n" not in str(caught.value)
    assert "Exception" not in str(caught.value)


def test_truncated_gzip_is_one_sentence(tmp_path: Path, spark: SparkSession) -> None:
    whole = gzip.compress(b"".join(b"%d\t%d\n" % (i, i * i) for i in range(10000)))
    (tmp_path / "edge.facts.gz").write_bytes(whole[: len(whole) // 2])
    program = compile_text(EDGE + '.input edge(filename="edge.facts.gz")')
    with pytest.raises(FactsError) as caught:
        there(program, "edge", tmp_path, spark)
    assert "edge.facts.gz" in str(caught.value)
    assert "nexpected end of input stream" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.fixture
def small_splits(spark: SparkSession) -> Any:
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "70000")
    yield
    spark.conf.set("spark.sql.files.maxPartitionBytes", before)


@pytest.mark.usefixtures("small_splits")
@pytest.mark.parametrize("headers", [False, True])
def test_a_bad_line_in_a_later_block(headers: bool, tmp_path: Path, spark: SparkSession) -> None:
    lines = [f"{i}\t{i}" for i in range(20000)]
    lines[15432] = "7\tseven"
    lines[18000] = "7\teight"
    (tmp_path / "edge.facts").write_text("\n".join(lines) + "\n")
    program = compile_text(EDGE + f".input edge(headers={str(headers).lower()})")
    error = failure(program, "edge", tmp_path, spark)
    assert (error.line, error.column) == (15433, 3)
    given = there(program, "edge", tmp_path, spark, bad_rows="quarantine", quarantine=tmp_path / "bad")
    assert (given.rows, given.bad) == (19998 - headers, 2)
    found = [json.loads(line) for line in (tmp_path / "bad" / "edge.jsonl").read_text().splitlines()]
    assert [(entry["line"], entry["text"]) for entry in found] == [(15433, "7\tseven"), (18001, "7\teight")]
    assert given.frame.count() == 19998 - headers
    assert given.frame.agg({"c0": "min"}).first() == Row(**{"min(c0)": int(headers)})


def test_bad_rows_are_skipped_and_counted(tmp_path: Path, spark: SparkSession) -> None:
    lines = [f"{i}\t{i if i % 3 else 'x'}" for i in range(30000)]
    (tmp_path / "edge.facts").write_text("\n".join(lines) + "\n")
    program = compile_text(EDGE + ".input edge")
    given = there(program, "edge", tmp_path, spark, bad_rows="skip")
    assert (given.rows, given.bad) == (20000, 10000)
    assert tuples(program, "edge", given) == [(i, i) for i in range(30000) if i % 3]


def test_quarantine_says_why(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "edge.facts").write_bytes(b"1\t2\n1\n2\t\xff\n")
    program = compile_text(EDGE + ".input edge")
    bad = tmp_path / "bad"
    given = there(program, "edge", tmp_path, spark, bad_rows="quarantine", quarantine=bad)
    assert (given.rows, given.bad) == (1, 2)
    path = str(tmp_path / "edge.facts")
    assert [json.loads(line) for line in (bad / "edge.jsonl").read_text().splitlines()] == [
        {"file": path, "line": 2, "text": "1", "reason": "edge needs 2 columns, but this line has 1"},
        {"file": path, "line": 3, "text": "2\t�", "reason": "column y of edge should be a number, not `�`"},
    ]
    there(program, "edge", tmp_path, spark, bad_rows="quarantine", quarantine=bad, append=True)
    assert len((bad / "edge.jsonl").read_text().splitlines()) == 4
    (tmp_path / "edge.facts").write_bytes(b"1\t2\n")
    there(program, "edge", tmp_path, spark, bad_rows="quarantine", quarantine=bad)
    assert list(bad.iterdir()) == []
    with pytest.raises(WhenceError, match="say in which folder"):
        there(program, "edge", tmp_path, spark, bad_rows="quarantine")


# Parquet

WIDE = pyarrow.table(
    {
        "s": ["a", "é"],
        "f": pyarrow.array([1.5, -0.0], pyarrow.float32()),
        "more": [1, 2],
        "u": pyarrow.array([0, 2**64 - 1], pyarrow.uint64()),
        "n": pyarrow.array([-1, 2], pyarrow.int8()),
    }
)


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_parquet_is_matched_by_name_and_converted(ansi: str, tmp_path: Path, spark: SparkSession) -> None:
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        pyarrow.parquet.write_table(WIDE, tmp_path / "t.parquet")
        program = compile_text(TYPED + '.input t(IO="parquet")')
        found = tuples(program, "t", there(program, "t", tmp_path, spark))
        assert found == here(program, "t", tmp_path)
        assert found == [(-1, 0, bits(1.5), "a"), (2, 2**64 - 1, bits(-0.0), "é")]
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("number", ["1", "-7"], [1, -7]),
        ("number", [1.0, 2.0**62], [1, 2**62]),
        ("number", [Decimal("5.00"), Decimal("-6.00")], [5, -6]),
        ("unsigned", ["0x10", "18446744073709551615"], [16, 2**64 - 1]),
        ("unsigned", [3, 2**62], [3, 2**62]),
        ("float", [1, 2], [1.0, 2.0]),
        ("float", ["1e3", "-2.5"], [1000.0, -2.5]),
        ("float", [Decimal("0.1"), Decimal("0.2")], [0.1, 0.2]),
        ("symbol", [1, 2], ["1", "2"]),
        ("symbol", [True, False], ["true", "false"]),
        ("symbol", [datetime.date(2026, 1, 2), datetime.date(1999, 1, 1)], ["2026-01-02", "1999-01-01"]),
        ("symbol", [b"bytes", "é".encode()], ["bytes", "é"]),
    ],
)
def test_other_types_are_converted(
    kind: str, values: list[Any], expected: list[Any], tmp_path: Path, spark: SparkSession
) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"x": values}), tmp_path / "r.parquet")
    program = compile_text(f'.decl r(x: {kind})\n.input r(filename="r.parquet")')
    found = tuples(program, "r", there(program, "r", tmp_path, spark))
    assert found == here(program, "r", tmp_path) == sorted((bits(value),) for value in expected)


@pytest.mark.parametrize(
    ("kind", "values", "row", "words"),
    [
        ("number", [1, None, 3], 2, "column x of r is null"),
        ("symbol", ["a", "b", None], 3, "column x of r is null"),
        ("number", ["1", "2", "three"], 3, "column x of r should be a number, not `three`"),
        ("number", [1.0, 2.5], 2, "column x of r should be a number, not `2.5`"),
        ("number", [True], 1, "column x of r should be a number, not `true`"),
        ("number", [Decimal(2**64)], 1, "`18446744073709551616` does not fit column x of r, which is a number"),
        ("unsigned", [1, -1], 2, "`-1` does not fit column x of r, which is an unsigned number"),
        ("float", ["1", "x"], 2, "column x of r should be a float, not `x`"),
        ("symbol", [b"a", b"\xff"], 2, "column x of r has bytes that are not UTF-8, in `�`"),
        ("symbol", [[1], [2]], 1, "column x of r should be a symbol, not `[1]`"),
    ],
)
def test_values_that_do_not_fit(
    kind: str, values: list[Any], row: int, words: str, tmp_path: Path, spark: SparkSession
) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"x": values}), tmp_path / "r.parquet")
    program = compile_text(f'.decl r(x: {kind})\n.input r(filename="r.parquet")')
    error = failure(program, "r", tmp_path, spark)
    assert str(error) == f"{tmp_path / 'r.parquet'}: row {row}: {words}"
    given = there(program, "r", tmp_path, spark, bad_rows="skip")
    assert given.rows + given.bad == len(values)


@pytest.mark.usefixtures("small_splits")
def test_a_bad_row_in_a_later_row_group(tmp_path: Path, spark: SparkSession) -> None:
    values: list[int | None] = [i * 7919 % 10007 for i in range(40000)]
    values[33333] = None
    table = pyarrow.table({"x": values, "y": list(range(40000))})
    pyarrow.parquet.write_table(table, tmp_path / "edge.parquet", row_group_size=4000)
    program = compile_text(EDGE + '.input edge(filename="edge.parquet")')
    error = failure(program, "edge", tmp_path, spark)
    assert isinstance(error, RowError)
    assert error.line == 33334
    given = there(program, "edge", tmp_path, spark, bad_rows="quarantine", quarantine=tmp_path)
    assert (given.rows, given.bad) == (39999, 1)
    (entry,) = (json.loads(line) for line in (tmp_path / "edge.jsonl").read_text().splitlines())
    file = str(tmp_path / "edge.parquet")
    assert entry == {"file": file, "row": 33334, "values": [None, 33333], "reason": "column x of edge is null"}


def test_parquet_columns_by_position_or_missing(tmp_path: Path, spark: SparkSession) -> None:
    program = compile_text(EDGE + '.input edge(filename="e.parquet")')
    pyarrow.parquet.write_table(pyarrow.table({"a.b": [1], "to": [2]}), tmp_path / "e.parquet")
    assert tuples(program, "edge", there(program, "edge", tmp_path, spark)) == [(1, 2)]
    assert here(program, "edge", tmp_path) == [(1, 2)]
    pyarrow.parquet.write_table(pyarrow.table({"Y": [1], "X": [2]}), tmp_path / "e.parquet")
    assert tuples(program, "edge", there(program, "edge", tmp_path, spark)) == [(2, 1)]
    pyarrow.parquet.write_table(pyarrow.table({"y": [1], "z": [2]}), tmp_path / "e.parquet")
    assert "edge needs the column x, but the columns there are y, z" in str(failure(program, "edge", tmp_path, spark))
    pyarrow.parquet.write_table(pyarrow.table({"a": [1], "b": [2], "c": [3]}), tmp_path / "e.parquet")
    assert "edge needs the columns x, y, but" in str(failure(program, "edge", tmp_path, spark))


def test_what_is_no_parquet_is_one_sentence(tmp_path: Path, spark: SparkSession) -> None:
    program = compile_text(EDGE + '.input edge(filename="e.parquet")')
    with pytest.raises(FactsError, match="there is no such file to read edge from"):
        there(program, "edge", tmp_path, spark)
    for content in (b"nonsense", b"", b"PAR1" + b"x" * 100):
        (tmp_path / "e.parquet").write_bytes(content)
        with pytest.raises(FactsError, match="the file cannot be read as Parquet: ") as caught:
            there(program, "edge", tmp_path, spark)
        assert "\n" not in str(caught.value)
        with pytest.raises(FactsError, match="the file cannot be read as Parquet: "):
            here(program, "edge", tmp_path)


def test_records_from_structs_lists_and_texts(tmp_path: Path, spark: SparkSession) -> None:
    program = compile_text(LISTS + '.input l(filename="l.parquet")')
    nested = [{"head": 1, "tail": {"head": 2, "tail": None}}, None]
    inner = pyarrow.struct([("head", pyarrow.int64()), ("tail", pyarrow.string())])
    column = pyarrow.array(nested, pyarrow.struct([("head", pyarrow.int64()), ("tail", inner)]))
    for given in (column, pyarrow.array(["[1,[2,nil]]", "nil"])):
        pyarrow.parquet.write_table(pyarrow.table({"x": given}), tmp_path / "l.parquet")
        assert tuples(program, "l", there(program, "l", tmp_path, spark)) == [("[1, [2, nil]]",), ("nil",)]
        assert here(program, "l", tmp_path) == [("[1, [2, nil]]",), ("nil",)]
    pyarrow.parquet.write_table(pyarrow.table({"x": ["nil", "[1"]}), tmp_path / "l.parquet")
    assert "row 2: column x of l should be a record: " in str(failure(program, "l", tmp_path, spark))
    pair = compile_text('.type P = [a: number, b: number]\n.decl p(x: P)\n.input p(filename="p.parquet")')
    pyarrow.parquet.write_table(pyarrow.table({"x": [[1, 2], [3, 4]]}), tmp_path / "p.parquet")
    assert tuples(pair, "p", there(pair, "p", tmp_path, spark)) == [("[1, 2]",), ("[3, 4]",)]


# JSON lines


def test_json_lines(tmp_path: Path, spark: SparkSession) -> None:
    lines = [
        '{"n": 1, "u": 18446744073709551615, "f": 2, "s": "é", "more": []}',
        "",
        '[-1, 0, 1e3, "a\\tb"]',
        '{"s": "x", "n": "5", "u": 7, "f": "NaN"}',
    ]
    (tmp_path / "t.jsonl").write_text("\ufeff" + "\r\n".join(lines))
    program = compile_text(TYPED + '.input t(IO="jsonlines")')
    found = tuples(program, "t", there(program, "t", tmp_path, spark))
    assert found == here(program, "t", tmp_path)
    assert found[0] == (-1, 0, bits(1000.0), "a\tb")
    assert found[1] == (1, 2**64 - 1, bits(2.0), "é")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"x": 1, "y": }', "3:15: this line is not JSON: Expecting value"),
        ('{"x": 1}', "3:1: edge needs the column y, which this line has not"),
        ("[1, 2, 3]", "3:1: edge needs 2 columns, but this line has 3"),
        ("7", "3:1: this line is neither an object nor an array"),
        ('{"x": 1, "y": null}', "3:1: column y of edge is null"),
        ('{"x": 1, "y": 1.5}', "3:1: column y of edge should be a number, not `1.5`"),
    ],
)
def test_bad_json_lines(line: str, words: str, tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "e.ndjson").write_text(f"[1, 2]\n[3, 4]\n{line}\n[5, 6]\n")
    program = compile_text(EDGE + '.input edge(filename="e.ndjson")')
    assert str(failure(program, "edge", tmp_path, spark)) == f"{tmp_path / 'e.ndjson'}:{words}"
    given = there(program, "edge", tmp_path, spark, bad_rows="skip")
    assert (given.rows, given.bad) == (3, 1)


# DataFrames, tables, databases


def rows_of(program: Program, relation: str, frame: DataFrame, **rest: Any) -> list[tuple[Any, ...]]:
    return tuples(program, relation, from_frame(frame, program.relations[relation], program, **rest))


def test_frames_in_hand(spark: SparkSession) -> None:
    program = compile_text(EDGE + TYPED)
    assert rows_of(program, "edge", spark.createDataFrame([(1, 2)], "a int, a long")) == [(1, 2)]
    assert rows_of(program, "edge", spark.createDataFrame([(1, 2)], "y int, x long")) == [(2, 1)]
    assert rows_of(program, "edge", spark.createDataFrame([(1, "2")], "x int, y string")) == [(1, 2)]
    everything = natural(
        program.relations["t"],
        from_frame(
            spark.createDataFrame([(1, Decimal(2**63), 0.5, "x")], "n long, u decimal(20,0), f double, s string"),
            program.relations["t"],
            program,
        ).frame,
    )
    assert rows_of(program, "t", everything) == [(1, 2**63, bits(0.5), "x")]
    assert rows_of(compile_text(".decl r()"), "r", spark.range(3).select()) == [()]


def test_bad_rows_of_frames(spark: SparkSession, tmp_path: Path) -> None:
    program = compile_text(EDGE)
    frame = spark.createDataFrame([(i, None if i == 70 else i) for i in range(100)], "x int, y int").repartition(1)
    frame = spark.createDataFrame(frame.toArrow())
    with pytest.raises(FactsError, match=r"^the DataFrame given for edge: row 71: column y of edge is null$"):
        from_frame(frame, program.relations["edge"], program)
    given = from_frame(frame, program.relations["edge"], program, "quarantine", tmp_path)
    assert (given.rows, given.bad) == (99, 1)
    assert json.loads((tmp_path / "edge.jsonl").read_text())["values"] == [70, None]
    with pytest.raises(FactsError, match="edge needs 2 columns, but there are 1: x"):
        from_frame(frame.select("x"), program.relations["edge"], program)
    with pytest.raises(FactsError, match=r"row 1: column x of edge should be a number, not `\[1\]`"):
        from_frame(spark.createDataFrame([([1], 2)], "x array<int>, y int"), program.relations["edge"], program)


def test_catalog_tables(spark: SparkSession) -> None:
    program = compile_text(EDGE + '.input edge(IO="table", table="edges")')
    spark.createDataFrame([(1, 2), (3, 4)], "x int, y long").createOrReplaceTempView("edges")
    assert tuples(program, "edge", there(program, "edge", ".", spark)) == [(1, 2), (3, 4)]
    spark.catalog.dropTempView("edges")
    with pytest.raises(FactsError, match=r"^edges: there is no such table in the catalog to read edge from$"):
        there(program, "edge", ".", spark)


def test_databases(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "jdbc:derby:memory:sources;create=true"
    frame = spark.createDataFrame([(1, 2), (3, 4)], "x int, y long")
    frame.write.format("jdbc").options(url=url, dbtable="edge_rows").mode("overwrite").save()
    program = compile_text(EDGE + f'.input edge(IO="jdbc", url="{url}", dbtable="edge_rows", password_env="PASS")')
    with pytest.raises(WhenceError, match="the password should be in the environment variable PASS"):
        there(program, "edge", ".", spark)
    monkeypatch.setenv("PASS", "secret")
    assert tuples(program, "edge", there(program, "edge", ".", spark)) == [(1, 2), (3, 4)]


@pytest.mark.parametrize(
    ("url", "table"),
    [
        ("jdbc:derby:memory:sources;create=true;password=secret", "nowhere"),
        ("jdbc:derby:memory:absent;password=secret", "edge"),
        ("jdbc:nosuch:x;password=secret", "edge"),
    ],
)
def test_database_errors_are_one_sentence(url: str, table: str, spark: SparkSession) -> None:
    program = compile_text(EDGE + f'.input edge(IO="jdbc", url="{url}", dbtable="{table}")')
    with pytest.raises(FactsError, match="edge cannot be read from the database: ") as caught:
        there(program, "edge", ".", spark)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


# What a program may say


def test_parameters_are_checked() -> None:
    for text, words in (
        ('.input edge(IO="jdbc", url="u")', "`IO=jdbc` needs the parameter `dbtable`"),
        ('.input edge(IO="table")', "`IO=table` needs the parameter `table`"),
        ('.input edge(IO="parquets")', "knows no `IO=parquets`"),
    ):
        with pytest.raises(WhenceError, match=words):
            compile_text(EDGE + text)


def test_the_local_engine_says_what_it_cannot_read(tmp_path: Path) -> None:
    program = compile_text(EDGE + '.input edge(IO="table", table="t")')
    with pytest.raises(WhenceError, match="IO=table needs --engine spark"):
        here(program, "edge", tmp_path)
