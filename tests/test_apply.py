"""Epochs by the command line: apply, query, log, undo, chart, and what they say when something is wrong."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from whence.cli import main
from whence.store import Store

PROGRAM = """
.decl edge(x: number, y: symbol)
.input edge
.decl next(x: symbol, y: number)
.input next
.decl reach(x: number, y: number)
.output reach
reach(x, z) :- edge(x, y), next(y, z).
reach(x, z) :- reach(x, y), reach(y, z).
"""
EDGES = '1\tto "2"\n2\tto 3\n3\tto 4\n'
NEXT = 'to "2"\t2\nto 3\t3\nto 4\t4\nto 5\t5\n'
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    (folder / "reach.dl").write_text(PROGRAM)
    (folder / "edge.facts").write_text(EDGES)
    (folder / "next.facts").write_text(NEXT)
    out = ["-F", str(folder), "-D", str(folder), "--state", str(folder / "state"), "--engine", "local"]
    assert main(["run", str(folder / "reach.dl"), *out]) == 0
    return folder


@pytest.fixture
def whence(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """A command in a folder with a state of its own."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        capfd.readouterr()
        engine = ["--engine", "local"] if arguments[0] == "apply" else []
        status = main([*arguments, *engine])
        told = capfd.readouterr()
        return status, told.out, told.err

    return run


def change(text: str, name: str = "a.changes") -> str:
    Path(name).write_text(text)
    return name


def test_apply_shows_the_impact_and_why(whence: Command) -> None:
    status, out, err = whence("apply", "state", change('+ edge(4, "to 5").\n- edge(1, "to \\"2\\"").\n'))
    assert (status, err) == (0, "")
    assert out.splitlines()[:-2] == [
        "edge +1 -1",
        '  - edge(1, "to \\"2\\"")',
        '  + edge(4, "to 5")',
        "reach +3 -3",
        "  - reach(1, 2)",
        "  - reach(1, 3)",
        "  - reach(1, 4)",
        "  + reach(2, 5)",
        "  + reach(3, 5)",
        "  + reach(4, 5)",
    ]
    assert re.fullmatch(r"epoch 1: (update|bootstrap), \S+ m?s", out.splitlines()[-2])
    assert re.fullmatch(r"  reach: (update|bootstrap), \S+ m?s: .+", out.splitlines()[-1])


def test_apply_shows_as_many_tuples_as_asked_and_counts_the_rest(whence: Command) -> None:
    _, out, _ = whence("apply", "state", change('+ edge(4, "to 5").'), "--show", "1", "--strategy", "update")
    lines = out.splitlines()
    assert lines[:5] == ["edge +1 -0", '  + edge(4, "to 5")', "reach +4 -0", "  + reach(1, 5)", "  + … 3 more"]
    assert lines[5].startswith("epoch 1: update, ")
    assert lines[6].endswith(": as asked")


def test_apply_as_json(whence: Command) -> None:
    _, out, _ = whence("apply", "state", change('+ edge(4, "to 5").'), "--json", "--strategy", "bootstrap")
    told = json.loads(out)
    assert (told["epoch"], told["strategy"]) == (1, "bootstrap")
    assert told["inserted"]["edge"] == [[4, "to 5"]]
    assert sorted(told["inserted"]["reach"]) == [[1, 5], [2, 5], [3, 5], [4, 5]]
    assert told["deleted"] == {}
    assert told["change"] == {"edge": {"inserted": 1, "deleted": 0}}
    assert [stratum["relations"] for stratum in told["strata"]] == [["reach"]]
    assert told["seconds"] > 0


def test_apply_a_folder_and_write_the_outputs(whence: Command) -> None:
    Path("monday").mkdir()
    Path("monday/edge.insert.facts").write_text("4\tto 5\n")
    Path("monday/edge.delete.facts").write_text('1\tto "2"\n')
    assert whence("apply", "state", "monday", "-q", "-D", "after") == (0, "", "")
    assert Path("after/reach.csv").read_text() == "2\t3\n2\t4\n2\t5\n3\t4\n3\t5\n4\t5\n"


def test_outputs_that_cannot_be_written_do_not_undo_the_epoch(whence: Command) -> None:
    Path("after").write_text("a file")
    status, _, err = whence("apply", "state", change('+ edge(4, "to 5").'), "-D", "after")
    assert status == 1
    assert err.rstrip().endswith("(epoch 1 is committed all the same)")
    assert Store.open("state").numbers == (0, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('+ edges(1, "a").', "a.changes:1:3: error: unknown relation `edges`"),
        ("+ reach(1, 2).", "a.changes:1:3: error: `reach` is derived by rules, so it cannot be changed itself"),
        ('- edge(9, "x").', 'edge(9, "x") cannot be deleted: it is not there'),
        ('+ edge(2, "to 3").', 'edge(2, "to 3") cannot be inserted: it is there'),
        ('+ edge(9, "x"). - edge(9, "x").', 'edge(9, "x") is both inserted and deleted'),
        ('+ edge("x", 9).', "but column `x` of `edge` is a `number`"),
        ('+ edge(9, "x")', "a.changes:1:15: error: expected `.` at the end of the change"),
        ("+ reach(x, y) :- edge(x, y).", "a.changes:1:12: error: `y` is a `number` here"),
        ("- reach(x, y) :- edge(x, y).", "a.changes:1:3: error: there is no such rule in the program"),
        ("// nothing", "a.changes: there is nothing to insert or delete in it"),
    ],
)
def test_a_change_that_is_wrong_leaves_the_state(whence: Command, text: str, message: str) -> None:
    status, out, err = whence("apply", "state", change(text))
    assert (status, out) == (1, "")
    assert message in err
    assert Store.open("state").numbers == (0,)


def test_lenient_ignores_what_changes_nothing(whence: Command) -> None:
    wanted = change('- edge(9, "x"). + edge(2, "to 3"). + edge(4, "to 5").')
    status, out, _ = whence("apply", "state", wanted, "--lenient", "--show", "0")
    assert status == 0
    assert out.splitlines()[:2] == ["edge +1 -0", "reach +4 -0"]
    assert out.splitlines()[-1] == "  2 changes that change nothing were ignored"


@pytest.mark.parametrize("arguments", [["--share", "x"], ["--share", "-1"], ["--strategy", "dens"], ["--show", "-1"]])
def test_wrong_usage(whence: Command, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        whence("apply", "state", change('+ edge(4, "to 5").'), *arguments)
    assert ended.value.code == 2


def test_states_that_are_none(whence: Command) -> None:
    for command in (["apply", "nothing", "a"], ["query", "nothing", "reach(1, X)"], ["log", "nothing"]):
        assert whence(*command) == (1, "", "there is no store in nothing: it does not exist\n")
    assert whence("log", "reach.dl") == (1, "", "reach.dl is not a Whence store: it is a file\n")
    assert whence("undo", ".") == (1, "", ". is not a Whence store: it has no manifest.json\n")


def test_a_damaged_state(whence: Command) -> None:
    path = next(Path("state").glob("epochs/0/reach/*.parquet"))
    path.write_bytes(path.read_bytes()[:-1])
    for command in (["apply", "state", change('+ edge(4, "to 5").')], ["query", "state", "reach(1, X)"]):
        status, _, err = whence(*command)
        assert status == 1
        assert err.startswith("the store state is damaged at epochs/0/reach/part-00000.parquet: it has ")


def test_query_patterns(whence: Command) -> None:
    assert whence("query", "state", "reach(1, X)") == (0, "1\t2\n1\t3\n1\t4\n", "")
    assert whence("query", "state", "reach(_, 4).")[1] == "1\t4\n2\t4\n3\t4\n"
    assert whence("query", "state", "reach(X, X)")[1] == ""
    assert whence("query", "state", "reach(2, 4)")[1] == "2\t4\n"
    assert whence("query", "state", "reach(X, Y)", "--limit", "2") == (0, "1\t2\n1\t3\n", "4 more\n")
    _, out, _ = whence("query", "state", "edge(X, Y)", "--json")
    assert json.loads(out) == {"columns": ["x", "y"], "tuples": [[1, 'to "2"'], [2, "to 3"], [3, "to 4"]]}


def test_query_bodies(whence: Command) -> None:
    _, out, _ = whence("query", "state", "reach(1, X), !reach(X, 4), n = count : { reach(_, X) }", "--json")
    assert json.loads(out) == {"columns": ["X", "n"], "tuples": [[4, 3]]}
    assert whence("query", "state", "reach(1, X), X > 3; reach(X, 3)")[1] == "1\n2\n4\n"
    assert whence("query", "state", "reach(1, 2), !reach(2, 1)")[1] == "()\n"
    assert whence("query", "state", "reach(2, 1), reach(1, 2)")[1] == ""


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("reach(1", "<query>:1:8: error: expected `,` or `)` in the arguments of `reach`"),
        ("rech(1, X)", "<query>:1:1: error: unknown relation `rech`"),
        ('reach("a", X)', "is a `symbol`, but column `x` of `reach` is a `number`"),
        ("reach(1, X), Y > 2", "the variable `Y` is not bound"),
        ("reach(X, 2); reach(2, Y)", "`X` has no value in every part of this query"),
        ("reach(X, Y) :- edge(X, Y)", "expected the end of the query, found `:-`"),
    ],
)
def test_queries_that_are_wrong(whence: Command, query: str, message: str) -> None:
    status, out, err = whence("query", "state", query)
    assert (status, out) == (1, "")
    assert message in err


def test_history_and_undo(whence: Command) -> None:
    whence("apply", "state", change('+ edge(4, "to 5").'), "--strategy", "update")
    whence("apply", "state", change('- edge(1, "to \\"2\\"").'), "--strategy", "bootstrap")
    _, out, _ = whence("log", "state")
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == ["epoch", "committed", "change", "impact", "tuples", "strategy", "time"]
    assert [(row[0], *row[3:-2]) for row in rows[1:]] == [
        ("0", "13", "bootstrap"),
        ("1", "+1", "-0", "+5", "-0", "18", "update"),
        ("2", "+0", "-1", "+0", "-5", "13", "bootstrap"),
    ]
    last = json.loads(whence("log", "state", "--json", "-n", "1")[1])
    assert [(one["epoch"], one["parent"], one["strategy"]) for one in last] == [(2, 1, "bootstrap")]
    assert last[0]["impact"]["reach"] == {"inserted": 0, "deleted": 4}
    assert last[0]["strata"][0]["reason"] == "as asked"
    assert whence("query", "state", "reach(1, X)", "--epoch", "1")[1] == "1\t2\n1\t3\n1\t4\n1\t5\n"
    assert whence("undo", "state")[1] == "epoch 2 is undone; the last one is epoch 1 again\n"
    assert json.loads(whence("undo", "state", "--json")[1]) == {"undone": 1, "epoch": 0}
    status, _, err = whence("undo", "state")
    assert (status, "nothing to undo" in err) == (1, True)
    status, _, err = whence("query", "state", "reach(1, X)", "--epoch", "1")
    assert (status, err) == (1, "the store state has no epoch 1; there are: 0\n")


def test_chart(whence: Command) -> None:
    whence("apply", "state", change('+ edge(4, "to 5").'))
    assert whence("chart", "state", "-o", "epochs.svg") == (0, "", "")
    drawn = Path("epochs.svg").read_text()
    assert "<svg" in drawn
    assert all(word in drawn for word in ("bootstrap", "inserted", "deleted", "reach.dl", "epoch"))
    whence("chart", "state", "-o", "again.svg")
    assert Path("again.svg").read_text() == drawn, "the same epochs give the same picture"
    whence("chart", "state", "-o", "epochs.png", "--title", "Reach")
    assert Path("epochs.png").read_bytes().startswith(b"\x89PNG")
    assert whence("chart", "state", "-o", "epochs.gif")[2] == "epochs.gif: a chart is a .svg or .png file\n"
    assert "the chart cannot be written" in whence("chart", "state", "-o", "nowhere/epochs.svg")[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["state", "--changes", "nowhere"], "nowhere: there is no such folder of changes"),
        (["reach.dl", "--changes", "in"], "reach.dl: say with --state where the state of this program is to be kept"),
        (["state", "--changes", "in", "--state", "other"], "state is a state, and --state names another"),
        (["in", "--changes", "in"], "in is not a Whence store: it has no manifest.json"),
        (["other.dl", "--changes", "in", "--state", "state"], "the state in state is of another program than other.dl"),
        (["missing.dl", "--changes", "in", "--state", "state"], "missing.dl: cannot read the program"),
        (["missing.dl", "--changes", "in", "--state", "new"], "cannot read the program"),
    ],
)
def test_streams_that_cannot_start(whence: Command, arguments: list[str], message: str) -> None:
    """All of this is known before Spark is started."""
    Path("in").mkdir()
    Path("other.dl").write_text(PROGRAM + "// and more")
    status, out, err = whence("stream", *arguments, "--engine", "local")
    assert (status, out) == (1, "")
    assert message in err


def test_two_at_once(whence: Command) -> None:
    """Whoever holds the lock is named; the other one changes nothing."""
    store = Store.open("state")
    with store.commit() as writer:
        status, _, err = whence("apply", "state", change('+ edge(4, "to 5").'))
        assert status == 1
        assert "is writing to the store state; try again when it is done" in err
        writer.keep_others()


@pytest.mark.slow
def test_interrupted_in_the_middle(tmp_path: Path) -> None:
    (tmp_path / "chain.dl").write_text(
        ".decl edge(x: number, y: number)\n.input edge\n.decl path(x: number, y: number)\n"
        "path(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), path(y, z).\n"
    )
    (tmp_path / "edge.facts").write_text("".join(f"{i}\t{i + 1}\n" for i in range(600)))
    (tmp_path / "a.changes").write_text("- edge(300, 301).\n+ edge(601, 0).")
    whence = str(Path(sys.executable).with_name("whence"))
    subprocess.run([whence, "run", "chain.dl", "--engine", "local", "--state", "state"], cwd=tmp_path, check=True)
    started = subprocess.Popen(
        [whence, "apply", "state", "a.changes", "--engine", "local", "--strategy", "update"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(2.5)
    started.send_signal(signal.SIGINT)
    out, err = started.communicate()
    if started.returncode == 0:
        pytest.skip("it was done before it could be interrupted")
    assert (started.returncode, out) == (130, "")
    assert err.endswith("interrupted; no output was written\n")
    store = Store.open(tmp_path / "state")
    assert store.numbers == (0,)
    store.check()
