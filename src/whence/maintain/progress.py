"""Who wants to know how an evaluation goes on."""

from __future__ import annotations

from typing import Protocol

from whence.lang.program import Stratum


class Progress(Protocol):
    def stratum(self, number: int, of: int, stratum: Stratum) -> None: ...

    def iteration(self, iteration: int, new: int) -> None:
        """An iteration has ended, with so many new tuples."""
        ...


class Silent:
    def stratum(self, number: int, of: int, stratum: Stratum) -> None: ...

    def iteration(self, iteration: int, new: int) -> None: ...
