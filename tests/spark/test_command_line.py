"""`whence run` on Spark, from the shell and from Python, as its users meet it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import whence
from whence.engines.spark.options import PLACES, Options
from whence.store import Store

WHENCE = str(Path(sys.executable).with_name("whence"))
CLOSURE = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.output path
.printsize path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


@pytest.fixture
def closure(tmp_path: Path) -> Path:
    (tmp_path / "closure.dl").write_text(CLOSURE)
    (tmp_path / "edge.facts").write_text("1\t2\n2\t3\n3\t1\n")
    return tmp_path


def run(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [WHENCE, "run", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", timeout=300)


def test_spark_is_the_default_and_gives_what_the_local_engine_gives(closure: Path) -> None:
    ran = run("closure.dl", "-D", "out", "--json", "--state", "state", "--placement", "exchanged", folder=closure)
    assert ran.returncode == 0, ran.stderr
    size, report = ran.stdout.splitlines()
    assert size == "path\t9"
    told = json.loads(report)
    assert told["outputs"] == {"path": 9}
    assert told["placements"] == [{"relations": ["path"], "placement": "exchanged", "reason": "asked for"}]
    assert told["bad_rows"] == {}
    assert ran.stderr == "path: exchanged: asked for\n"
    local = run("closure.dl", "-D", "here", "--engine", "local", "--state", "state", folder=closure)
    assert local.returncode == 0, local.stderr
    assert (closure / "out/path.csv").read_bytes() == (closure / "here/path.csv").read_bytes()
    store = Store.open(closure / "state")  # the first epoch by Spark, the second by the local engine
    one, other = (store.read("path", number).to_pylist() for number in store.numbers)
    assert sorted(map(str, one)) == sorted(map(str, other))


@pytest.mark.parametrize(
    ("program", "arguments", "message"),
    [
        (CLOSURE + "path(x) :- edge(x, _).", [], "closure.dl:9:1: error: `path` has 2 columns, not 1"),
        (CLOSURE, ["-F", "nowhere"], "nowhere/edge.facts: there is no such file to read edge from"),
        (CLOSURE, ["--conf", "spark.driver.memory"], "--conf spark.driver.memory: a setting is written KEY=VALUE"),
        (CLOSURE, ["--state", "closure.dl"], "closure.dl"),
    ],
)
def test_wrong_input_is_one_sentence(closure: Path, program: str, arguments: list[str], message: str) -> None:
    (closure / "closure.dl").write_text(program)
    ran = run("closure.dl", *arguments, folder=closure)
    assert ran.returncode == 1
    assert message in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_program_that_is_wrong_starts_nothing(closure: Path) -> None:
    """Without a Java, Spark would not start; but the program's error is told first."""
    (closure / "closure.dl").write_text(CLOSURE + "path(x, y) :- edg(x, y).")
    without = os.environ | {"JAVA_HOME": str(closure)}
    ran = subprocess.run([WHENCE, "run", "closure.dl"], cwd=closure, env=without, capture_output=True, text=True)
    assert ran.returncode == 1
    assert "unknown relation `edg`" in ran.stderr


def test_without_java_there_is_one_sentence(closure: Path) -> None:
    without = os.environ | {"JAVA_HOME": str(closure)}
    command = [WHENCE, "run", "closure.dl", "--placement", "exchanged"]
    ran = subprocess.run(command, cwd=closure, env=without, capture_output=True, text=True)
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1].startswith(
        f"Spark needs Java, and JAVA_HOME is {closure}, which has no bin/java"
    )
    assert "Traceback" not in ran.stderr


# The Python interface, on one Spark


@pytest.mark.parametrize("place", ["driver", "exchanged"])
def test_results_are_ordinary_frames(spark: SparkSession, place: str) -> None:
    text = ".type P = [x: number, y: float]\n.decl a(n: number, u: unsigned, f: float, s: symbol, p: P)\n"
    text += ".decl b(n: number, u: unsigned, f: float, s: symbol, p: P)\n"
    text += 'a(-1, 18446744073709551615, -0.5, "é\\t", [1, 2.5]). a(0, 0, 0, "", nil).\n'
    text += "b(n, u, f, s, p) :- a(n, u, f, s, p).\n"
    with whence.open(text=text, engine="spark", spark=spark, options=Options(placement=place)) as session:
        session.run()
        frame = session["b"].to_spark(annotated=True)
        assert dict(frame.dtypes) == {
            "n": "bigint",
            "u": "decimal(20,0)",
            "f": "double",
            "s": "string",
            "p": "string",
            "iteration": "int",
            "count": "bigint",
        }
        rows = {row["n"]: tuple(row) for row in frame.collect()}
        assert rows[-1] == (-1, 2**64 - 1, -0.5, "é\t", "[1, 2.5]", 1, 1)
        assert rows[0][1:] == (0, 0.0, "", "nil", 1, 1)
        assert sorted(session["b"]) == [(-1, 2**64 - 1, -0.5, "é\t", (1, 2.5)), (0, 0, 0.0, "", None)]
        assert (0, 0, 0.0, "", None) in session["b"]
        assert (0, 0, -0.0, "", None) not in session["b"]
        assert (0, "x", 0.0, "", None) not in session["b"]
        assert session["b"].to_arrow().column("u").to_pylist().count(2**64 - 1) == 1


def test_a_frame_costs_no_job(spark: SparkSession) -> None:
    """Not even for a relation that the kernel has made: its tuples go to Spark with the query that reads them."""
    text = ".decl a(n: number)\n.decl b(n: number)\na(1). a(2).\nb(n) :- a(n).\nb(n) :- b(n), a(n).\n"
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup
    for place in PLACES:
        with whence.open(text=text, engine="spark", spark=spark, options=Options(placement=place)) as session:
            session.run()
            before = len(jobs(None))
            frame = session["b"].to_spark()
            assert len(jobs(None)) == before
            assert frame.count() == 2
            assert len(jobs(None)) > before


def test_frames_in_hand_tuples_and_facts_together(spark: SparkSession) -> None:
    text = CLOSURE + "edge(7, 8)."
    frame = spark.createDataFrame([(1, 2), (2, 3), (2, 3)], "x int, y bigint")
    with whence.open(text=text, engine="spark", spark=spark, options=Options(placement="exchanged")) as session:
        session.load(edge=frame)
        session.load(edge=[(3, 4)])
        session.run()
        assert sorted(session["edge"]) == [(1, 2), (2, 3), (3, 4), (7, 8)]
        assert len(session["path"]) == 7
        session.load(edge=[(8, 9)])
        session.run()
        assert len(session["path"]) == 9
        assert sorted(session["edge"]) == [(1, 2), (2, 3), (3, 4), (7, 8), (8, 9)]


def test_the_users_settings_stay(spark: SparkSession) -> None:
    before = {key: spark.conf.get(key) for key in ("spark.sql.adaptive.enabled", "spark.sql.ansi.enabled")}
    with whence.open(text=CLOSURE, engine="spark", spark=spark, options=Options(placement="exchanged")) as session:
        session.load(edge=[(1, 2)])
        session.run()
    assert {key: spark.conf.get(key) for key in before} == before
    assert spark.range(3).count() == 3  # a session that was given is not stopped


@pytest.mark.parametrize("place", ["driver", "exchanged"])
def test_a_division_by_zero_names_the_rule(spark: SparkSession, place: str) -> None:
    text = ".decl a(x: number)\na(0). a(1).\n.decl b(x: number)\nb(10 / x) :- a(x).\n"
    with (
        whence.open(text=text, engine="spark", spark=spark, options=Options(placement=place)) as session,
        pytest.raises(whence.WhenceError, match=r"^<program>:4:1: division by zero, in `b\(10 / x\) :- a\(x\).`$"),
    ):
        session.run()
