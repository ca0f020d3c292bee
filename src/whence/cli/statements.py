"""What is typed at the prompt: when it is complete, and what it is: a command, a change, a query."""

from __future__ import annotations

from typing import NamedTuple

from whence.lang.diagnostics import Report, Source
from whence.lang.signed import ITEMS, SIGNS
from whence.lang.tokens import tokenize

OPENING, CLOSING = frozenset("([{"), frozenset(")]}")
GOES_ON = frozenset([",", ";", ":-", "=", "!", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", ":", "|", "<:"])


class Statement(NamedTuple):
    """`kind` is `command`, `change` or `query`; `text` is without what only says so."""

    kind: str
    text: str


def is_complete(text: str, commands: frozenset[str]) -> bool:
    """Whether Enter ends the input, or begins a further line of it. An empty line ends whatever it is."""
    stripped = text.strip()
    if not stripped or text.endswith("\n") or is_command(stripped, commands):
        return True
    kinds, texts, _ = tokenize(Report(Source(stripped, "")))
    kinds = kinds[:-1]
    if not kinds:
        return True
    if kinds[-1] == "bad":  # nothing that follows makes it right, unless it is a comment that is not closed yet
        return not texts[-2].startswith("/*")
    depth = sum((kind in OPENING) - (kind in CLOSING) for kind in kinds)
    if depth > 0 or kinds[-1] in GOES_ON:
        return False
    if kinds[-1] == "." or stripped.endswith("?") or kinds[0] in ITEMS or kinds[0] == ".plan":
        return True
    return ":-" not in kinds and kinds[0] not in SIGNS


def is_command(text: str, commands: frozenset[str]) -> bool:
    """`:explain path(1, 2)`, or the same without the colon, as no rule has a name after a name."""
    if text.startswith(":") and not text.startswith(":-"):
        return True
    word, _, rest = text.partition(" ")
    return word in commands and not rest.lstrip().startswith(("(", ":-", ",", ".", "="))


def statement(text: str, commands: frozenset[str]) -> Statement | None:
    """None if there is nothing in the text."""
    text = text.strip()
    if not text:
        return None
    if is_command(text, commands):
        return Statement("command", text.removeprefix(":"))
    kinds = tokenize(Report(Source(text, ""))).kinds[:-1]
    if not kinds:
        return None
    if text.startswith("?-"):
        return Statement("query", text[2:].strip())
    if text.endswith("?"):
        return Statement("query", text[:-1].strip())
    if kinds[-1] == "." or kinds[0] in SIGNS or kinds[0][0] == "." or ":-" in kinds:
        return Statement("change", text)
    return Statement("query", text)
