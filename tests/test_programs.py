"""Programs a user could have written, each a folder: `program.dl`, its `facts`, and the outputs `expected`.

All run through the Python API, except those about directives, which say how files are read and written; these and a
few others run from the command line.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import whence

PROGRAMS = Path(__file__).parent / "programs"
DIRECTIVES = sorted(folder.name for folder in PROGRAMS.glob("directive_*"))
OTHERS = sorted(folder.name for folder in PROGRAMS.iterdir() if folder.name not in DIRECTIVES)
FROM_THE_SHELL = ["arity_zero", "empty_relation", "floats", "long_symbols", "records", "unicode_symbols", *DIRECTIVES]


def written(value: object) -> str:
    """A value as Soufflé writes it: whole floats without a point, records in brackets."""
    match value:
        case None:
            return "nil"
        case float():
            return f"{value:g}"
        case tuple():
            return f"[{', '.join(map(written, value))}]"
    return str(value)


def line(row: tuple[object, ...]) -> str:
    return "\t".join(map(written, row)) if row else "()"


def lines(path: Path) -> list[str]:
    return sorted(path.read_text(encoding="utf-8").split("\n")[:-1])


@pytest.mark.parametrize("name", OTHERS)
def test_program(name: str) -> None:
    folder = PROGRAMS / name
    session = whence.open(folder / "program.dl")
    session.load(**{file.stem: file for file in folder.glob("facts/*.facts")})
    session.run()
    for file in sorted(folder.glob("expected/*.csv")):
        found = [line(row) for row in session[file.stem]]
        assert sorted(found) == lines(file), file.stem
        assert len(session[file.stem]) == len(found)


@pytest.mark.parametrize("name", FROM_THE_SHELL)
def test_program_from_the_shell(name: str, tmp_path: Path) -> None:
    folder = PROGRAMS / name
    whence_command = Path(sys.executable).with_name("whence")
    given = folder / "stdin"
    ran = subprocess.run(
        [whence_command, "run", folder / "program.dl", "-F", folder / "facts", "-D", tmp_path, "--engine", "local"],
        input=given.read_text() if given.exists() else "",
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert ran.returncode == 0, ran.stderr
    expected = {file.name: lines(file) for file in folder.glob("expected/*") if file.name != "stdout"}
    assert {file.name: lines(file) for file in tmp_path.iterdir()} == expected
    printed = folder / "expected" / "stdout"
    if printed.exists():
        assert sorted(ran.stdout.splitlines()) == lines(printed)
    for file in folder.glob("expected/*"):
        if "headers=true" in (folder / "program.dl").read_text():
            first = file.read_text().splitlines()[0]
            assert (tmp_path / file.name).read_text().startswith(first + "\n")
