"""Text to tokens: one regular expression, three parallel lists.

A token is an index into the lists; no object is made for it, because a program text may hold a million of them. The
kind of an operator, a reserved word or a directive is its own text; other kinds are `name`, `number`, `string`, `bad`
(already reported; a parser that meets it stays silent) and `end`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from whence.lang.diagnostics import Report
from whence.lang.not_yet import not_yet

DIRECTIVES = (
    "decl", "type", "input", "output", "printsize", "limitsize", "plan", "symbol_type", "number_type", "pragma",
    "comp", "init", "functor", "override", "include", "once", "lattice",
)  # fmt: skip

# Words of Soufflé's scanner that cannot name a relation, a variable, a column or a type.
RESERVED = frozenset(
    (
        "autoinc", "band", "bor", "bxor", "bnot", "bshl", "bshr", "bshru", "land", "lor", "lxor", "lnot", "match",
        "mean", "cat", "ord", "fold", "range", "strlen", "substr", "stateful", "contains", "output", "input",
        "overridable", "printsize", "eqrel", "inline", "no_inline", "magic", "no_magic", "brie", "btree_delete",
        "btree", "min", "max", "as", "nil", "count", "sum", "true", "false", "to_float", "to_number", "to_string",
        "to_unsigned", "__FILE__", "__LINE__", "__INCL__", "__ITERATION__",
    )
)  # fmt: skip

_TOKEN = re.compile(
    r"""
    [ \t\r\n\v\f]+ | //[^\n]* | /\*.*?\*/
  | ([A-Za-z_?][A-Za-z0-9_?]*)                                                        # 1 name
  | (\.(?:"""
    + "|".join(DIRECTIVES)
    + r""")(?![A-Za-z0-9_?(.]) | :- | <= | >= | != | <: | -> | /(?!\*)
    | [-+*%^()\[\]{},:;.=<>!|$@])                                                      # 2 operator or directive
  | ([0-9]+\.[0-9]+\.[0-9]+\.[0-9]+ | [0-9]+\.[0-9]+[A-Za-z_?0-9]* | [0-9][A-Za-z_?0-9]*)  # 3 number
  | ("[^"\\]*(?:\\.[^"\\]*)*")                                                        # 4 string
  | ("[^\n]* | '[^'\n]*' | /\*.* | \#[^\n]* | (?:[^\x00-\x7f])+ | .)                   # 5 bad
    """,
    re.VERBOSE | re.DOTALL,
)

_NAME, _OPERATOR, _NUMBER, _STRING = 1, 2, 3, 4

_ESCAPES = {
    '"': '"', "'": "'", "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
}  # fmt: skip
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")


class Tokens(NamedTuple):
    """Kinds, texts and start offsets, side by side; the last token has kind `end`."""

    kinds: list[str]
    texts: list[str]
    starts: list[int]

    def end(self, index: int) -> int:
        return self.starts[index] + len(self.texts[index])


def tokenize(report: Report) -> Tokens:
    text = report.source.text
    kinds: list[str] = []
    texts: list[str] = []
    starts: list[int] = []
    for match in _TOKEN.finditer(text):
        group = match.lastindex
        if group is None:
            continue
        token = match[group]
        if group == _NAME:
            kinds.append(token if token in RESERVED or token == "_" else "name")
        elif group == _OPERATOR:
            kinds.append(token)
        elif group == _NUMBER:
            kinds.append("number")
        elif group == _STRING:
            kinds.append("string")
        else:
            kinds.append("bad")
            _report_bad(report, match.start(), token)
        texts.append(token)
        starts.append(match.start())
    kinds.append("end")
    texts.append("")
    starts.append(len(text))
    return Tokens(kinds, texts, starts)


def _report_bad(report: Report, start: int, token: str) -> None:
    first = token[0]
    if token.startswith("/*"):
        report.error(start, start + 2, "this comment is not closed", "a comment that starts with `/*` ends with `*/`")
    elif first == '"':
        report.error(start, start + len(token), "this string is not closed", 'a string ends with `"`')
    elif first == "#":
        not_yet(report, "preprocessor", start, start + len(token))
    elif first == "'":
        hint = f'strings are written in double quotes: "{token[1:-1] or "text"}"'
        report.error(start, start + len(token), "unexpected character `'`", hint)
    else:
        message = f"unexpected character {describe_character(first)}"
        report.error(start, start + len(token), message, _hint_for(first))


def _hint_for(character: str) -> str | None:
    if character in "“”„«»‘’":
        return 'strings are written in straight double quotes: "text"'
    if character in "&~":
        return "bit and logical operators are words: band, bor, bxor, bnot, land, lor, lxor, lnot"
    if character == "\\":
        return "a backslash belongs in strings; negation is written `!`"
    if not character.isascii() and character.isalpha():
        return "names are made of the letters a to z, digits, `_` and `?`; other letters belong in strings"
    return None


def describe_character(character: str) -> str:
    code = f"U+{ord(character):04X}"
    return f"`{character}` ({code})" if character.isprintable() else code


def string_value(report: Report, start: int, token: str) -> str:
    """The value of a string token, its escapes resolved as Soufflé's scanner does."""
    body = token[1:-1]
    wrong = _NOT_TEXT.search(body)
    if wrong is not None:
        at = start + 1 + wrong.start()
        report.error(at, at + 1, f"a string cannot hold the character {describe_character(wrong[0])}")
        return ""
    if "\\" not in body:
        return body

    def resolve(match: re.Match[str]) -> str:
        value = _ESCAPES.get(match[1])
        if value is None:
            at = start + 1 + match.start()
            known = "the escapes are \\\" \\' \\\\ \\a \\b \\f \\n \\r \\t \\v; a backslash itself is \\\\"
            report.error(at, at + 2, f"unknown escape sequence `\\{match[1]}`", known)
            return ""
        return value

    return _ESCAPE.sub(resolve, body)
