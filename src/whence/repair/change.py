"""The change between two epochs as parts, each of which may be left out: tuples of the input, and rules.

A rule is a part by its guard (002, 6.4.4): an input relation without columns whose one tuple switches the rule on. So
whatever reasons about parts sees tuples only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from typing import Literal as OneOf

import numpy as np

from whence.changes import tuple_text
from whence.engines.local.revision import Input
from whence.engines.local.tables import LocalTables
from whence.engines.local.trying import Difference, Differences
from whence.explain.search import Key, as_rows


@dataclass(frozen=True)
class Part:
    """What a change did to one tuple of the input, or to one rule. `key` is the tuple, or that of the rule's guard."""

    kind: OneOf["tuple", "rule"]
    inserted: bool
    key: Key
    values: tuple[Any, ...]
    text: str

    @property
    def signed(self) -> str:
        return f"{'+' if self.inserted else '-'} {self.text}"

    def to_json(self) -> dict[str, Any]:
        sign = "inserted" if self.inserted else "deleted"
        return {"kind": self.kind, "change": sign, "text": self.text}


def parts_of(inputs: Mapping[str, Input], tables: LocalTables, guards: Mapping[str, str] | None = None) -> list[Part]:
    """The parts of a change, in the order of the relations; `guards` has the text of each rule by its guard."""
    parts = []
    for name, relation in tables.program.relations.items():
        if name not in inputs:
            continue
        for inserted, rows in ((False, inputs[name].deleted), (True, inputs[name].inserted)):
            decoded = [tables.values.decode(rows[:, i], c.type, c.kind) for i, c in enumerate(relation.columns)]
            values = list(zip(*decoded, strict=True)) if decoded else [()] * len(rows)
            for row, one in zip(rows.tolist(), values, strict=True):
                key = (name, tuple(row))
                if guards and name in guards:
                    parts.append(Part("rule", inserted, key, (), guards[name]))
                else:
                    text = f"{tuple_text(relation, one, tables.program.types)}."
                    parts.append(Part("tuple", inserted, key, one, text))
    return parts


def undoing(parts: Iterable[Part], arities: Mapping[str, int]) -> dict[str, Input]:
    """The change of the input that takes these parts back."""
    sides: dict[str, tuple[list[tuple[int, ...]], list[tuple[int, ...]]]] = {}
    for part in parts:
        sides.setdefault(part.key[0], ([], []))[part.inserted].append(part.key[1])
    return {
        name: Input(as_rows(back, arities[name]), as_rows(out, arities[name])) for name, (back, out) in sides.items()
    }


def in_turn(changes: Sequence[Mapping[str, Input]], tables: LocalTables) -> dict[str, Input]:
    """Changes one after the other as a single one; what is put back is left out."""
    if len(changes) == 1:
        return dict(changes[0])
    last: dict[str, dict[tuple[int, ...], bool | None]] = {}
    for change in changes:
        for name, given in change.items():
            known = last.setdefault(name, {})
            for inserts, rows in ((False, given.deleted), (True, given.inserted)):
                for row in map(tuple, rows.tolist()):
                    known[row] = None if known.get(row) is (not inserts) else inserts
    found = {}
    for name, known in last.items():
        sides = [[row for row, inserts in known.items() if inserts is side] for side in (True, False)]
        arity = tables.program.relations[name].arity
        if any(sides):
            found[name] = Input(*(as_rows(side, arity) for side in sides))
    return found


class Members:
    """A set of tuples of a relation, looked up many at once."""

    def __init__(self, tables: LocalTables, rows: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        from whence.engines.local.table import Table

        self._table = Table(tables.kernel, rows.shape[1], counted=False)
        self._table.insert(np.ascontiguousarray(rows).reshape(-1), len(rows))

    def __len__(self) -> int:
        return len(self._table)

    def has(self, rows: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        if not len(self._table):
            return np.zeros(len(rows), np.bool_)
        return self._table.locate(np.ascontiguousarray(rows).reshape(-1), len(rows)) >= 0


class Epochs:
    """Two epochs of the same tables: the current one and the one before, which differ by a change."""

    def __init__(self, tables: LocalTables, parts: Sequence[Part], differences: Differences) -> None:
        self.tables = tables
        self.parts = tuple(parts)
        self.differences = differences
        self.part_of = {part.key: part for part in parts}
        self._sides: dict[tuple[str, str], Members] = {}

    def difference(self, relation: str) -> Difference:
        if relation not in self.differences:
            none = np.empty((0, self.tables.program.relations[relation].arity), np.int64)
            return Difference(none, none)
        return self.differences[relation]

    def came(self, relation: str) -> Members:
        """Tuples that only the current epoch has."""
        return self._side(relation, "came")

    def went(self, relation: str) -> Members:
        """Tuples that only the epoch before had."""
        return self._side(relation, "went")

    def changed_input(self, relation: str) -> Members:
        return self._side(relation, "input")

    def _side(self, relation: str, side: str) -> Members:
        known = self._sides.get((relation, side))
        if known is None:
            if side == "input":
                arity = self.tables.program.relations[relation].arity
                rows = as_rows([key[1] for key in self.part_of if key[0] == relation], arity)
            else:
                rows = getattr(self.difference(relation), side)
            known = self._sides[relation, side] = Members(self.tables, rows)
        return known

    def read_by(self, relations: Collection[str]) -> Differences:
        return {name: one for name, one in self.differences.items() if name in relations}
