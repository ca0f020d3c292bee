"""Strata from the definition: relations that reach each other, ordered so that each comes after what it reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from oracle.rules import Aggregate, Atom, Literal, Not, Rule


class Unstratified(Exception):
    """A relation depends on itself through a negation or an aggregate."""


def reads(body: Iterable[Literal], strictly: bool = False) -> Iterator[tuple[str, bool]]:
    """The relations a body reads, and whether they must be complete before it does."""
    for literal in body:
        match literal:
            case Atom(relation):
                yield relation, strictly
            case Not(Atom(relation)):
                yield relation, True
            case Aggregate(body=inner):
                yield from reads(inner, strictly=True)


def strata(relations: Iterable[str], rules: Iterable[Rule]) -> list[set[str]]:
    """The strata in an order of evaluation. Rules are conjunctive."""
    below: dict[str, set[str]] = {name: set() for name in relations}
    strict: set[tuple[str, str]] = set()
    for rule in rules:
        head = rule.heads[0].relation
        for relation, strictly in reads(rule.body):
            below[head].add(relation)
            if strictly:
                strict.add((head, relation))
    reachable = {name: closure(name, below) for name in below}
    ordered: list[set[str]] = []
    placed: set[str] = set()
    while len(placed) < len(below):
        for name in below:
            component = {name} | {other for other in reachable[name] if name in reachable[other]}
            if name not in placed and reachable[name] - component <= placed:
                ordered.append(component)
                placed |= component
    for head, relation in strict:
        if head in reachable[relation] | {relation}:
            raise Unstratified(f"{head} needs all of {relation} first, which depends on {head}")
    return ordered


def closure(start: str, below: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    pending = [start]
    while pending:
        for name in below[pending.pop()] - found:
            found.add(name)
            pending.append(name)
    return found
