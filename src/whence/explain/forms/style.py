"""Colours of a terminal, and how wide a text is there."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

CODES = {
    "derived": "1",  # bold
    "input": "32",  # green
    "constraint": "36",  # cyan
    "negation": "36",
    "aggregate": "36",
    "rule": "33",  # yellow
    "holds": "34",  # blue, as in the paper
    "fails": "31",  # red
    "open": "2",  # dim
    "dim": "2",
}


@dataclass(frozen=True)
class Text:
    """A piece of one line, with its width on a terminal; `content` may hold colours."""

    content: str
    width: int

    def __add__(self, other: Text) -> Text:
        return Text(self.content + other.content, self.width + other.width)

    def padded(self, width: int, left: int = 0) -> Text:
        return Text(" " * left + self.content + " " * (width - left - self.width), width)


@dataclass(frozen=True)
class Palette:
    colour: bool

    def __call__(self, text: str, style: str | None = None) -> Text:
        shown = f"\x1b[{CODES[style]}m{text}\x1b[0m" if self.colour and style and text else text
        return Text(shown, width_of(text))


def width_of(text: str) -> int:
    """Columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 or unicodedata.category(c) == "Cf" for c in text)


def wrapped(text: str, width: int) -> Iterator[str]:
    """Pieces of a text, none wider than `width`; broken at spaces where there are some."""
    width = max(8, width)
    while width_of(text) > width:
        end = _fitting(text, width)
        space = text.rfind(" ", width // 2, end + 1)
        end = space if space > 0 else end
        yield text[:end]
        text = text[end:].lstrip(" ")
    yield text


def _fitting(text: str, width: int) -> int:
    taken = 0
    for place, character in enumerate(text):
        taken += width_of(character)
        if taken > width:
            return max(1, place)
    return len(text)


def joined(lines: Iterable[Text]) -> str:
    return "\n".join(line.content.rstrip() for line in lines)
