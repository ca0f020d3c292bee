"""The states of the machine: a stack of frames, what has been derived, which queries are active (001, fig. 3 and 6.1).

A state never changes, so going back is taking an earlier one. What has been derived is a table of the local engine to
which rows are only appended, and how many of them belong to the state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from whence.engines.local.table import Rows, Table
from whence.step.rules import Columns, Ordered, Part
from whence.step.value_table import ValueTable, among

Adorned = tuple[str, Columns]  # p_α: a relation and which of its columns are bound


@dataclass(frozen=True, eq=False)
class Known:
    """IDB(p): the first rows of a table."""

    table: Table
    size: int = 0

    @property
    def rows(self) -> Rows:
        return self.table.rows[: self.size]

    def holds(self, rows: Rows) -> bool:
        """Whether all of the rows are known."""
        found = self.table.locate(np.ascontiguousarray(rows).reshape(-1), len(rows))
        return bool(((found >= 0) & (found < self.size)).all())

    def with_rows(self, rows: Rows) -> Known:
        table = self.table
        if len(table) != self.size:  # another way was taken from here before; this one begins a table of its own
            table = Table(table.kernel, table.arity, counted=False)
            table.insert(self.rows.reshape(-1).copy(), self.size)
        table.insert(np.ascontiguousarray(rows).reshape(-1), len(rows))
        return Known(table, len(table))

    def grew_for(self, size: int, columns: Columns, arguments: ValueTable) -> bool:
        """Whether rows beyond the first `size` have these arguments."""
        later = self.rows[size:]
        return bool(len(later) and among(later[:, list(columns)], arguments.rows).any())


@dataclass(frozen=True, eq=False)
class Frame:
    """A subquery sq(p(t̄), v_q, v_r, v_sup, r ∨ …). `part` is the call as its caller has it.

    `rule` is the number of the current rule, or how many there are once all are done. `position` is that of its first
    atom; `atom` is the table that this atom was reduced to, `value` the one that the whole rule was. `returned` is what
    is left of the subquery when it is stable.
    """

    relation: str
    part: Part
    arguments: ValueTable
    pushed: ValueTable
    result: ValueTable
    supplementary: ValueTable
    rules: tuple[Ordered, ...]
    rule: int = 0
    position: int = 0
    atom: ValueTable | None = None
    value: ValueTable | None = None
    returned: ValueTable | None = None
    iteration: int = 1
    known: int = 0  # the size of IDB(p) when the iteration began

    @property
    def adorned(self) -> Adorned:
        return self.relation, self.part.columns

    @property
    def ordered(self) -> Ordered | None:
        """The current rule; None when all are done."""
        return self.rules[self.rule] if self.rule < len(self.rules) else None

    @property
    def current(self) -> Part | None:
        """The current atom, if it is one's turn."""
        ordered = self.ordered
        if ordered is None or self.value is not None or self.returned is not None:
            return None
        return ordered.parts[self.position] if self.position < len(ordered.parts) else None


@dataclass(frozen=True, eq=False)
class Stack:
    """Frames, the innermost on top."""

    top: Frame
    below: Stack | None = None

    @property
    def depth(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Frame]:
        stack: Stack | None = self
        while stack is not None:
            yield stack.top
            stack = stack.below


@dataclass(frozen=True, eq=False)
class Active:
    """Γ(p_α): the arguments of active queries, the latest first, and all of them together."""

    arguments: ValueTable
    together: Rows
    below: Active | None = None

    def __iter__(self) -> Iterator[ValueTable]:
        active: Active | None = self
        while active is not None:
            yield active.arguments
            active = active.below


@dataclass(frozen=True, eq=False)
class State:
    """`applied` is the reduction rule that led here; `answer` is what the first query was reduced to in the end."""

    stack: Stack | None
    known: Mapping[str, Known]
    active: Mapping[Adorned, Active] = field(default_factory=dict)
    answer: ValueTable | None = None
    applied: str = ""
    steps: int = 0

    @property
    def frame(self) -> Frame:
        assert self.stack is not None
        return self.stack.top

    @property
    def done(self) -> bool:
        return self.stack is None
