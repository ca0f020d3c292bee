"""What a command says while it works: a line that is kept up to date on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from whence.lang import Diagnostic, render
from whence.lang.program import Stratum
from whence.session import Session

FIRST = 0.5  # seconds until progress is shown at all
BETWEEN_UPDATES = 0.1
BETWEEN_LINES = 5.0
NAMES_WIDTH = 30


class Console:
    def __init__(self, quiet: bool, verbose: bool = False) -> None:
        self.quiet = quiet
        self.verbose = verbose
        self.terminal = sys.stderr.isatty()
        self._warned: set[str] = set()

    def say(self, text: str) -> None:
        if not self.quiet:
            print(text, file=sys.stderr)

    announce = say

    def warn(self, warning: Diagnostic | str) -> None:
        text = warning if isinstance(warning, str) else render(warning)
        if text not in self._warned:  # an evaluation may say the same of every tuple
            self._warned.add(text)
            self.say(f"warning: {text}" if isinstance(warning, str) else text)

    @contextmanager
    def progress(self, session: Session) -> Iterator[Evaluation]:
        evaluation = Evaluation(self)
        session.on_tick(evaluation.tick)
        try:
            yield evaluation
        finally:
            evaluation.clear()


class Evaluation:
    """The progress of one evaluation: stratum, iteration, new tuples, elapsed."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.strata = 0
        self.iterations = 0
        self.derived = 0
        self.placements: list[dict[str, object]] = []  # by stratum: its relations, where it was evaluated, and why
        self._relations: tuple[str, ...] = ()
        self._of = 0
        self._names = ""
        self._iteration = 0
        self._new = 0
        self._started = time.monotonic()
        self._next = self._started + (FIRST if console.terminal else BETWEEN_LINES)
        self._shown = False

    def stratum(self, number: int, of: int, stratum: Stratum) -> None:
        names = ", ".join(stratum.relations)
        self._names = names if len(names) <= NAMES_WIDTH else names[: NAMES_WIDTH - 1] + "…"
        self._relations = stratum.relations
        self.strata, self._of = number, of
        self._iteration = self._new = 0

    def placed(self, place: str, reason: str) -> None:
        self.placements.append({"relations": list(self._relations), "placement": place, "reason": reason})
        if self.console.verbose or place in ("decomposed", "exchanged"):
            self.clear()
            self.console.say(f"{', '.join(self._relations)}: {place}: {reason}")

    def iteration(self, iteration: int, new: int) -> None:
        self.iterations += 1
        self.derived += new
        self._iteration, self._new = iteration, new
        if not iteration & 63:
            self.tick()

    def tick(self) -> None:
        now = time.monotonic()
        if now < self._next or self.console.quiet:
            return
        self._next = now + (BETWEEN_UPDATES if self.console.terminal else BETWEEN_LINES)
        elapsed = now - self._started
        text = (
            f"stratum {self.strata}/{self._of} ({self._names}), iteration {self._iteration + 1:,}, "
            f"{self._new:,} new in the last, {self.derived:,} in all, {elapsed:.1f} s"
        )
        if self.console.terminal:
            filled = 20 * (self.strata - 1) // max(1, self._of)
            line = f"{'█' * filled}{'░' * (20 - filled)} {text}"
            print(f"\r\x1b[K{line[: _columns() - 1]}", end="", file=sys.stderr, flush=True)
            self._shown = True
        else:
            print(text, file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._shown = False


def _columns() -> int:
    """The width of the terminal, at this moment; a line that is wider could not be replaced."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        return 80
