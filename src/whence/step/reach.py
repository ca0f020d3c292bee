"""Which relations a call may come to, by the rules as they are written."""

from __future__ import annotations

from whence.lang.program import Atom, Negation, Program


def reachable(program: Program) -> dict[str, frozenset[str]]:
    """For each relation, itself and all that calls of it may come to. What only aggregates read is not called."""
    reads: dict[str, set[str]] = {name: set() for name in program.relations}
    for rule in program.rules:
        for literal in rule.body:
            match literal:
                case Atom(relation) | Negation(Atom(relation)):
                    reads[rule.head.relation].add(relation)
    found: dict[str, frozenset[str]] = {}
    for stratum in program.strata:  # in topological order, so that what a stratum reads is known
        together: set[str] = set(stratum.relations)
        for name in stratum.relations:
            for other in reads[name]:
                together |= found.get(other, frozenset((other,)))
        for name in stratum.relations:
            found[name] = frozenset(together)
    return found
