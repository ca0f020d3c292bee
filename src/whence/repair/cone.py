"""Which relations a fault can rest on, and which a change can reach: read off the rules alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from whence.lang.program import Aggregate, Atom, Literal, Negation, Program


@dataclass(frozen=True)
class Cone:
    """The relations below some faults that a change reaches. `relations` are all that are read from the faults down.

    `positive` says that nothing changeable is negated or aggregated, so that more input never means fewer tuples;
    `flat` that this is so for everything but the negations in the rules of the faults' own relations, which no other
    rule reads. `read` are the relations that rules read. `cut` has those with a `.limitsize`, whose tuples do not
    follow from the rules alone.
    """

    relations: frozenset[str]
    read: frozenset[str]
    affected: frozenset[str]
    positive: bool
    flat: bool
    cut: frozenset[str]


def cone_of(program: Program, faulty: Iterable[str], changed: Iterable[str]) -> Cone:
    reads: dict[str, set[str]] = defaultdict(set)
    for rule in program.rules:
        reads[rule.head.relation] |= {name for name, _ in read_in(rule.body)}
    affected = set(changed)
    while more := {name for name, read in reads.items() if read & affected} - affected:
        affected |= more
    tops = set(faulty)
    below = set(tops)
    while more := {name for head in below for name in reads[head]} - below:
        below |= more
    opposed: dict[str, set[str]] = defaultdict(set)  # what a relation's rules negate or aggregate, that may change
    for rule in program.rules:
        if rule.head.relation in below:
            opposed[rule.head.relation] |= {
                name for name, against in read_in(rule.body) if against and name in affected
            }
    aggregated = {
        rule.head.relation
        for rule in program.rules
        for literal in rule.body
        if isinstance(literal, Aggregate) and any(name in affected for name, _ in read_in([literal]))
    }
    heads = {name for name, against in opposed.items() if against}
    used = {name for head in below for name in reads[head]}
    cut = {d.relation for d in program.directives_of("limitsize")} & below & affected
    return Cone(
        frozenset(below),
        frozenset(used),
        frozenset(affected),
        not heads,
        heads <= tops and not heads & (used | aggregated),
        frozenset(cut),
    )


def opposing(literal: Literal, affected: frozenset[str]) -> bool:
    """Whether a literal negates or aggregates what may change."""
    return not isinstance(literal, Atom) and any(name in affected for name, _ in read_in([literal]))


def read_in(body: Iterable[Literal]) -> Iterator[tuple[str, bool]]:
    """The relations that a body reads, and whether they are negated or aggregated."""
    for literal in body:
        match literal:
            case Atom(relation):
                yield relation, False
            case Negation(Atom(relation)):
                yield relation, True
            case Aggregate(body=inner):
                yield from ((name, True) for name, _ in read_in(inner))
