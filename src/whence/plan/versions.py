"""Semi-naive evaluation: the versions of a stratum's rules, so that every instantiation is met in one iteration only.

In the first iteration every atom reads everything there is. In a later one an instantiation is new if at least one of
its recursive atoms is: version j takes the j-th recursive atom from `new`, those before it from `old`, those after it
from `all`. So no instantiation is counted twice.
"""

from __future__ import annotations

from collections.abc import Iterator

from whence.lang.program import Stratum
from whence.plan.steps import RuleVersion, View


def first_versions(stratum: Stratum) -> Iterator[RuleVersion]:
    for rule in stratum.rules:
        version = RuleVersion(rule, ())
        yield RuleVersion(rule, (View.ALL,) * len(version.atoms))


def later_versions(stratum: Stratum) -> Iterator[RuleVersion]:
    """The versions of the second iteration and all that follow."""
    for rule in stratum.rules:
        atoms = RuleVersion(rule, ()).atoms
        recursive = [i for i, atom in enumerate(atoms) if atom.relation in stratum.relations]
        for number, fresh in enumerate(recursive):
            views = [View.ALL] * len(atoms)
            for i in recursive[:number]:
                views[i] = View.OLD
            views[fresh] = View.NEW
            yield RuleVersion(rule, tuple(views), number)
