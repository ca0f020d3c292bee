"""A place in the tokens, and how to say what was expected there instead.

The parser proper is in two files on top of this one: `terms` reads arguments and bodies, `parser` whole items.
"""

from __future__ import annotations

from typing import NoReturn

from whence.lang.diagnostics import Report
from whence.lang.not_yet import not_yet
from whence.lang.tokens import RESERVED, Tokens

# Deeper terms are refused: what comes after the parser walks terms recursively, and so may anyone who gets a Program.
# Brackets nest the parser too, and so count for more than a further operand of `a + b + c`.
MAX_DEPTH = 200
BRACKET_DEPTH = 2
DEPTH_HINT = f"brackets may be nested {MAX_DEPTH // BRACKET_DEPTH} deep; name an inner part with a variable"


class SyntaxStop(Exception):
    """Ends the item being read; the reason is already reported."""


class Cursor:
    """A position in the tokens, moved forward by reading."""

    def __init__(self, report: Report, tokens: Tokens) -> None:
        self.report = report
        self.tokens = tokens
        self.kinds = tokens.kinds
        self.texts = tokens.texts
        self.starts = tokens.starts
        self.position = 0
        self.depth = 0

    # The token at hand

    @property
    def kind(self) -> str:
        return self.kinds[self.position]

    def here(self) -> int:
        return self.starts[self.position]

    def behind(self) -> int:
        """The end of the last token that was read."""
        return self.tokens.end(self.position - 1) if self.position else 0

    def take(self) -> str:
        text = self.texts[self.position]
        self.position += 1
        return text

    def accept(self, kind: str) -> bool:
        if self.kinds[self.position] == kind:
            self.position += 1
            return True
        return False

    def expect(self, kind: str, where: str, hint: str | None = None) -> None:
        if self.kinds[self.position] == kind:
            self.position += 1
        else:
            self.fail(f"expected `{kind}` {where}", hint)

    def adjacent(self) -> bool:
        """Whether the token at hand follows the last one without a gap."""
        return self.here() == self.behind()

    def name(self, what: str) -> str:
        if self.kind == "name":
            return self.take()
        word = self.texts[self.position]
        hint = f"`{word}` is a reserved word; choose another name" if word in RESERVED else None
        self.fail(f"expected {what}", hint)

    def qualified_name(self, what: str) -> str:
        name = self.name(what)
        while self.kind == "." and self.adjacent() and self.kinds[self.position + 1] == "name":
            if self.starts[self.position + 1] != self.here() + 1:
                break
            self.position += 1
            name += "." + self.take()
        return name

    # Errors

    def fail(self, message: str, hint: str | None = None) -> NoReturn:
        """Reports that something else was expected than the token at hand."""
        if self.kind == "bad":
            raise SyntaxStop
        start, end = self.here(), self.tokens.end(self.position)
        found = "the end of the text" if self.kind == "end" else f"`{_shorten(self.texts[self.position])}`"
        text = self.report.source.text
        if self.position and (self.kind == "end" or "\n" in text[self.behind() : start]):
            # What is missing is missing where the last line ended, not where the next begins.
            start = end = self.behind()
        if hint is None:
            hint = self.usual_mistake()
        self.report.error(start, end, f"{message}, found {found}", hint)
        raise SyntaxStop

    def refuse(self, start: int, end: int, message: str, hint: str | None = None) -> NoReturn:
        self.report.error(start, end, message, hint)
        raise SyntaxStop

    def not_yet(self, feature: str, start: int, end: int) -> None:
        """Tells that something is not supported yet; reading goes on behind it."""
        not_yet(self.report, feature, start, end)

    def unsupported(self, feature: str, start: int, end: int) -> NoReturn:
        not_yet(self.report, feature, start, end)
        raise SyntaxStop

    def usual_mistake(self) -> str | None:
        """A hint for what people from other languages write."""
        kind, last = self.kind, self.position - 1
        before = self.kinds[last] if last >= 0 else ""
        pair = self.texts[last] + self.texts[self.position] if last >= 0 else ""
        if before == "string" and "\n" in self.texts[last]:
            line = self.report.source.span(self.starts[last], self.starts[last]).line
            return f'the string that begins on line {line} runs over several lines: is a `"` missing?'
        ahead = self.texts[self.position] + self.texts[min(self.position + 1, len(self.texts) - 1)]
        if pair == "==" and self.adjacent():
            return "equality is written `=`"
        if pair == "<>" and self.adjacent():
            return "inequality is written `!=`"
        if ":=" in (pair, ahead) or "<-" in (pair, ahead):
            return "a rule is written `head :- body.`"
        if before == "name" and self.texts[last] in ("not", "NOT") and kind in ("name", "("):
            return "negation is written `!`"
        if kind == "name" and self.texts[self.position] in ("and", "AND", "or", "OR"):
            return "conjunction is written `,` and disjunction `;`"
        if before == "," and kind in (".", ",", ";", ")", "]", "}"):
            return f"remove the `,` in front of `{kind}`"
        if kind == "." and "number" in (before, self.kinds[self.position + 1]):
            return "a float has digits on both sides of its point: 1.0, 0.5"
        return None

    def deeper(self, levels: int = BRACKET_DEPTH) -> None:
        self.depth += levels
        if self.depth > MAX_DEPTH:
            self.refuse(self.here(), self.tokens.end(self.position), "this is nested too deeply", DEPTH_HINT)


def _shorten(text: str) -> str:
    line = text.split("\n", 1)[0]
    return line if len(line) <= 40 and line == text else line[:40] + "…"
