"""A rule version and its steps: what an engine is asked to do, without saying how.

Steps pass bindings on from one to the next. `Scan` and `Probe` may multiply them, all others keep or drop them; a step
names only variables that a later step needs. The number of times that `Project` is reached for a tuple is its number of
derivations, so a step that binds nothing still multiplies (`Exists`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from whence.lang.program import Aggregate, Atom, Comparison, Const, Record, Rule, Term, Var


class View(Enum):
    """Which tuples of a relation an atom reads.

    Bootstrap reads those of one iteration, those before it, or both. Update reads those of the epoch before too, and
    the tuples that its changes are: see `whence.plan.update_versions`.
    """

    ALL = "all"
    OLD = "old"
    NEW = "new"
    BEFORE = "before"  # in the previous epoch
    KEPT = "kept"  # not among the changes that are being propagated
    EITHER = "either"  # in the previous epoch or now
    LOST = "lost"  # changed, as they were
    GAINED = "gained"  # changed, as they are now
    MISSING = "missing"  # lost in the iteration under way, and perhaps derived in a later one
    CAUSE = "cause"  # of a set of keys that was computed for this version
    VECTOR = "vector"  # with all iterations in which they have derivations, where these are kept


DELTAS = frozenset([View.NEW, View.LOST, View.GAINED, View.MISSING, View.CAUSE])  # small, and read first


Operand = Var | Const
Keys = tuple[tuple[int, Operand], ...]  # columns, with what each must equal
Binds = tuple[tuple[int, Var], ...]  # columns, with the variable that each gives a value
Repeats = tuple[tuple[int, int], ...]  # columns that must be equal to each other


@dataclass(frozen=True)
class Scan:
    """Every tuple of the view."""

    atom: Atom
    view: View
    keys: Keys
    binds: Binds
    repeats: Repeats


@dataclass(frozen=True)
class Probe:
    """Every tuple of the view that has the keys."""

    atom: Atom
    view: View
    keys: Keys
    binds: Binds
    repeats: Repeats


@dataclass(frozen=True)
class Exists:
    """Some tuple of the view has the keys; the number of those that do multiplies the derivations."""

    atom: Atom
    view: View
    keys: Keys

    @property
    def whole(self) -> bool:
        """Whether the keys are all columns, so that there is one such tuple at most."""
        return len(self.keys) == len(self.atom.args)


@dataclass(frozen=True)
class Absent:
    """No tuple of the view has the keys: the anti-probe."""

    atom: Atom
    view: View
    keys: Keys

    @property
    def whole(self) -> bool:
        return len(self.keys) == len(self.atom.args)


@dataclass(frozen=True)
class Filter:
    comparison: Comparison


@dataclass(frozen=True)
class Bind:
    variable: Var
    term: Term


@dataclass(frozen=True)
class Unpack:
    """Takes a record apart; nil and records with other fields than the bound ones are dropped.

    The fields of the pattern are variables, constants and patterns; `bound` names the variables that have a value.
    """

    value: Operand
    pattern: Record
    bound: frozenset[str]


@dataclass(frozen=True)
class Fold:
    """An aggregate: for every distinct value of its outer variables, over what its own steps give."""

    aggregate: Aggregate
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Project:
    """The end of a version: the arguments of the head, or the target of an aggregate."""

    terms: tuple[Term, ...]


Step = Scan | Probe | Exists | Absent | Filter | Bind | Unpack | Fold | Project


@dataclass(frozen=True)
class RuleVersion:
    """A rule with the view that each of its positive atoms reads. `order` and `steps` are set once it is planned.

    `number` is what a `.plan` calls the version. `absent` are the views of the negated atoms, `inside` is that of all
    atoms in aggregates; each is `ALL` where it is not given.
    """

    rule: Rule
    views: tuple[View, ...]
    number: int = 0
    absent: tuple[View, ...] = ()
    inside: View = View.ALL
    order: tuple[int, ...] = ()
    steps: tuple[Step, ...] = ()

    @property
    def atoms(self) -> tuple[Atom, ...]:
        return tuple(literal for literal in self.rule.body if isinstance(literal, Atom))
