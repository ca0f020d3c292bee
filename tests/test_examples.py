"""Each folder of `examples/` gives the outputs it says it gives, from the shell as its README runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
WHENCE = Path(sys.executable).with_name("whence")


@pytest.mark.parametrize("name", sorted(folder.parent.name for folder in EXAMPLES.glob("*/expected")))
def test_example(name: str, tmp_path: Path) -> None:
    folder = EXAMPLES / name
    command = [WHENCE, "run", f"{name}.dl", "-F", "facts", "-D", tmp_path, "--engine", "local"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    written = {file.name: sorted(file.read_text().splitlines()) for file in tmp_path.iterdir()}
    expected = {file.name: sorted(file.read_text().splitlines()) for file in folder.glob("expected/*.csv")}
    assert written == expected
