"""The history of a state: what each epoch's summary says of the change, the impact and the strategy that made it.

The summary is plain JSON in the epoch's description, so that whoever has the state has its history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from whence.lang.difference import declaration, difference, directives_without
from whence.lang.program import Program
from whence.store import Epoch

Sizes = Mapping[str, tuple[int, int]]  # by relation: tuples inserted, tuples deleted


@dataclass(frozen=True)
class Entry:
    """An epoch in the history. `strata` are JSON, as `StratumReport` has them; `tuples` is the size of the state."""

    epoch: int
    parent: int | None
    committed: datetime
    strategy: str | None
    seconds: float | None
    change: Sizes
    impact: Sizes
    strata: tuple[Mapping[str, Any], ...]
    tuples: int
    batch: int | None
    rules: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())  # texts of clauses and declarations added and removed

    @property
    def changed(self) -> tuple[int, int]:
        return total(self.change)

    @property
    def affected(self) -> tuple[int, int]:
        return total(self.impact)

    def to_json(self) -> dict[str, Any]:
        return {
            "epoch": self.epoch,
            "parent": self.parent,
            "committed": self.committed.isoformat(),
            "strategy": self.strategy,
            "seconds": self.seconds,
            "change": sizes_to_json(self.change),
            "impact": sizes_to_json(self.impact),
            "strata": list(self.strata),
            "tuples": self.tuples,
            **({} if self.batch is None else {"batch": self.batch}),
            **({"program": {"added": list(self.rules[0]), "removed": list(self.rules[1])}} if any(self.rules) else {}),
        }


def entries(epochs: Iterable[Epoch]) -> list[Entry]:
    return [entry(epoch) for epoch in epochs]


def entry(epoch: Epoch) -> Entry:
    summary = epoch.summary
    return Entry(
        epoch.number,
        epoch.parent,
        epoch.committed,
        epoch.strategy,
        epoch.seconds,
        _sizes(summary.get("change", {})),
        _sizes(summary.get("impact", {})),
        tuple(summary.get("strata", ())),
        sum(stored.rows for stored in epoch.relations.values()),
        summary.get("batch"),
        tuple(tuple(summary.get("program", {}).get(side, ())) for side in ("added", "removed")),  # type: ignore[arg-type]
    )


def program_changes(before: Program, after: Program) -> dict[str, list[str]]:
    """The declarations and the clauses, as texts, that one program has and the other has not."""
    changed = difference(before, after)
    sides = {}
    for name, one, other, relations, clauses in (
        ("added", after, before, changed.relations_added, changed.clauses[0]),
        ("removed", before, after, changed.relations_removed, changed.clauses[1]),
    ):
        types = [f".type {found}" for found in one.types if found not in other.types]
        directives = [f".{found.kind} {found.relation}" for found in directives_without(one, other)]
        sides[name] = [*types, *map(declaration, relations), *directives, *clauses]
    return sides


def total(sizes: Sizes) -> tuple[int, int]:
    return sum(inserted for inserted, _ in sizes.values()), sum(deleted for _, deleted in sizes.values())


def sizes_to_json(sizes: Sizes) -> dict[str, dict[str, int]]:
    return {name: {"inserted": inserted, "deleted": deleted} for name, (inserted, deleted) in sizes.items()}


def _sizes(found: Mapping[str, Mapping[str, int]]) -> Sizes:
    return {name: (sides["inserted"], sides["deleted"]) for name, sides in found.items()}
