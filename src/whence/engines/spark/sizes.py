"""What the planner asks of relations that may be frames: how many tuples, and how many keys they have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from whence.plan import View

from .failures import told

if TYPE_CHECKING:
    from .tables import SparkTables


@dataclass
class Sizes:
    """Keys of frames are counted once, approximately."""

    tables: SparkTables
    known: dict[tuple[str, tuple[int, ...]], float] = field(default_factory=dict)

    def size(self, relation: str, view: View) -> float:
        return self.tables.rows_of_view(relation, view)

    def distinct(self, relation: str, columns: tuple[int, ...]) -> float:
        rows = self.tables.rows_of_view(relation, View.ALL)
        arity = self.tables.program.relations[relation].arity
        if len(columns) == arity or not rows:
            return rows
        if self.tables.is_growing(relation):
            return float(rows ** (len(columns) / arity))
        if self.tables.is_readable_here(relation):
            return self.tables.local.distinct(relation, columns)
        key = (relation, columns)
        if key not in self.known:
            counted = F.approx_count_distinct(F.struct(*(f"c{column}" for column in columns)))
            with told():
                self.known[key] = float(self.tables.frame(relation).frame.agg(counted).first()[0])  # type: ignore[index]
        return max(1.0, self.known[key])
