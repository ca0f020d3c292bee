"""The algebra that maintenance is written over, and that each engine implements."""

from __future__ import annotations

from typing import Protocol

from whence.lang.program import Stratum
from whence.plan.statistics import Statistics
from whence.plan.steps import RuleVersion

__all__ = ["Lost", "Progress", "Silent", "Tables"]


class Progress(Protocol):
    """Who wants to know how an evaluation goes on."""

    def stratum(self, number: int, of: int, stratum: Stratum) -> None: ...

    def placed(self, place: str, reason: str) -> None:
        """The stratum is evaluated there, for this reason."""
        ...

    def iteration(self, iteration: int, new: int) -> None:
        """An iteration has ended, with so many new tuples."""
        ...


class Silent:
    def stratum(self, number: int, of: int, stratum: Stratum) -> None: ...

    def placed(self, place: str, reason: str) -> None: ...

    def iteration(self, iteration: int, new: int) -> None: ...


class Lost(Exception):
    """A machine took part of a stratum's tuples with it. What the stratum reads is still there: begin it again."""


class Tables(Statistics, Protocol):
    """The relations of a program while its strata are evaluated, one after the other, iteration by iteration."""

    def solve(self, stratum: Stratum, progress: Progress) -> bool:
        """Evaluate a stratum as a whole if that is better; False if it is to be done iteration by iteration."""
        ...

    def begin(self, stratum: Stratum) -> None:
        """Evaluate this stratum from now on; its relations hold their input."""
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
