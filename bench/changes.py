"""Changes of an input, epoch after epoch, made from a seed: what is deleted and inserted, by relation.

Tuples that are to be inserted are held back from the first input, so that they are new when they come.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.graphs import Facts, Table


@dataclass(frozen=True)
class Change:
    insert: Facts
    delete: Facts

    def __len__(self) -> int:
        return sum(map(len, [*self.insert.values(), *self.delete.values()]))


@dataclass(frozen=True)
class History:
    """A first input, and what is done to it."""

    first: Facts
    changes: tuple[Change, ...]

    @property
    def last(self) -> Facts:
        """The input after all changes."""
        facts = dict(self.first)
        for change in self.changes:
            for name, rows in change.delete.items():
                facts[name] = without(facts[name], rows)
            for name, rows in change.insert.items():
                facts[name] = np.concatenate([facts[name], rows])
        return facts


def without(table: Table, rows: Table) -> Table:
    """A table without some of its rows."""
    gone = set(map(tuple, rows.tolist()))
    alike = np.flatnonzero(np.isin(table[:, 0], rows[:, 0]))
    return np.delete(table, [i for i in alike.tolist() if tuple(table[i].tolist()) in gone], axis=0)


def elastic_workload(facts: Facts, small: int, large: int, seed: int, again: bool = False) -> History:
    """The paper's (002 section 5.6.2): six small changes, a large one, four small ones, a large one.

    Deletions and insertions take turns. The second large change inserts what the first deleted: as much held back from
    the start would make another graph of a graph. Small ones insert new tuples, or what was deleted just before where
    it is to come `again`.
    """
    parts = Parts(facts, seed)
    pairs = [(parts.take(small), parts.take(small)) for _ in range(5)]
    many = parts.take(large)
    changes = []
    for deleted, other in pairs:
        changes += [Change({}, deleted), Change(deleted if again else other, {})]
    changes.insert(6, Change({}, many))
    changes.append(Change(many, {}))
    return History(facts if again else held_back(facts, [other for _, other in pairs]), tuple(changes))


def held_back(facts: Facts, parts: Iterable[Facts]) -> Facts:
    """Facts without those that are to come later."""
    first = dict(facts)
    for part in parts:
        for name, rows in part.items():
            first[name] = without(first[name], rows)
    return first


class Parts:
    """Tuples of all relations at random, each handed out once."""

    def __init__(self, facts: Facts, seed: int) -> None:
        self.facts = facts
        self.owner = np.repeat(np.arange(len(facts)), [len(table) for table in facts.values()])
        self.row = np.concatenate([np.arange(len(table)) for table in facts.values()])
        self.order = np.random.default_rng(seed).permutation(len(self.owner))

    def take(self, count: int) -> Facts:
        part, self.order = np.sort(self.order[:count]), self.order[count:]
        chosen = {
            name: table[self.row[part[self.owner[part] == i]]] for i, (name, table) in enumerate(self.facts.items())
        }
        return {name: table for name, table in chosen.items() if len(table)}


def there_and_back(facts: Facts, relation: str, size: int, rounds: int, seed: int) -> History:
    """Deletes random tuples of a relation and inserts them again, so many times, others each time."""
    rows = np.random.default_rng(seed).permutation(facts[relation])[: size * rounds].reshape(rounds, size, -1)
    changes = [change for part in rows for change in (Change({}, {relation: part}), Change({relation: part}, {}))]
    return History(facts, tuple(changes))


def write_history(history: History, folder: Path) -> None:
    """A folder with the first input, and one for each change."""
    for at, facts in [(folder / "first", history.first), (folder / "last", history.last)]:
        at.mkdir(parents=True, exist_ok=True)
        for name, table in facts.items():
            np.save(at / f"{name}.npy", table)
    for number, change in enumerate(history.changes, 1):
        for kind, facts in [("insert", change.insert), ("delete", change.delete)]:
            at = folder / f"{number:04}" / kind
            at.mkdir(parents=True, exist_ok=True)
            for name, table in facts.items():
                np.save(at / f"{name}.npy", table)


def read_changes(folder: Path) -> list[Change]:
    return [Change(read_facts(at / "insert"), read_facts(at / "delete")) for at in sorted(folder.glob("[0-9]*"))]


def read_facts(folder: Path) -> Facts:
    return {file.stem: np.load(file) for file in sorted(folder.glob("*.npy"))}
