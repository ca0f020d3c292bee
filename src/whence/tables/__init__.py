"""The algebra that maintenance is written over, and that each engine implements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from whence.lang.program import Stratum
from whence.plan.statistics import Statistics
from whence.plan.steps import RuleVersion, View
from whence.plan.update_versions import Driven, Search, Sieve

__all__ = ["Ahead", "Lost", "Progress", "Refused", "Revision", "Silent", "Tables", "Uncountable"]


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


class Uncountable(Exception):
    """A tuple has more derivations than are counted, so that one more or less says nothing."""


class Refused(Exception):
    """The engine does not update this stratum tuple by tuple; the text says why. It can be recomputed."""


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


@dataclass(frozen=True)
class Ahead:
    """What a stratum's iterations evaluate, planned for changes of few tuples; see `Revision.run_ahead`."""

    lost: Sequence[tuple[Driven, RuleVersion]]
    gained: Sequence[tuple[Driven, RuleVersion]]
    searches: Sequence[tuple[Search, RuleVersion]]  # by their first ways


class Revision(Statistics, Protocol):
    """A new epoch while it is made beside the one before: stratum by stratum, in order.

    Of a stratum that is begun, `LOST` and `GAINED` are the changes that are being propagated: at first those of lower
    relations and of its input, then, after each `settle`, those of one iteration, as they were and as they are to be.
    `watch` is called every now and then, and may raise. `iteration` is the one under way, 0 for the first changes;
    `through` is the part of what drives the version under way that has been read; `net` the number of tuples that have
    come into the stratum so far, less those that have gone.
    """

    watch: Callable[[], None]
    iteration: int
    through: float

    @property
    def net(self) -> int: ...

    @property
    def dense(self) -> bool:
        """Whether derivations of all iterations are kept, so that `VECTOR` can be read (002 Alg. 6)."""
        ...

    @property
    def arranging(self) -> float:
        """Seconds that went into arrangements so far, which serve later epochs too."""
        ...

    def changed(self, relation: str) -> int:
        """The number of tuples in which the epochs differ: of a lower relation, or of the input of this one."""
        ...

    def begin(self, stratum: Stratum) -> None:
        """Revise this stratum from now on; those before it are done."""
        ...

    def collect(self, name: str, arity: int, versions: Iterable[RuleVersion]) -> None:
        """Makes what the versions derive a set of keys, `CAUSE` of that name."""
        ...

    def sift(self, sieve: Sieve) -> None:
        """Makes `MISSING` of the sieve's name of the tuples that were just deleted."""
        ...

    def derive(self, version: RuleVersion, sign: View) -> None:
        """Notes instantiations that were lost, gained, or found for deleted tuples (`MISSING`)."""
        ...

    def take_effect(self) -> None:
        """From now on the relations of the stratum are as the changes under way leave them."""
        ...

    def settle(self) -> int | None:
        """Goes on to the next iteration in which tuples change, and says which; None if there is none."""
        ...

    def run_ahead(self, planned: Callable[[], Ahead]) -> tuple[int, int]:
        """Goes through iterations as its caller would, as long as few tuples change in each, if it has a faster way.

        Returns the last of them, or 0, and the number of tuples that changed in it.
        """
        ...

    def end(self) -> tuple[int, int]:
        """The stratum is done; how many tuples it gained and lost."""
        ...

    def drop(self) -> int:
        """The stratum is as if it had not been begun; how many tuples had come and gone so far."""
        ...

    def recompute(self, stratum: Stratum, evaluate: Callable[[Tables], None], ready: bool) -> tuple[int, int]:
        """Evaluates a stratum from its input, compares, and says how many tuples it gained and lost.

        If it is to be `ready` for Updates, what they had made of it before, they have again.
        """
        ...

    def apply(self, stratum: Stratum) -> tuple[int, int]:
        """Changes the input of a stratum without rules."""
        ...

    def commit(self) -> None:
        """The new epoch is the current one."""
        ...

    def abandon(self) -> None:
        """The epoch before is the current one, as it was, wherever the revision stands."""
        ...
