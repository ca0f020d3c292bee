"""`whence explain` as a user meets it: the command, and its prompt."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from explain.test_figures import DRAWING, sessions
from whence.cli import main

QUERY = 'alias("userSession", "ins")'


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("explained") / "state"
    sessions().save(folder)
    return str(folder)


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["explain", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_every_form(state: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert told(capsys, state, QUERY, "--width", "120") == (0, DRAWING + "\n", "")
    status, out, _ = told(capsys, state, QUERY, "--json")
    assert (status, json.loads(out)["tuple"]) == (0, QUERY)
    assert told(capsys, state, QUERY, "--format", "dot")[1].startswith("digraph")
    assert told(capsys, state, QUERY, "--format", "svg")[1].startswith("<svg")
    page = tmp_path / "page.html"
    assert told(capsys, state, QUERY, "--format", "html", "-o", str(page)) == (0, "", "")
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_proofs_steps_depth_and_choice(state: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = told(capsys, state, 'vpt("superuser", "L2")', "--proofs", "5", "--json")
    assert [proof["rule"]["number"] for proof in json.loads(out)] == [2, 3]
    _, out, _ = told(capsys, state, 'vpt("superuser", "L2")', "--steps", "--json")
    assert [step["rule"]["number"] for step in json.loads(out)] == [2, 3]
    _, out, _ = told(capsys, state, QUERY, "--depth", "1", "--json")
    assert json.loads(out)["children"][0]["cut"] is True
    _, out, _ = told(capsys, state, 'vpt("superuser", X)', "--choose", "2")
    assert "> 2  " in out
    assert told(capsys, state, QUERY, "--metric", "height", "--json")[0] == 0


def test_why_not(state: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = told(capsys, state, 'vpt("userSession", "L4")', "--not", "--rule", "2", "--set", "Var2=ins")
    assert status == 0
    assert out.startswith('assign("userSession", "ins") ✓   vpt("ins", "L4") ✗\n')
    _, out, _ = told(capsys, state, "--not", 'vpt("userSession", "L4")', "--json")
    assert told(capsys, "--json", state, "--not", 'vpt("userSession", "L4")')[1] == out  # options may stand anywhere
    assert len(json.loads(out)["attempts"]) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([QUERY, "--rule", "1"], "--rule and --set are for --not"),
        (['vpt("nobody", X)'], "ask why it is not there"),
        ([QUERY, "--not"], "is there; ask why"),
        (['vpt("a", "b")', "--not", "--set", "x"], "a value is written VAR=VALUE"),
        ([QUERY, "-o", "/nowhere/at/all"], "cannot write /nowhere/at/all"),
        ([QUERY, "--epoch", "7"], "has no epoch 7"),
        (["vpt("], "expected"),
    ],
)
def test_mistakes(state: str, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    status, out, err = told(capsys, state, *arguments)
    assert (status, out) == (1, "")
    assert message in err


def test_a_folder_that_is_no_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = told(capsys, str(tmp_path), QUERY)
    assert status == 1
    assert err.count("\n") <= 2


def conversation(
    state: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *lines: str
) -> list[str]:
    """The replies of the prompt to some lines."""
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    status, out, _ = told(capsys, state)
    assert status == 0
    return out.split("> ", 1)[1].split("\n> ")


def test_a_conversation(
    state: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    replies = conversation(
        state, monkeypatch, capsys,
        'vpt("superuser", "L2")', "next", "next", "steps", "depth 1", f"explain {QUERY}", f"format html {page}",
        'why-not vpt("userSession", "L4")', "rule 2 Var2=ins", "ask 1", "ask 99", "depth all", "metric height",
        'vpt("superuser", X)', "choose 3", "relations", "format json", QUERY, "nonsense", "metric beauty",
        "help", "quit",
    )  # fmt: skip
    wanted = [
        "(R2)", "(R3)", "there is no other proof", "(R3)", "depth 1", 'vpt("userSession", "L3") …', "written to",
        "ask about a part that fails:\n1  new", 'vpt("ins", "L4") ✗', 'vpt("ins", "L4")  (R3)', "parts that fail",
        "depth as many as fit", "metric height", "> 1  vpt(", "> 3  vpt(", "vpt(variable: symbol, object: symbol)",
        "format json", '{"tuple"', "there is no command 'nonsense'", "there is no metric 'beauty'", "why-not TUPLE",
    ]  # fmt: skip
    text = "\n> ".join(replies)
    place = 0
    for part in wanted:
        found = text.find(part, place)
        assert found >= 0, f"{part!r} is not in what follows:\n{text[place:]}"
        place = found + 1
    assert page.exists()
