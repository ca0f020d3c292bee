"""Progress on a terminal: one line, however narrow the terminal is."""

from __future__ import annotations

import os
import pty
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import ioctl
from struct import pack
from termios import TIOCSWINSZ

import pytest

import whence
from whence.cli.console import Console, Evaluation


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> Iterator[int]:
    """Standard error on a terminal of so many columns; what is written there can be read."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, pack("HHHH", 24, columns, 0, 0))
    with monkeypatch.context() as patch, os.fdopen(theirs, "w") as stream:
        patch.setattr(sys, "stderr", stream)
        yield ours
    os.close(ours)


@pytest.mark.parametrize("columns", [20, 60, 300])
def test_a_line_of_progress_fits_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = whence.open(text=".decl a(x: number)\na(0).\na(x + 1) :- a(x).").program
    with terminal(monkeypatch, columns) as screen:
        evaluation = Evaluation(Console(quiet=False))
        evaluation.stratum(1, 1, program.strata[0])
        evaluation.iteration(1, 12_345_678)
        evaluation._next = 0
        evaluation.tick()
        shown = os.read(screen, 1 << 12).decode().removeprefix("\r\x1b[K")
    beginning = "░" * 20 + " stratum 1/1 (a), iteration 2, 12,345,678 new in the last, "
    assert len(shown) < columns
    assert shown.startswith(beginning[: columns - 1])
