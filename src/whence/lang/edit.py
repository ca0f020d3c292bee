"""The text of a program edited: clauses, declarations and directives come at its end, or are taken out where they are.

The rest of the text stays as its user wrote it, comments included. What is wrong with the program that comes of it is
told where the edit was written. A clause that is to be removed is found by its syntax: names of variables, spaces and
a `.plan` do not matter. Of equal ones the last is removed.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from whence.errors import WhenceError
from whence.lang import program as core
from whence.lang import syntax
from whence.lang.compiler import compile_source
from whence.lang.diagnostics import Diagnostic, Note, ProgramError, Report, Source
from whence.lang.parser import Parser
from whence.lang.tokens import tokenize

PLACES = frozenset(["start", "end", "name_end", "type_start", "type_end", "key_start", "word", "plan"])
NEAR = 0.4  # how alike two items are, of 1, so that one may have been meant by the other


class Item(NamedTuple):
    """A clause, a declaration or a directive, with what it says. `key` tells whether two are the same."""

    start: int
    end: int
    key: tuple[Any, ...]
    what: str  # `rule`, `fact`, or the word it begins with


class Edit(NamedTuple):
    """An item of a change's text that is to be added (`+`) or removed (`-`)."""

    inserts: bool
    item: Item


class ItemReader(Parser):
    """Reads a program item by item, and keeps where each is."""

    def __init__(self, report: Report) -> None:
        super().__init__(report, tokenize(report))
        self.items: list[Item] = []

    def item(self) -> None:
        start, word = self.here(), self.kind
        found: tuple[Sequence[object], ...] = (self.types, self.relations, self.clauses, self.directives)
        before = [len(nodes) for nodes in found]
        super().item()
        if word == ".plan":
            last = self.items[-1]
            self.items[-1] = last._replace(end=self.behind())
            return
        nodes = [node for nodes, size in zip(found, before, strict=True) for node in nodes[size:]]
        what = word
        if word == "name":
            what = "fact" if self.clauses[-1].body is None else "rule"
        self.items.append(Item(start, self.behind(), tuple(map(shape, nodes)), what))


def shape(node: object) -> Hashable:
    """What a piece of syntax says, without its place and the names of its variables."""
    return _shape(node, {})


def _shape(node: object, names: dict[str, int]) -> Hashable:
    if isinstance(node, syntax.Variable):
        return "variable", names.setdefault(node.name, len(names))
    if isinstance(node, tuple) and hasattr(node, "_fields"):
        parts = (_shape(part, names) for name, part in zip(node._fields, node, strict=True) if name not in PLACES)
        return type(node).__name__, *parts
    if isinstance(node, tuple):
        return tuple(_shape(part, names) for part in node)
    return node.hex() if isinstance(node, float) else node


def edited(
    program: core.Program, edits: Sequence[Edit], report: Report, lenient: bool = False
) -> tuple[core.Program | None, int]:
    """The program after some edits, whose text is the report's; how many were left out because they change nothing.

    None if an edit is wrong, which is then reported. If the program that comes of them is, a `ProgramError` is raised.
    """
    if program.text is None:
        raise WhenceError("the program has no text that could be changed: make it with `compile_text` or `load`")
    reader = ItemReader(Report(Source(program.text, program.file)))
    reader.program()
    left, removed, added, ignored = list(reader.items), [], [], 0
    for inserts, item in edits:
        if inserts:
            continue
        same = [one for one in left if _means(item, one)]
        if same:
            left.remove(same[-1])
            removed.append(same[-1])
        elif lenient:
            ignored += 1
        else:
            _missing(item, left, program.text, report)
    there = {item.key for item in (*left, *removed)}
    for inserts, item in edits:
        if inserts and item.key in there:
            if not lenient:
                report.error(item.start, item.end, *_twice(item, removed))
            ignored += 1
        elif inserts:
            added.append(item)
            there.add(item.key)
    if report.failed:
        return None, ignored
    if not added and not removed:
        return program, ignored
    text = _without(program.text, removed) + "".join(report.source.text[i.start : i.end] + "\n" for i in added)
    try:
        return compile_source(Source(text, program.file), None), ignored
    except ProgramError as error:
        raise _told_where_it_was_written(error, program, removed, added, report.source) from None


def _twice(item: Item, removed: Sequence[Item]) -> tuple[str, str]:
    if any(item.key == one.key for one in removed):
        return f"this {_called(item)} is both added and removed", "do one"
    return f"this {_called(item)} is in the program already", "leave it out, or use lenient"


def _means(item: Item, other: Item) -> bool:
    """Whether an item is the other one, or names what the other declares."""
    return item.key == other.key or (item.what == other.what and item.key == _declared(other))


def _declared(item: Item) -> Hashable:
    """What is left of a declaration when only its name is given."""
    return tuple((part[0], part[1]) for part in item.key) if item.what in (".decl", ".type") else None


def _called(item: Item) -> str:
    return item.what if item.what in ("rule", "fact") else f"`{item.what}`"


def _missing(item: Item, items: Sequence[Item], text: str, report: Report) -> None:
    wanted = report.source.text[item.start : item.end]
    texts = [" ".join(text[one.start : one.end].split()) for one in items if one.what == item.what]
    name = wanted.partition("(")[0]
    likeness = {one: SequenceMatcher(None, wanted, one).ratio() + one.startswith(f"{name}(") for one in texts}
    best = max(texts, key=lambda one: likeness[one], default=None)
    hint = f"the nearest is: {best}" if best is not None and likeness[best] > NEAR else "see the text of the program"
    report.error(item.start, item.end, f"there is no such {_called(item)} in the program", hint)


# Text


def _without(text: str, items: Sequence[Item]) -> str:
    """The text without some items; a line on which nothing is left goes too."""
    for item in sorted(items, reverse=True):
        start, end = item.start, item.end
        first = text.rfind("\n", 0, start) + 1
        last = text.find("\n", end)
        last = len(text) if last < 0 else last + 1
        if not text[first:start].strip() and not text[end:last].strip():
            start, end = first, last
        text = text[:start] + text[end:]
    return text if not text or text.endswith("\n") else text + "\n"


def _blank(text: str) -> str:
    return "".join(character if character == "\n" else " " for character in text)


def _told_where_it_was_written(
    error: ProgramError, program: core.Program, removed: Sequence[Item], added: Sequence[Item], source: Source
) -> ProgramError:
    """The same errors, found once more in a text in which every line of the program and of the edit is where it was."""
    text = program.text or ""
    for item in removed:
        text = text[: item.start] + _blank(text[item.start : item.end]) + text[item.end :]
    text += "\n"
    lines, behind, place = text.count("\n"), "", 0
    for item in sorted(added):
        behind += _blank(source.text[place : item.start]) + source.text[item.start : item.end]
        place = item.end
    try:
        compile_source(Source(text + behind, program.file), None)
    except ProgramError as found:
        return ProgramError(_moved(diagnostic, lines, source) for diagnostic in found.diagnostics)
    return error


def _moved(diagnostic: Diagnostic, lines: int, source: Source) -> Diagnostic:
    notes = tuple(
        Note(_moved_span(note.span, lines, source), note.message, _line(note.span, note.source_line, lines, source))
        for note in diagnostic.notes
    )
    line = _line(diagnostic.span, diagnostic.source_line, lines, source)
    span = _moved_span(diagnostic.span, lines, source)
    return Diagnostic(diagnostic.severity, span, diagnostic.message, diagnostic.hint, line, notes)


def _moved_span(span: core.Span, lines: int, source: Source) -> core.Span:
    if span.line <= lines:
        return span
    return core.Span(source.file, span.line - lines, span.column, span.end_line - lines, span.end_column)


def _line(span: core.Span, line: str, lines: int, source: Source) -> str:
    return line if span.line <= lines else source.line(span.line - lines)
