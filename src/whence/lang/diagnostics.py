"""What is wrong with a program, said to the person who wrote it: where, what, and what to do.

A `Diagnostic` carries everything needed to show it, the line of source text included, so it can be printed long
after the source is gone. A `Report` collects them while a program is compiled; a `ProgramError` ends the compilation.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal as OneOf

from whence.errors import WhenceError
from whence.lang.program import Span

SHOWN_WIDTH = 160  # columns of a source line that are shown; longer lines are cut around the caret
SHOWN_ERRORS = 100  # errors kept of one run, and warnings; the rest are only counted
SHOWN_MESSAGE = 400  # characters of a message, and of a hint
COMPARED_NAMES, COMPARED_LENGTH = 2000, 80  # how much is compared to find what someone may have meant
INDENT = "    "


class Source:
    """A text and its name, with the way from an offset in the text to a line and a column."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file

    @cached_property
    def line_starts(self) -> list[int]:
        starts = [0]
        find = self.text.find
        position = find("\n")
        while position >= 0:
            starts.append(position + 1)
            position = find("\n", position + 1)
        return starts

    def span(self, start: int, end: int) -> Span:
        starts = self.line_starts
        line = bisect_right(starts, start)
        last = bisect_right(starts, end, lo=line - 1)
        return Span(self.file, line, start - starts[line - 1] + 1, last, end - starts[last - 1] + 1)

    def line(self, number: int) -> str:
        starts = self.line_starts
        end = starts[number] - 1 if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r")


@dataclass(frozen=True)
class Note:
    """A second place that a diagnostic speaks of, such as the first of two declarations."""

    span: Span
    message: str
    source_line: str


@dataclass(frozen=True)
class Diagnostic:
    severity: OneOf["error", "warning"]
    span: Span
    message: str
    hint: str | None = None
    source_line: str = ""
    notes: tuple[Note, ...] = ()

    def __str__(self) -> str:
        return render(self)


class ProgramError(WhenceError):
    """A program that cannot be compiled. `diagnostics` are its errors, in the order of the text."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        return "\n".join(render(diagnostic) for diagnostic in self.diagnostics)


class Report:
    """The diagnostics of one compilation. Saying the same thing twice about one place says it once."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.warnings: list[Diagnostic] = []
        self.failed = False
        self.not_yet: set[str] = set()  # what was told to be missing from the language, see `not_yet`
        self._errors: dict[tuple[int, str], Diagnostic] = {}
        self._warned: set[tuple[int, str]] = set()
        self._dropped = 0
        self._dropped_warnings = 0

    @property
    def full(self) -> bool:
        """Whether a further error would only be counted, so that its hint need not be worked out."""
        return len(self._errors) >= SHOWN_ERRORS

    def note(self, start: int, end: int, message: str) -> Note:
        span = self.source.span(start, end)
        return Note(span, _shown(message), self.source.line(span.line))

    def error(self, start: int, end: int, message: str, hint: str | None = None, notes: tuple[Note, ...] = ()) -> None:
        self.failed = True
        if (start, message) in self._errors:
            return
        if self.full:
            self._dropped += 1
            return
        self._errors[start, message] = self._diagnostic("error", start, end, message, hint, notes)

    def warning(self, start: int, end: int, message: str, hint: str | None = None) -> None:
        if (start, message) in self._warned:
            return
        if len(self.warnings) >= SHOWN_ERRORS:
            self._dropped_warnings += 1
            return
        self._warned.add((start, message))
        self.warnings.append(self._diagnostic("warning", start, end, message, hint, ()))

    def _diagnostic(
        self,
        severity: OneOf["error", "warning"],
        start: int,
        end: int,
        message: str,
        hint: str | None,
        notes: tuple[Note, ...],
    ) -> Diagnostic:
        span = self.source.span(start, max(start, end))
        return Diagnostic(severity, span, _shown(message), hint and _shown(hint), self.source.line(span.line), notes)

    def errors(self) -> list[Diagnostic]:
        return _in_order(self._errors.values(), self._dropped)

    def sorted_warnings(self) -> list[Diagnostic]:
        return _in_order(self.warnings, self._dropped_warnings)


def _in_order(diagnostics: Iterable[Diagnostic], dropped: int) -> list[Diagnostic]:
    found = sorted(diagnostics, key=_position)
    if dropped:
        last = found[-1]
        rest = f"and {dropped} more {last.severity}s that are not shown"
        found.append(Diagnostic(last.severity, last.span, rest, source_line=last.source_line))
    return found


def _shown(text: str) -> str:
    return text if len(text) <= SHOWN_MESSAGE else text[:SHOWN_MESSAGE] + "…"


def _position(diagnostic: Diagnostic) -> tuple[int, int]:
    return (diagnostic.span.line, diagnostic.span.column)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The name that someone who wrote `name` may have meant."""
    names = list(known)
    same = next((other for other in names if other.lower() == name.lower()), None)
    if same is not None or len(name) > COMPARED_LENGTH:
        return same
    from difflib import get_close_matches  # only the unlucky pay for it

    near = get_close_matches(name, names[:COMPARED_NAMES], 1, 0.5)
    return near[0] if near else None


def did_you_mean(name: str, known: Iterable[str], otherwise: str | None = None, mark: str = "") -> str | None:
    near = nearest(name, known)
    return otherwise if near is None else f"did you mean `{mark}{near}`?"


def render(diagnostic: Diagnostic) -> str:
    """`file:line:column: error: message`, the line, a caret under the place, notes, and the hint."""
    lines = [f"{diagnostic.span}: {diagnostic.severity}: {_printable(diagnostic.message)}"]
    lines += _excerpt(diagnostic.span, diagnostic.source_line)
    for note in diagnostic.notes:
        lines.append(f"{note.span}: note: {_printable(note.message)}")
        lines += _excerpt(note.span, note.source_line)
    if diagnostic.hint:
        lines.append(f"hint: {_printable(diagnostic.hint)}")
    return "\n".join(lines)


def _excerpt(span: Span, line: str) -> list[str]:
    if not line.strip():
        return []
    start = min(span.column - 1, len(line))
    end = min(span.end_column - 1, len(line)) if span.end_line == span.line else len(line.rstrip())
    line, start, end = _cut(line, start, max(end, start))
    # Tabs stay tabs in the line of the caret, so that it lines up whatever a tab is worth.
    before = "".join("\t" if character == "\t" else " " * _width(character) for character in line[:start])
    marked = sum(_width(character) for character in line[start:end])
    return [INDENT + _printable(line), INDENT + before + "^" * max(1, marked)]


def _cut(line: str, start: int, end: int) -> tuple[str, int, int]:
    if len(line) <= SHOWN_WIDTH:
        return line, start, end
    first = max(0, min(start - SHOWN_WIDTH // 3, len(line) - SHOWN_WIDTH))
    last = first + SHOWN_WIDTH
    head = "…" if first else ""
    tail = "…" if last < len(line) else ""
    shift = len(head) - first
    return head + line[first:last] + tail, start + shift, min(end, last) + shift


def _width(character: str) -> int:
    """How many columns of a terminal a character takes."""
    if character < "\u0300":
        return 1
    from unicodedata import category, east_asian_width

    if category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(character) in ("W", "F") else 1


def _printable(text: str) -> str:
    """`text` with what a terminal or an encoder could choke on replaced, one character for one."""
    if text.isprintable():
        return text
    return "".join(_safe(character) for character in text)


def _safe(character: str) -> str:
    if character == "\t" or character.isprintable() or _width(character) == 0:
        return character
    return "\ufffd"
