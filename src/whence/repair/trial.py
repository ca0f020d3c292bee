"""Choices of parts tried on the incremental engine: what a change leaves once some of it is taken back.

A trial is an Update that is given up again, so the session stays as it was. Every answer has passed one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from whence.engines.local.changing import is_input
from whence.engines.local.kernel.layout import NOW
from whence.engines.local.revision import LocalRevision
from whence.engines.local.table import Rows
from whence.engines.local.trying import beside, tried
from whence.explain.backward import backward
from whence.explain.conjunction import FAILURES, Conjunction
from whence.explain.search import Key, as_rows
from whence.explain.state import Flags, InMemory
from whence.maintain import Controller, Policy
from whence.plan import View
from whence.repair.change import Epochs, Part, undoing


class OutOfTime(Exception):
    """The time that a repair may take is over."""


TRYING = Policy("update")  # a stratum that is evaluated anew would lose its indexes


@dataclass(frozen=True)
class Pattern:
    """A set of tuples: those of a relation with these values (None is any) and with equal values in some columns."""

    relation: str
    columns: tuple[int | None, ...]
    same: tuple[tuple[int, int], ...]
    text: str

    def among(self, rows: Rows) -> Flags:
        chosen = np.ones(len(rows), np.bool_)
        for column, value in enumerate(self.columns):
            if value is not None:
                chosen &= rows[:, column] == value
        for one, other in self.same:
            chosen &= rows[:, one] == rows[:, other]
        return chosen


@dataclass(frozen=True)
class Wishes:
    """What has to hold: tuples that are absent, tuples that are present, and patterns that nothing matches which did
    not match before the change."""

    absent: frozenset[Key]
    present: frozenset[Key]
    barred: tuple[Pattern, ...] = ()


@dataclass(frozen=True)
class Failure:
    """What does not hold: tuples that are there and should not be, and the other way round."""

    there: frozenset[Key]
    missing: frozenset[Key]

    def __bool__(self) -> bool:
        return bool(self.there or self.missing)


@dataclass
class Laboratory:
    """Where choices are tried. `tried` counts the Updates that this took."""

    epochs: Epochs
    controller: Controller
    deadline: float = float("inf")
    tried: int = 0
    _arities: dict[str, int] = field(default_factory=dict)
    _rules: dict[int, Conjunction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        program = self.epochs.tables.program
        self._arities = {name: relation.arity for name, relation in program.relations.items()}

    @property
    def left(self) -> float:
        """Seconds until the time is over."""
        return self.deadline - time.monotonic()

    def alarm(self) -> None:
        if time.monotonic() > self.deadline:
            raise OutOfTime

    @contextmanager
    def timed(self) -> Iterator[None]:
        """While the kernel works, the time is looked at too."""
        tables = self.epochs.tables
        before = tables.tick

        def tick() -> None:
            before()
            self.alarm()

        tables.tick = tick
        try:
            yield
        finally:
            tables.tick = before

    @contextmanager
    def without(self, parts: Collection[Part], only: Collection[str] | None = None) -> Iterator[LocalRevision]:
        """The current epoch without some parts of the change; relations that are not in `only` may stay as they are."""
        self.alarm()
        self.tried += 1
        inputs = undoing(parts, self._arities)
        with self.timed(), tried(self.epochs.tables, self.controller, inputs, TRYING, only) as revision:
            yield revision

    @contextmanager
    def both(self, relations: Collection[str], exact: bool = True) -> Iterator[None]:
        """Both epochs side by side, as far as these relations go."""
        with beside(self.epochs.tables, self.epochs.read_by(relations), exact):
            yield

    def failure(self, wishes: Wishes, revision: LocalRevision, only: Collection[str] | None = None) -> Failure:
        """What does not hold in a trial. Of relations that it left as they were, the tuples in question are derived."""
        present = self._present((*wishes.absent, *wishes.present), only)
        there = {key for key in wishes.absent if key in present}
        for pattern in wishes.barred:
            rows = revision.rows_of(pattern.relation, View.GAINED)
            rows = rows[pattern.among(rows)]
            new = rows[~self.epochs.went(pattern.relation).has(rows)]
            there |= {(pattern.relation, tuple(row)) for row in new.tolist()}
        return Failure(frozenset(there), frozenset(key for key in wishes.present if key not in present))

    def _present(self, keys: Collection[Key], only: Collection[str] | None) -> set[Key]:
        """Those of these tuples that are there."""
        found: set[Key] = set()
        by_relation: dict[str, list[Key]] = {}
        for key in keys:
            by_relation.setdefault(key[0], []).append(key)
        for name, group in by_relation.items():
            rows = as_rows([row for _, row in group], self._arities[name])
            revised = only is None or name in only
            there = self._kept(name, rows) if revised else self._derived(name, rows)
            found.update(key for key, is_there in zip(group, there.tolist(), strict=True) if is_there)
        return found

    def _kept(self, name: str, rows: Rows) -> Flags:
        """Which rows are in a relation's table."""
        table = self.epochs.tables.stored[name].table
        places = table.locate(rows.reshape(-1), len(rows))
        there: Flags = places >= 0
        if table.stamped:
            there[there] = (table.stamps[places[there]] & NOW) != 0
        return there

    def _derived(self, name: str, rows: Rows) -> Flags:
        """Which rows are input or follow by a rule from other relations as they are now."""
        there = is_input(self.epochs.tables.stored[name], rows)
        for rule in self.epochs.tables.program.rules:
            if rule.head.relation == name and not there.all():
                if id(rule) not in self._rules:
                    read = backward(rule)
                    self._rules[id(rule)] = Conjunction(InMemory(self.epochs.tables), read.literals, read.given)
                conjunction = self._rules[id(rule)]
                try:
                    for block in conjunction.run(rows):
                        there[block[:, 0]] = True
                        if there.all():
                            break
                except FAILURES:
                    there[conjunction.careful(rows)[:, 0]] = True
        return there

    def holds_without(self, parts: Collection[Part], wishes: Wishes, only: Collection[str] | None = None) -> bool:
        with self.without(parts, only) as revision:
            return not self.failure(wishes, revision, only)


def delta_debugging(parts: Sequence[Part], test: Callable[[Sequence[Part]], bool]) -> list[Part]:
    """A small subset of parts that passes a test which all of them pass (002, Alg. 3): no part alone can be spared,
    if supersets of what passes pass too."""
    parts = list(parts)
    pieces = 2
    while len(parts) > 1:
        bounds = [len(parts) * i // pieces for i in range(pieces + 1)]
        divided = [parts[start:stop] for start, stop in pairwise(bounds)]
        smaller = next((piece for piece in divided if test(piece)), None)
        if smaller is not None:
            parts, pieces = smaller, 2
            continue
        complements = [[part for part in parts if part not in set(piece)] for piece in divided] if pieces > 2 else []
        smaller = next((rest for rest in complements if test(rest)), None)
        if smaller is not None:
            parts, pieces = smaller, max(2, pieces - 1)
        elif pieces < len(parts):
            pieces = min(len(parts), 2 * pieces)
        else:
            break
    return parts
