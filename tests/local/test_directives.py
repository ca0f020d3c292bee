"""What `.output` and `.printsize` write, byte for byte, and what they leave when something goes wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import whence
from whence.engines.local import facts

PAIRS = '.decl pair(n: number, s: symbol)\npair(2, "b"). pair(1, "a").\n'


def written(program: str, folder: Path | str) -> None:
    session = whence.open(text=program)
    session.run()
    session.write_outputs(folder)


def test_headers_on_standard_output_stand_above_the_double_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    written(PAIRS + '.output pair(IO=stdout, headers=true, delimiter=",")', tmp_path)
    assert capfd.readouterr().out == "---------------\npair\nn,s\n===============\n1,a\n2,b\n===============\n"


@pytest.mark.parametrize("directive", [".printsize pair", ".output pair(IO=stdoutprintsize)"])
def test_sizes_are_printed_and_no_file_is_written(
    directive: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    written(PAIRS + directive, tmp_path)
    assert capfd.readouterr().out == "pair\t2\n"
    assert os.listdir(tmp_path) == []


def test_two_outputs_to_one_file_leave_the_last(tmp_path: Path) -> None:
    written(PAIRS + '.decl one(n: number)\none(1).\n.output pair(filename="r")\n.output one(filename="r")', tmp_path)
    assert os.listdir(tmp_path) == ["r"]
    assert (tmp_path / "r").read_text() == "1\n"


@pytest.mark.parametrize("reason", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_outputs_are_replaced_together_or_not_at_all(
    reason: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pair.csv").write_text("old\n")
    lines = facts._write_lines
    calls: list[object] = []

    def failing_the_second_time(*rest: object) -> None:
        calls.append(rest)
        if len(calls) == 2:
            raise reason
        lines(*rest)  # type: ignore[arg-type]

    monkeypatch.setattr(facts, "_write_lines", failing_the_second_time)
    with pytest.raises((KeyboardInterrupt, whence.WhenceError)):
        written(PAIRS + ".decl one(n: number)\none(1).\n.printsize one\n.output pair\n.output one", tmp_path)
    assert os.listdir(tmp_path) == ["pair.csv"]
    assert (tmp_path / "pair.csv").read_text() == "old\n"
    assert capfd.readouterr().out == ""


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(whence.WhenceError, match="file: the results cannot be written: File exists"):
        written(PAIRS + ".output pair", tmp_path / "file")
