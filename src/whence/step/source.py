"""Lifting (001, 6.2): a state in the words and at the place of the program as the user wrote it.

Several core rules may come of one clause; it is the clause that is shown, with the literal whose turn it is. Variables
that the compiler made up are left out, and parts that it added are passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any

from whence.engines.local.tables import LocalTables
from whence.explain.backward import types_of
from whence.lang.program import Atom, Column, Program, Span, Var
from whence.lang.query import ANSWER
from whence.plan.text import literal_text, made_up, term_text, value_text
from whence.step.rules import Ordered, Part, Place
from whence.step.state import Frame, State
from whence.step.value_table import ValueTable

THE_QUERY = "the query"


@dataclass(frozen=True)
class Shown:
    """A table with the names and values that a user knows; rows are decoded when they are asked for."""

    names: tuple[str, ...]
    table: ValueTable
    places: tuple[int, ...]
    columns: tuple[Column, ...]
    tables: LocalTables

    def __len__(self) -> int:
        return len(self.table)

    def rows(self, start: int = 0, count: int | None = None) -> list[tuple[Any, ...]]:
        chosen = self.table.rows[start : None if count is None else start + count]
        if not self.columns:
            return [()] * len(chosen)
        decode = self.tables.values.decode
        decoded = [decode(chosen[:, p], c.type, c.kind) for p, c in zip(self.places, self.columns, strict=True)]
        return list(zip(*decoded, strict=True))

    def __iter__(self) -> Any:
        return iter(self.rows())

    def __repr__(self) -> str:
        return f"<{', '.join(self.names)}: {len(self):,} rows>"


@dataclass(frozen=True)
class FrameShown:
    """A frame as the user sees it. `atom` is the literal whose turn it is, `place` where it or its rule stands;
    `bindings` is the supplementary table, `value` what the atom or the rule was just reduced to."""

    relation: str
    call: str
    arguments: Shown
    result: Shown
    bindings: Shown | None
    rule: str
    atom: str
    place: Span
    value: Shown | None
    iteration: int

    def __repr__(self) -> str:
        return f"<{self.call}, at {self.place}: {self.atom or self.rule or 'all rules are done'}>"


def span_within(origin: Span, text: str, place: Place) -> Span:
    """Where a part of a text is that begins at `origin`."""

    def position(offset: int) -> tuple[int, int]:
        before = text[:offset]
        line = before.count("\n")
        column = offset - before.rfind("\n") if line else origin.column + offset
        return origin.line + line, column

    (line, column), (end_line, end_column) = position(place[0]), position(place[1])
    return Span(origin.file, line, column, end_line, end_column)


class Source:
    """Shows the states of one query."""

    def __init__(self, program: Program, tables: LocalTables) -> None:
        self.program = program
        self.tables = tables
        self._types: dict[int, tuple[Ordered, dict[str, str]]] = {}
        self._columns = {name: tuple(c.type for c in one.columns) for name, one in program.relations.items()}

    # Frames

    def frames(self, stack: Iterable[Frame], start: int = 0, count: int | None = None) -> list[FrameShown]:
        """Frames of a stack; a call is shown as its caller has it."""
        last = None if count is None else start + count
        frames = list(islice(stack, start, None if last is None else last + 1))
        return [self.frame(one, caller) for one, caller in zip_longest(frames, frames[1:])][:count]

    def frame(self, frame: Frame, caller: Frame | None) -> FrameShown:
        ordered, part = frame.ordered, frame.current
        value: Shown | None = None
        if frame.returned is not None:
            value = self._of_columns(frame.relation, frame.result)
        elif frame.value is not None:
            value = self._of_columns(frame.relation, frame.value)
        elif frame.atom is not None and ordered is not None:
            value = self._of_variables(ordered, frame.atom, moved=True)
        return FrameShown(
            frame.relation if frame.relation != ANSWER else THE_QUERY,
            self.call(frame, caller),
            self._of_columns(frame.relation, frame.arguments),
            self._of_columns(frame.relation, frame.result),
            None if ordered is None else self._of_variables(ordered, frame.supplementary),
            "" if ordered is None else self.rule_text(ordered),
            "" if ordered is None or part is None else self.part_text(ordered, part),
            self.place(frame),
            value,
            frame.iteration,
        )

    def call(self, frame: Frame, caller: Frame | None) -> str:
        """The call of a frame with the values of its arguments, if there is one of each."""
        if frame.relation == ANSWER:
            return THE_QUERY
        atom = frame.part.atom
        assert atom is not None
        within = caller.ordered.rule if caller is not None and caller.ordered is not None else None
        names = made_up(within.body if within is not None else ())
        if len(frame.arguments) == 1:
            shown = self._of_columns(frame.relation, frame.arguments).rows()[0]
            values = dict(zip(frame.arguments.columns, map(value_text, shown), strict=True))
            inside = ", ".join(values.get(i) or term_text(term, names) for i, term in enumerate(atom.args))
            return f"{atom.relation}({inside})"
        return literal_text(atom, names)

    def place(self, frame: Frame) -> Span:
        """Of the literal whose turn it is, else of the rule, else of the relation's last rule."""
        ordered, part = frame.ordered, frame.current
        if ordered is None:
            ordered, part = frame.rules[-1], None
        if ordered.rule is None:
            return self.program.relations[frame.relation].origin
        if part is not None and part.place is not None:
            return span_within(ordered.rule.origin, ordered.rule.text, part.place)
        return ordered.rule.origin

    def rule_text(self, ordered: Ordered) -> str:
        return f"input of {ordered.relation}" if ordered.rule is None else ordered.rule.text

    def part_text(self, ordered: Ordered, part: Part) -> str:
        if ordered.rule is not None and part.place is not None:
            text = ordered.rule.text[part.place[0] : part.place[1]]
            return text if part.positive else f"!{text}"
        return literal_text(part.literal, made_up((part.literal,))) if ordered.rule is not None else ""

    # Tables

    def relation(self, name: str, table: ValueTable) -> Shown:
        return self._of_columns(name, table)

    def answer(self, state: State, atom: Atom, names: Sequence[str]) -> Shown:
        """The values of the query's variables."""
        assert state.answer is not None
        declared = self.program.relations[atom.relation].columns
        columns = []
        for name in state.answer.columns:
            column = declared[atom.args.index(name)]
            columns.append(column)
        return Shown(tuple(names), state.answer, tuple(range(len(columns))), tuple(columns), self.tables)

    def _of_columns(self, relation: str, table: ValueTable) -> Shown:
        declared = self.program.relations[relation].columns
        columns = tuple(declared[column] for column in table.columns if isinstance(column, int))
        return Shown(tuple(c.name for c in columns), table, tuple(range(len(columns))), columns, self.tables)

    def _of_variables(self, ordered: Ordered, table: ValueTable, moved: bool = False) -> Shown:
        """A table by the user's variables; with `moved` also by the terms that other variables stand for."""
        types = self.types(ordered)
        terms = made_up(ordered.rule.body) if moved and ordered.rule is not None else {}
        names, places, columns = [], [], []
        for place, variable in enumerate(table.columns):
            if not isinstance(variable, Var) or (" " in variable.name and variable.name not in terms):
                continue
            if variable.kind == "record" and variable.name not in types:
                continue
            names.append(terms.get(variable.name, variable.name))
            places.append(place)
            columns.append(Column(variable.name, types.get(variable.name, variable.kind), variable.kind))
        return Shown(tuple(names), table, tuple(places), tuple(columns), self.tables)

    def types(self, ordered: Ordered) -> dict[str, str]:
        """The types of the variables of a rule that are records."""
        found = self._types.get(id(ordered))
        if found is None:
            literals = [part.literal for part in ordered.parts if ordered.rule is not None]
            head = Atom(ordered.relation, ordered.head)
            types = types_of(head, literals, self._columns, dict(self.program.types))
            found = self._types[id(ordered)] = ordered, types
        return found[1]
