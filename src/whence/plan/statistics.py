"""What the planner asks about the data: how many tuples, and how many distinct keys they have."""

from __future__ import annotations

from typing import Protocol

from whence.plan.steps import View


class Statistics(Protocol):
    def size(self, relation: str, view: View) -> float:
        """The number of tuples of a view."""
        ...

    def distinct(self, relation: str, columns: tuple[int, ...]) -> float:
        """The number of distinct values that these columns take together."""
        ...


class Assumed:
    """Statistics without data: every relation alike, and each bound column leaves a tenth."""

    def size(self, relation: str, view: View) -> float:
        return 100.0 if view is View.NEW else 1000.0

    def distinct(self, relation: str, columns: tuple[int, ...]) -> float:
        return min(1000.0, 10.0 ** (2 * len(columns)))
