"""What an epoch brought: the tuples that came and went, by which strategy, in what time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from whence.errors import WhenceError


class Tuples(Protocol):
    """Tuples of a relation, counted without being decoded."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...


@dataclass(frozen=True)
class Forgotten:
    """So many tuples, which are not kept."""

    count: int

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        raise WhenceError(
            "a session keeps only the numbers of earlier epochs; keep what `update` returned to have more"
        )


@dataclass(frozen=True)
class StratumReport:
    """What happened to a stratum, and why so."""

    relations: tuple[str, ...]
    strategy: str  # update or bootstrap
    reason: str
    seconds: float
    inserted: int
    deleted: int

    def to_json(self) -> dict[str, Any]:
        return {
            "relations": list(self.relations),
            "strategy": self.strategy,
            "reason": self.reason,
            "seconds": round(self.seconds, 6),
            "inserted": self.inserted,
            "deleted": self.deleted,
        }


@dataclass(frozen=True)
class Impact:
    """The tuples that an epoch inserted and deleted, by relation; relations without any are left out.

    `strategy` is `update` or `bootstrap`, or `mixed` where strata differ.
    """

    epoch: int
    strategy: str
    seconds: float
    strata: tuple[StratumReport, ...] = ()
    inserted: Mapping[str, Tuples] = field(default_factory=dict)
    deleted: Mapping[str, Tuples] = field(default_factory=dict)
    ignored: int = 0  # changes that a lenient update left out

    def __repr__(self) -> str:
        came, went = sum(map(len, self.inserted.values())), sum(map(len, self.deleted.values()))
        return f"<epoch {self.epoch}: {came:,} inserted, {went:,} deleted, {self.strategy}, {self.seconds:.3f} s>"

    def to_json(self) -> dict[str, Any]:
        return {
            "epoch": self.epoch,
            "strategy": self.strategy,
            "seconds": round(self.seconds, 6),
            "inserted": {name: [list(row) for row in rows] for name, rows in self.inserted.items()},
            "deleted": {name: [list(row) for row in rows] for name, rows in self.deleted.items()},
            "strata": [report.to_json() for report in self.strata],
            "ignored": self.ignored,
        }

    def summary(self) -> Impact:
        """The same with numbers instead of tuples, for a log."""
        return replace(
            self,
            inserted={name: Forgotten(len(rows)) for name, rows in self.inserted.items()},
            deleted={name: Forgotten(len(rows)) for name, rows in self.deleted.items()},
        )
