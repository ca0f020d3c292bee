"""The algebra that maintenance is written over, and that each engine implements."""

from __future__ import annotations

from typing import Protocol

from whence.lang.program import Stratum
from whence.plan.statistics import Statistics
from whence.plan.steps import RuleVersion

__all__ = ["Tables"]


class Tables(Statistics, Protocol):
    """The relations of a program while its strata are evaluated, one after the other, iteration by iteration."""

    def begin(self, stratum: Stratum) -> None:
        """Evaluate this stratum from now on."""
        ...

    def derive(self, version: RuleVersion) -> None:
        """Evaluate a planned version; what it derives belongs to the iteration that is under way."""
        ...

    def advance(self) -> int:
        """End the iteration and say how many tuples are new in it; these are what `new` means from now on."""
        ...

    def end(self) -> None:
        """The stratum is complete."""
        ...
