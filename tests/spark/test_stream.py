"""Streams: every micro-batch is an epoch, once, however often it is killed, and the feed says what the state says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import whence
from whence.errors import WhenceError
from whence.state import impact_of, open_state
from whence.store import Store
from whence.streaming import Events, Feed, Follower, change_files

PROGRAM = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
ONCE = {"availableNow": True}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A state, and a folder where changes come."""
    (tmp_path / "path.dl").write_text(PROGRAM)
    (tmp_path / "edge.facts").write_text("1\t2\n2\t3\n")
    (tmp_path / "in").mkdir()
    with whence.open(tmp_path / "path.dl") as session:
        session.read_inputs(tmp_path)
        session.run()
        session.save(tmp_path / "state")
    return tmp_path


def arrives(folder: Path, name: str, text: str, when: int) -> None:
    """A file appears as a whole, later than those before it."""
    hidden = folder / "in" / f".{name}"
    hidden.write_text(text)
    os.utime(hidden, (when, when))
    hidden.rename(folder / "in" / name)


def fed(folder: Path) -> dict[int, list[Any]]:
    return {
        int(path.stem.removeprefix("epoch-")): [json.loads(line) for line in path.read_text().splitlines()]
        for path in sorted((folder / "feed").glob("*.jsonl"))
    }


def as_fed(folder: Path, epoch: int) -> list[Any]:
    """What the feed should say of an epoch, by the state."""
    again = Feed(folder / "again")
    again.write(epoch, *impact_of(Store.open(folder / "state"), epoch))
    return [json.loads(line) for line in again.path(epoch).read_text().splitlines()]


def test_files_make_epochs_and_a_feed(spark: SparkSession, folder: Path) -> None:
    def run() -> None:
        frame = change_files(spark, folder / "in", most=1)
        whence.stream(folder / "state", frame, feed=folder / "feed", trigger=ONCE).awaitTermination()

    arrives(folder, "b.changes", "+ edge(3, 4).\n", 1000)
    arrives(folder, "a.changes", "- edge(1, 2). // after b\n", 2000)
    run()
    store = Store.open(folder / "state")
    assert store.numbers == (0, 1, 2)
    assert sorted(open_state(store)["path"]) == [(2, 3), (2, 4), (3, 4)]
    assert fed(folder)[1] == [
        {"epoch": 1, "op": "+", "relation": "edge", "tuple": [3, 4]},
        *({"epoch": 1, "op": "+", "relation": "path", "tuple": [x, 4]} for x in (1, 2, 3)),
    ]
    assert fed(folder)[2][0] == {"epoch": 2, "op": "-", "relation": "edge", "tuple": [1, 2]}
    assert fed(folder) == {epoch: as_fed(folder, epoch) for epoch in (1, 2)}
    assert [epoch.summary.get("batch") for epoch in store.epochs] == [None, 0, 1]
    run()  # nothing has come
    arrives(folder, "c.changes", "+ edge(1, 2).", 3000)
    run()
    store.refresh()
    assert store.numbers == (0, 1, 2, 3)
    assert set(fed(folder)) == {1, 2, 3}


def test_files_of_one_batch_follow_each_other(spark: SparkSession, folder: Path) -> None:
    arrives(folder, "b.changes", "+ edge(3, 4). + edge(4, 5).", 1000)
    arrives(folder, "a.changes", "- edge(3, 4).", 2000)
    frame = change_files(spark, folder / "in")
    whence.stream(folder / "state", frame, trigger=ONCE).awaitTermination()
    store = Store.open(folder / "state")
    assert store.latest.summary["change"] == {"edge": {"inserted": 1, "deleted": 0}}
    assert sorted(open_state(store)["edge"]) == [(1, 2), (2, 3), (4, 5)]


def test_rules_come_with_files(spark: SparkSession, folder: Path) -> None:
    arrives(folder, "a.changes", ".decl loop(x: number)\n+ edge(3, 1).", 1000)
    arrives(folder, "b.changes", "+ loop(x) :- path(x, x).\n- path(x, y) :- edge(x, y).\n- edge(3, 1).", 2000)
    arrives(folder, "c.changes", "+ path(x, y) :- edge(y, x).\n+ edge(3, 2).", 3000)
    whence.stream(
        folder / "state", change_files(spark, folder / "in"), feed=folder / "feed", trigger=ONCE
    ).awaitTermination()
    store = Store.open(folder / "state")
    assert store.numbers == (0, 1)
    assert store.latest.summary["change"] == {"edge": {"inserted": 1, "deleted": 0}}
    assert len(store.latest.summary["program"]["added"]) == 3
    session = open_state(store)
    assert sorted(session["path"]) == [(2, 1), (2, 2), (2, 3), (3, 2), (3, 3)]
    assert fed(folder)[1] == as_fed(folder, 1)


def test_a_bad_file_stops_the_stream_until_it_is_mended(spark: SparkSession, folder: Path) -> None:
    def run() -> None:
        frame = change_files(spark, folder / "in", most=1)
        whence.stream(folder / "state", frame, feed=folder / "feed", trigger=ONCE).awaitTermination()

    arrives(folder, "a.changes", "+ edge(3, 4).", 1000)
    arrives(folder, "b.changes", "+ edge(4, x).", 2000)
    with pytest.raises(StreamingQueryException, match=r"b.changes:1:11: error: a change with a variable: `x`"):
        run()
    assert Store.open(folder / "state").numbers == (0, 1)
    (folder / "in" / "b.changes").write_text("+ edge(4, 5).")
    run()
    assert sorted(open_state(folder / "state")["edge"]) == [(1, 2), (2, 3), (3, 4), (4, 5)]
    assert set(fed(folder)) == {1, 2}


def test_any_streaming_frame(spark: SparkSession, folder: Path) -> None:
    (folder / "in" / "1.json").write_text('{"y": 4, "x": 3, "op": "+", "at": 1}\n{"y": 2, "x": 1, "op": "delete"}\n')
    frame = spark.readStream.schema("y int, x int, op string, at int").json(str(folder / "in"))
    query = whence.stream(folder / "state", frame, "edge", feed=folder / "feed", trigger=ONCE)
    query.awaitTermination()
    assert sorted(open_state(folder / "state")["path"]) == [(2, 3), (2, 4), (3, 4)]
    assert fed(folder)[1] == as_fed(folder, 1)


def test_values_of_every_kind(spark: SparkSession, tmp_path: Path) -> None:
    """As they are in the DataFrames that Whence gives out: unsigned numbers are decimals, records are texts."""
    text = ".type List = [a: number, b: List]\n.decl item(s: symbol, u: unsigned, f: float, l: List)"
    with whence.open(text=text) as session:
        session.load(item=[("old", 1, 0.5, None)])
        session.run()
        session.save(tmp_path / "state")
    (tmp_path / "in").mkdir()
    rows = [("new", 2**64 - 1, -0.0, "[1, [2, nil]]", "insert"), ("old", 1, 0.5, "nil", "delete")]
    lines = [json.dumps(dict(zip("suflo", row, strict=True))) for row in rows]
    (tmp_path / "in" / "1.json").write_text("\n".join(lines))
    schema = "s string, u decimal(20,0), f double, l string, o string"
    frame = spark.readStream.schema(schema).json(str(tmp_path / "in"))
    whence.stream(tmp_path / "state", frame, "item", op="o", trigger=ONCE).awaitTermination()
    assert list(open_state(tmp_path / "state")["item"]) == [("new", 2**64 - 1, -0.0, (1, (2, None)))]


def test_frames_that_do_not_fit(spark: SparkSession, folder: Path) -> None:
    with pytest.raises(WhenceError, match="this is not a streaming DataFrame"):
        whence.stream(folder / "state", spark.range(3), "edge")
    with pytest.raises(WhenceError, match="there is no such folder of changes"):
        change_files(spark, folder / "nowhere")
    (folder / "in" / "1.json").write_text('{"x": 3, "op": "?"}\n')
    frame = spark.readStream.schema("x int, op string").json(str(folder / "in"))
    for relation, options, message in (
        ("edge", {}, "the stream for 'edge' has no column 'y'; it has: x, op"),
        ("edges", {}, "the program has no relation 'edges'; there are: edge, path"),
        ("path", {}, "'path' is derived by rules, so it cannot be changed itself"),
        ("edge", {"op": "x"}, "the column 'x' of the stream has 3; it should be . or -"),
    ):
        changed = frame.selectExpr("x", "x + 1 as y", "op") if options else frame
        with pytest.raises(StreamingQueryException, match=message):
            whence.stream(folder / "state", changed, relation, trigger=ONCE, **options).awaitTermination()
    assert Store.open(folder / "state").numbers == (0,)


def test_two_streams_of_one_state(spark: SparkSession, folder: Path) -> None:
    """Each has its own batches and its own feed; a batch that comes again changes nothing."""
    followers = {
        name: Follower(folder / "state", Events("edge"), folder / name, update={"strategy": "update"})
        for name in ("red", "blue")
    }

    def batch(name: str, number: int, x: int, y: int) -> None:
        spark.sparkContext.setLocalProperty("sql.streaming.queryId", name)
        followers[name](spark.createDataFrame([(x, y, "+")], "x int, y int, op string"), number)

    batch("red", 0, 3, 4)
    batch("blue", 0, 4, 5)
    batch("red", 1, 5, 6)
    store = Store.open(folder / "state")
    assert store.numbers == (0, 1, 2, 3)
    (folder / "red" / "epoch-00000001.jsonl").unlink()  # as if it had been killed there
    (folder / "blue" / "epoch-00000002.jsonl").unlink()
    batch("red", 0, 3, 4)
    batch("blue", 0, 4, 5)
    store.refresh()
    assert store.numbers == (0, 1, 2, 3)
    assert sorted(path.name for path in folder.glob("*/epoch-*")) == [f"epoch-0000000{n}.jsonl" for n in (1, 2, 3)]
    assert {path.parent.name: path.name for path in folder.glob("blue/*")} == {"blue": "epoch-00000002.jsonl"}
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", None)


# Killed

KILLED = """
import os, signal, sys
from whence.cli import main
from whence.store.store import Store
from whence.streaming.feed import Feed
from whence.streaming.follower import Follower

def then_killed(owner, name, before):
    done = getattr(owner, name)
    def instead(*arguments, **options):
        if not before:
            done(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)
    setattr(owner, name, instead)

when = sys.argv.pop(1)
if when != "not":
    owner, name, before = {
        "before the commit": (Store, "_replace", True),
        "between commit and feed": (Feed, "write", True),
        "after the feed": (Feed, "write", False),
    }[when]
    then_killed(owner, name, before)
sys.exit(main(sys.argv[1:]))
"""


def streamed(folder: Path, when: str) -> subprocess.CompletedProcess[str]:
    options = ["--changes", "in", "--feed", "feed", "--once", "--engine", "local", "--files-per-epoch", "1"]
    spark = ["--conf", "spark.sql.shuffle.partitions=2", "--conf", "spark.driver.memory=1g", "--master", "local[1]"]
    return subprocess.run(
        [sys.executable, "-c", KILLED, when, "stream", "path.dl", "--state", "state", *options, *spark],
        cwd=folder,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("when", "left"),
    [
        pytest.param("before the commit", (0,), marks=pytest.mark.slow),
        ("between commit and feed", (0, 1)),
        pytest.param("after the feed", (0, 1), marks=pytest.mark.slow),
    ],
)
def test_killed_and_started_again(folder: Path, when: str, left: tuple[int, ...]) -> None:
    """Each change is in the state once, and in the feed as it is in the state."""
    arrives(folder, "a.changes", "+ edge(3, 4). - edge(1, 2).", 1000)
    arrives(folder, "b.changes", "+ edge(4, 5).", 2000)
    killed = streamed(folder, when)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert Store.open(folder / "state").numbers == left
    assert set(fed(folder)) == ({1} if when == "after the feed" else set())
    ended = streamed(folder, "not")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[-1].startswith(
        f"epoch {max(left) + 1 if max(left) else 2}: change +1 -0, impact +4 -0, "
    )
    store = Store.open(folder / "state")
    assert store.numbers == (0, 1, 2)
    assert sorted(open_state(store)["edge"]) == [(2, 3), (3, 4), (4, 5)]
    assert fed(folder) == {epoch: as_fed(folder, epoch) for epoch in (1, 2)}
    store.check()
