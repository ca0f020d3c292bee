"""`whence repair` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import whence
from repair.test_worked_examples import upgraded
from whence.cli import main
from whence.store import Store

FAULT = ("--unwanted", 'alias("userSession", "sec")')


@pytest.fixture
def state(tmp_path: Path) -> str:
    session = upgraded()
    session.undo()
    session.save(tmp_path / "state")
    session.update(
        insert={"assign": [("upgradedSession", "userSession")], "load": [("userSession", "admin", "session")]}
    )
    session.save(tmp_path / "state")
    return str(tmp_path / "state")


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["repair", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_json(state: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = told(capsys, state, *FAULT, "--json", "--why")
    found = json.loads(out)
    load = {"kind": "tuple", "change": "inserted", "text": 'load("userSession", "admin", "session").'}
    answer = {"parts": [load], "size": 1, "of": 2, "verified": True, "smallest": True, "reason": ""}
    assert (status, err) == (0, "")
    assert "(+)" in found.pop("why")[FAULT[1]]
    assert found == {
        "before": 0,
        "epoch": 1,
        "unwanted": [FAULT[1]],
        "missing": [],
        "notes": [],
        "parts": 2,
        "suggestions": [answer],
        "localisation": answer,
    }


def test_the_repaired_epoch_is_made(state: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = told(capsys, state, *FAULT, "--apply")
    assert (status, out.splitlines()[-1]) == (0, "epoch 2 is the repaired one")
    assert Store.open(state).latest.number == 2
    assert told(capsys, state, *FAULT)[2] == f"{FAULT[1]} is not there, which is as wanted\n"
    assert told(capsys, state, *FAULT, "--epoch", "1")[0] == 0  # it is still there to be asked about
    assert told(capsys, state, *FAULT, "--epoch", "1", "--since", "2")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say what is wrong: --unwanted TUPLE, or --missing TUPLE"),
        (["--unwanted", "alias("], "expected"),
        (["--unwanted", "nothing(1)"], "unknown relation"),
        ([*FAULT, "--since", "1"], "compare it with another"),
        ([*FAULT, "--since", "9"], "has no epoch 9"),
        ([*FAULT, "--epoch", "0"], "epoch 0 is the first"),
        ([*FAULT, "--apply", "--epoch", "0"], "only the last epoch can be repaired: epoch 1"),
        ([*FAULT, "--keep", 'new("a", "b")'], "is no part of the change"),
    ],
)
def test_mistakes(state: str, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    status, out, err = told(capsys, state, *arguments)
    assert (status, out) == (1, "")
    assert message in err


def test_a_folder_that_is_no_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = told(capsys, str(tmp_path), *FAULT)
    assert status == 1
    assert str(tmp_path) in err


def test_spark_sessions_say_what_to_do() -> None:
    session = whence.open(text=".decl a(x: number)\n")
    session.run()
    session.engine = object()  # type: ignore[assignment]
    with pytest.raises(whence.WhenceError, match="repairing works in process: save the session"):
        session.repair(unwanted=["a(1)"])
