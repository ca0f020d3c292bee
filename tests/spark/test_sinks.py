"""Writing on Spark: text to the byte as the local engine writes it, everything else so that it reads back the same."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from pyspark.sql import DataFrame, SparkSession

from whence.engines.local import directives
from whence.engines.local.tables import LocalTables
from whence.engines.spark import transfer
from whence.engines.spark.columns import carried_schema
from whence.engines.spark.folders import staging
from whence.engines.spark.sinks import write_output
from whence.engines.spark.sources import read_input
from whence.errors import WhenceError
from whence.lang import Program, compile_text
from whence.lang.program import Directive

DECLARED = """
.type List = [head: number, tail: List]
.decl r(n: number, u: unsigned, f: float, s: symbol, l: List)
r(1, 2, 0.1, "é", [1, nil]).
r(-1, 18446744073709551615, -0.0, "a b", nil).
r(-1, 3, 0.0, "", [10, [2, nil]]).
r(10, 3, 1000000.5, "日本", [2, nil]).
r(9, 3, -2.5, "x,y", [-2, nil]).
.decl none(x: number)
.decl holds()
holds().
.decl fails()
"""
RELATIONS = ["r", "none", "holds", "fails"]


def double(value: float) -> int:
    return int(struct.unpack("q", struct.pack("d", value))[0])


ROWS: dict[str, list[tuple[Any, ...]]] = {
    "r": [
        (1, 2, double(0.1), "é", "[1, nil]"),
        (-1, -1, double(-0.0), "a b", "nil"),
        (-1, 3, double(0.0), "", "[10, [2, nil]]"),
        (10, 3, double(1000000.5), "日本", "[2, nil]"),
        (9, 3, double(-2.5), "x,y", "[-2, nil]"),
    ],
    "none": [],
    "holds": [()],
    "fails": [],
}


def carried(program: Program, relation: str, spark: SparkSession) -> DataFrame:
    if not program.relations[relation].arity:
        return spark.range(len(ROWS[relation])).select()
    schema = carried_schema(program.relations[relation], annotated=False)
    return spark.createDataFrame(ROWS[relation], schema).repartition(3)


def directive(program: Program, kind: Any, relation: str, **parameters: str) -> Directive:
    return Directive(kind, relation, parameters, program.relations[relation].origin)


def write(program: Program, relation: str, folder: Path, spark: SparkSession, **parameters: str) -> None:
    given = directive(program, "output", relation, **parameters)
    with staging() as staged:
        write_output(given, program.relations[relation], program, carried(program, relation, spark), folder, staged)


def read(program: Program, relation: str, folder: Path, spark: SparkSession, **parameters: str) -> list[Any]:
    given = directive(program, "input", relation, **parameters)
    found = read_input(given, program.relations[relation], program, folder, spark)
    rows = [tuple(row) for row in found.frame.collect()]
    found.release()
    return rows


def write_here(program: Program, folder: Path) -> None:
    tables = LocalTables(program)
    directives.write_outputs(program.directives, folder, tables, lambda name: len(tables.stored[name].table))


def read_here(program: Program, relation: str, folder: Path, **parameters: str) -> LocalTables:
    tables = LocalTables(
        compile_text(DECLARED.split("r(1,")[0] + ".decl none(x: number)\n.decl holds()\n.decl fails()")
    )
    directives.read_input(directive(program, "input", relation, **parameters), folder, tables)
    return tables


@pytest.mark.parametrize("parameters", ["", '(delimiter=";;", headers=true, filename="deep/er/r.txt")'])
def test_text_is_what_the_local_engine_writes(
    parameters: str, tmp_path: Path, spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    outputs = f".output r{parameters}\n.output none, holds, fails\n"
    program = compile_text(DECLARED + outputs)
    here, there = tmp_path / "here", tmp_path / "there"
    write_here(program, here)
    for output in program.directives_of("output"):
        relation = program.relations[output.relation]
        with staging() as staged:
            write_output(output, relation, program, carried(program, relation.name, spark), there, staged)
    files = sorted(path.relative_to(here) for path in here.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(there) for path in there.rglob("*") if path.is_file())
    for file in files:
        assert (there / file).read_bytes() == (here / file).read_bytes(), file
    capfd.readouterr()
    write_here(program, Path("-"))
    expected = capfd.readouterr().out
    for output in program.directives_of("output"):
        relation = program.relations[output.relation]
        with staging() as staged:
            write_output(output, relation, program, carried(program, relation.name, spark), "-", staged)
    assert capfd.readouterr().out == expected


def test_many_tuples_go_by_way_of_the_disk(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "AT_ONCE", 1000)
    program = compile_text(".decl r(x: number, y: symbol)\n.output r")
    frame = spark.range(0, 50_000, 1, 4).selectExpr("7 * id % 50000 AS c0", "concat('s', id % 10) AS c1")
    with staging() as staged:
        write_output(program.directives[0], program.relations["r"], program, frame, tmp_path, staged)
    lines = (tmp_path / "r.csv").read_text().splitlines()
    assert [int(line.split("\t")[0]) for line in lines] == list(range(50_000))


def test_text_at_a_uri(tmp_path: Path, spark: SparkSession) -> None:
    program = compile_text(DECLARED)
    for _ in range(2):
        write(program, "r", tmp_path, spark, filename=f"file:{tmp_path}/out/r.csv")
    write(program, "r", tmp_path, spark)
    assert (tmp_path / "out" / "r.csv").read_bytes() == (tmp_path / "r.csv").read_bytes()


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("form", ["parquet", "jsonlines"])
def test_folders_read_back(relation: str, form: str, tmp_path: Path, spark: SparkSession) -> None:
    program = compile_text(DECLARED)
    for _ in range(2):  # the second takes the place of the first
        write(program, relation, tmp_path, spark, IO=form)
    assert len(list(tmp_path.iterdir())) == 1
    assert sorted(read(program, relation, tmp_path, spark, IO=form)) == sorted(ROWS[relation])
    tables = read_here(program, relation, tmp_path, IO=form)
    assert len(tables.stored[relation].table) == len(ROWS[relation])


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("form", ["parquet", "jsonlines"])
def test_what_the_local_engine_writes_is_read_by_both(
    relation: str, form: str, tmp_path: Path, spark: SparkSession
) -> None:
    program = compile_text(DECLARED + f'.output {relation}(IO="{form}")')
    write_here(program, tmp_path)
    (file,) = tmp_path.iterdir()
    assert file.is_file()
    assert sorted(read(program, relation, tmp_path, spark, IO=form)) == sorted(ROWS[relation])
    assert len(read_here(program, relation, tmp_path, IO=form).stored[relation].table) == len(ROWS[relation])


def test_parquet_has_natural_types(tmp_path: Path, spark: SparkSession) -> None:
    program = compile_text(DECLARED)
    write(program, "r", tmp_path, spark, filename="x.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "x.parquet")
    assert [str(kind) for kind in table.schema.types] == ["int64", "decimal128(20, 0)", "double", "string", "string"]
    assert table.column_names == ["n", "u", "f", "s", "l"]


@pytest.mark.parametrize("relation", ["r", "holds"])
def test_tables_read_back(relation: str, spark: SparkSession, tmp_path: Path) -> None:
    program = compile_text(DECLARED)
    for _ in range(2):
        write(program, relation, tmp_path, spark, IO="table", table=f"sink_{relation}")
    found = read(program, relation, tmp_path, spark, IO="table", table=f"sink_{relation}")
    assert sorted(found) == sorted(ROWS[relation])


@pytest.mark.parametrize("relation", ["r", "holds"])
def test_databases_read_back(relation: str, spark: SparkSession, tmp_path: Path) -> None:
    program = compile_text(DECLARED)
    where = {"IO": "jdbc", "url": "jdbc:derby:memory:sinks;create=true", "dbtable": f"sink_{relation}"}
    for _ in range(2):
        write(program, relation, tmp_path, spark, **where)
    kept = [tuple(0 if value == double(-0.0) else value for value in row) for row in ROWS[relation]]  # Derby has no -0
    assert sorted(read(program, relation, tmp_path, spark, **where)) == sorted(kept)


def test_what_cannot_be_written_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    program = compile_text(DECLARED)
    (tmp_path / "file").write_text("")
    for parameters in (
        {"filename": "file/r.csv"},
        {"filename": "file/r.parquet"},
        {"IO": "table", "table": "no.such.place"},
        {"IO": "jdbc", "url": "jdbc:nosuch:x;password=secret", "dbtable": "r"},
    ):
        with pytest.raises(WhenceError) as caught:
            write(program, "r", tmp_path, spark, **parameters)
        assert "\n" not in str(caught.value), parameters
        assert "secret" not in str(caught.value)
        assert "Traceback" not in str(caught.value)


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def write_together(
    program: Program, spark: SparkSession, folder: Path, frames: dict[str, DataFrame], last: str
) -> None:
    with staging() as staged:
        for name, frame in frames.items():
            given = directive(program, "output", name, **({} if name == "holds" else {"IO": "parquet"}))
            write_output(given, program.relations[name], program, frame, folder, staged)
        if last:
            staged.folder(spark, f"file:{folder}/{last}")


def test_a_failed_write_leaves_all_old_ones(spark: SparkSession, tmp_path: Path) -> None:
    program = compile_text(DECLARED)
    frames = {name: carried(program, name, spark) for name in ("r", "holds", "none")}
    write_together(program, spark, tmp_path, frames, "")
    before = contents(tmp_path)
    fewer = {name: frame.limit(0) for name, frame in frames.items()}
    broken = spark.range(3).selectExpr("assert_true(id < 1) IS NULL AS bad", "id AS c0").where("bad").select("c0")
    with pytest.raises(WhenceError, match="none cannot be written there: "):
        write_together(program, spark, tmp_path, fewer | {"none": broken}, "")
    assert contents(tmp_path) == before
    with pytest.raises(WhenceError, match="the results cannot be moved there"):  # when others have been
        write_together(program, spark, tmp_path, fewer, "never written")
    assert contents(tmp_path) == before
    write_together(program, spark, tmp_path, fewer, "")
    assert not read(program, "r", tmp_path, spark, IO="parquet")
