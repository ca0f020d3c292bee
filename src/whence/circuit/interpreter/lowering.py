"""What the interpreter is given of a program: rules without aggregates, folds in place of these, and when each begins.

    total(d, s) :- dept(d), s = sum n : { pay(d, p, n) }.

becomes, with made-up relations whose names no user can write,

    groups(d) :- dept(d).                            which groups there are
    instances(d, p, n, n) :- groups(d), pay(d, p, n).    what is aggregated, each instantiation once
    result(d, s)                                     a fold of the two
    total(d, s) :- dept(d), result(d, s).

A rule begins to hold with the stratum in which all that it negates or aggregates is complete. Groups may come out of
the recursion that the rule is part of. A fold looks at a group when all instances of it have come: so many ticks
after the group as the rule of the instances can take at most, since all else that it reads is complete.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from whence.lang.program import (
    Aggregate,
    Aggregator,
    Atom,
    Comparison,
    Const,
    Kind,
    Literal,
    Negation,
    Program,
    Rule,
    Var,
    variables,
)

from .kit import Numbers
from .prefixes import open_side

Body = tuple[Literal, ...]


@dataclass(frozen=True)
class Fold:
    """`result` has for each tuple of `groups` an aggregate of the last column of the `instances` that begin with it.
    These have all come when the group has been there for `patience` ticks."""

    op: Aggregator
    kind: Kind
    keys: int
    groups: str
    instances: str
    result: str
    patience: int


class InstanceRule(Rule):
    """A rule that makes instances, or is part of making them: what it reads, but for groups and results, is
    complete."""


Part = Rule | Fold


class Lowering:
    """Of many programs one after the other: the same aggregate always gets the same relations."""

    def __init__(self) -> None:
        self._aggregates: Numbers[tuple[Body, Aggregate]] = Numbers()
        self._made: set[str] = set()

    def parts(self, program: Program) -> dict[tuple[Part, int], int]:
        """The rules and folds of a program, each with the stratum that it begins with and how often it is there."""
        together = {name: frozenset(stratum.relations) for stratum in program.strata for name in stratum.relations}
        parts = [part for rule in program.rules for part in self._lowered(rule, together[rule.head.relation])]
        begins = strata_of(parts, self._made)
        counted: dict[tuple[Part, int], int] = {}
        for part in parts:
            key = part, begins[part]
            counted[key] = counted.get(key, 0) + 1
        return counted

    def _lowered(self, rule: Rule, own: frozenset[str]) -> Iterator[Part]:
        """`own` are the relations that the rule's head may depend on in a circle."""
        aggregate = next((one for one in rule.body if isinstance(one, Aggregate) and _begins(one, rule.body)), None)
        if aggregate is None:
            yield rule
            return
        before = _binders(aggregate, rule.body, own)
        made = f"aggregate {self._aggregates.of((before, aggregate))}"
        groups, instances = f"groups of {made}", f"instances of {made}"
        self._made |= {made, groups, instances}
        yield from self._lowered(replace(rule, head=Atom(groups, aggregate.outer), body=before), own)
        yield from self._lowered(_instances(rule, aggregate, groups, instances), own)
        kind = aggregate.target.kind if aggregate.target is not None else "number"
        patience = 16 * _size(aggregate)
        yield Fold(aggregate.op, kind, len(aggregate.outer), groups, instances, made, patience)
        result = Atom(made, (*aggregate.outer, aggregate.result))
        yield from self._lowered(replace(rule, body=_replaced(rule.body, aggregate, result)), own)


def _size(aggregate: Aggregate) -> int:
    """A bound of the ticks that its instances take after their group, in units of sixteen: an atom takes one tick, and
    a fold inside, beside its own patience, three."""
    return 2 + sum(1 + _size(one) if isinstance(one, Aggregate) else 1 for one in aggregate.body)


def _replaced(body: Body, aggregate: Aggregate, by: Atom) -> Body:
    return tuple(by if literal is aggregate else literal for literal in body)


def _begins(aggregate: Aggregate, body: Body) -> bool:
    """Whether its outer variables are known without any other aggregate."""
    known, _ = _known([literal for literal in body if not isinstance(literal, Aggregate)])
    return all(variable.name in known for variable in aggregate.outer)


def _binders(aggregate: Aggregate, body: Body, own: frozenset[str]) -> Body:
    """The fewest literals that bind its outer variables, none of the recursion if that can be."""
    kept = [literal for literal in body if not isinstance(literal, Aggregate)]
    for literal in sorted(kept, key=lambda one: not _recursive((one,), own)):
        rest = [one for one in kept if one is not literal]
        known, ready = _known(rest)
        if all(variable.name in known for variable in aggregate.outer):
            kept = [one for one in rest if one in ready]
    return tuple(kept)


def _known(literals: Sequence[Literal]) -> tuple[set[str], list[Literal]]:
    """The variables that literals bind, and those of them that can be evaluated."""
    known: set[str] = set()
    done: list[Literal] = []
    waiting = list(literals)
    while ready := [one for one in waiting if _is_ready(one, known)]:
        done += ready
        known |= {variable.name for one in ready if not isinstance(one, Negation) for variable in variables(one)}
        waiting = [one for one in waiting if one not in ready]
    return known, done


def _is_ready(literal: Literal, known: set[str]) -> bool:
    if isinstance(literal, Atom):
        return True
    if isinstance(literal, Comparison) and open_side(literal, known) is not None:
        return True
    if isinstance(literal, Aggregate):
        return all(variable.name in known for variable in literal.outer)
    return all(variable.name in known or variable.anonymous for variable in variables(literal))


def _recursive(literals: Iterable[Literal], own: frozenset[str]) -> bool:
    return any(isinstance(literal, Atom) and literal.relation in own for literal in literals)


def _instances(rule: Rule, aggregate: Aggregate, groups: str, instances: str) -> Rule:
    """A rule whose head has every variable of the inside, so that each instantiation is a tuple of its own."""
    number = count(1)
    body: list[Literal] = [Atom(groups, aggregate.outer)]
    for literal in aggregate.body:
        if isinstance(literal, Atom):
            args = [
                Var(f"any {next(number)}", arg.kind) if isinstance(arg, Var) and arg.anonymous else arg
                for arg in literal.args
            ]
            literal = Atom(literal.relation, tuple(args))
        body.append(literal)
    outer = {variable.name for variable in aggregate.outer}
    own: dict[str, Var] = {}
    for literal in body:
        inside = (literal.result,) if isinstance(literal, Aggregate) else variables(literal)
        own.update({v.name: v for v in inside if v.name not in outer and not v.anonymous})
    target = aggregate.target if aggregate.target is not None else Const(0, "number")
    head = Atom(instances, (*aggregate.outer, *own.values(), target))
    return InstanceRule(head, tuple(body), rule.origin, rule.text)


def strata_of(parts: Iterable[Part], made: Collection[str] = ()) -> Mapping[Part, int]:
    """The stratum with which each rule and fold begins; `made` are the relations that no user wrote.

    A program that was compiled has no negation or aggregate in a circle, so that there are strata.
    """
    parts = list(dict.fromkeys(parts))
    levels: dict[str, int] = {}

    def begins(part: Part) -> int:
        if isinstance(part, Fold):
            return max(levels.get(part.groups, 0), levels.get(part.instances, 0))
        begin = 0
        for literal in part.body:
            match literal:
                case Atom(relation):
                    complete = isinstance(part, InstanceRule) and relation not in made
                    begin = max(begin, levels.get(relation, 0) + complete)
                case Negation(Atom(relation)):
                    begin = max(begin, levels.get(relation, 0) + 1)
        return begin

    changed = True
    while changed:
        changed = False
        for part in parts:
            head = part.result if isinstance(part, Fold) else part.head.relation
            begin = begins(part)
            if begin > levels.get(head, 0):
                assert begin <= len(parts), f"{head} would never begin"
                levels[head] = begin
                changed = True
    return {part: begins(part) for part in parts}
