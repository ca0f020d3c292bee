"""What the interpreter is given of a program: rules without aggregates, folds in place of these, and when each begins.

    total(d, s) :- dept(d), s = sum n : { pay(d, p, n) }.

becomes, with made-up relations whose names no user can write,

    groups(d) :- dept(d).                            which groups there are
    instances(d, p, n, n) :- groups(d), pay(d, p, n).    what is aggregated, each instantiation once
    result(d, s)                                     a fold of the two
    total(d, s) :- dept(d), result(d, s).

A rule begins to hold with the stratum in which all that it negates and folds is complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

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
from .prefixes import fallible, open_side


@dataclass(frozen=True)
class Fold:
    """`result` has for each tuple of `groups` an aggregate of the last column of the `instances` that begin with it."""

    op: Aggregator
    kind: Kind
    keys: int
    groups: str
    instances: str
    result: str


Part = Rule | Fold


class Lowering:
    """Of many programs one after the other: the same aggregate always gets the same relations."""

    def __init__(self) -> None:
        self._aggregates: Numbers[tuple[tuple[Literal, ...], Aggregate]] = Numbers()

    def parts(self, program: Program) -> dict[tuple[Part, int], int]:
        """The rules and folds of a program, each with the stratum that it begins with and how often it is there."""
        parts = [part for rule in program.rules for part in self._lowered(rule)]
        begins = strata_of(parts)
        counted: dict[tuple[Part, int], int] = {}
        for part in parts:
            key = part, begins[part]
            counted[key] = counted.get(key, 0) + 1
        return counted

    def _lowered(self, rule: Rule) -> Iterator[Part]:
        body = rule.body
        while any(isinstance(literal, Aggregate) for literal in body):
            before, aggregate = _next_aggregate(body)
            made = f"aggregate {self._aggregates.of((before, aggregate))}"
            groups, instances = f"groups of {made}", f"instances of {made}"
            yield from self._lowered(replace(rule, head=Atom(groups, aggregate.outer), body=before))
            yield from self._lowered(_instances(rule, aggregate, groups, instances))
            kind = aggregate.target.kind if aggregate.target is not None else "number"
            yield Fold(aggregate.op, kind, len(aggregate.outer), groups, instances, made)
            result = Atom(made, (*aggregate.outer, aggregate.result))
            body = tuple(result if literal is aggregate else literal for literal in body)
        yield Rule(rule.head, body, rule.origin, rule.text)


def _next_aggregate(body: tuple[Literal, ...]) -> tuple[tuple[Literal, ...], Aggregate]:
    """An aggregate whose outer variables are known without any other, and the literals that say what they are."""
    known: set[str] = set()
    known_by: list[Literal] = []
    waiting = [literal for literal in body if not isinstance(literal, Aggregate)]
    while ready := [one for one in waiting if _is_ready(one, known)]:
        known_by += ready
        known |= {variable.name for one in ready if not isinstance(one, Negation) for variable in variables(one)}
        waiting = [one for one in waiting if one not in ready]
    for literal in body:
        if isinstance(literal, Aggregate) and all(variable.name in known for variable in literal.outer):
            needed = tuple(one for one in known_by if not (isinstance(one, Comparison) and fallible(one)))
            enough = {v.name for one in needed if not isinstance(one, Negation) for v in variables(one)}
            if all(variable.name in enough for variable in literal.outer):
                return needed, literal
            return tuple(known_by), literal
    raise AssertionError("an aggregate's outer variables are bound by nothing")


def _is_ready(literal: Literal, known: set[str]) -> bool:
    if isinstance(literal, Atom):
        return True
    if isinstance(literal, Comparison) and open_side(literal, known) is not None:
        return True
    return all(variable.name in known or variable.anonymous for variable in variables(literal))


def _instances(rule: Rule, aggregate: Aggregate, groups: str, instances: str) -> Rule:
    """A rule whose head has every variable of the inside, so that each instantiation is a tuple of its own."""
    number = 0
    body: list[Literal] = [Atom(groups, aggregate.outer)]
    for literal in aggregate.body:
        if isinstance(literal, Atom):
            args = []
            for arg in literal.args:
                if isinstance(arg, Var) and arg.anonymous:
                    number += 1
                    arg = Var(f"any {number}", arg.kind)
                args.append(arg)
            literal = Atom(literal.relation, tuple(args))
        body.append(literal)
    outer = {variable.name for variable in aggregate.outer}
    own: dict[str, Var] = {}
    for literal in body:
        inside = (literal.result,) if isinstance(literal, Aggregate) else variables(literal)
        own.update({v.name: v for v in inside if v.name not in outer and not v.anonymous})
    target = aggregate.target if aggregate.target is not None else Const(0, "number")
    head = Atom(instances, (*aggregate.outer, *own.values(), target))
    return replace(rule, head=head, body=tuple(body))


def strata_of(parts: Iterable[Part]) -> Mapping[Part, int]:
    """The stratum with which each rule and fold begins: after all that it negates or folds is complete."""
    parts = list(dict.fromkeys(parts))
    levels: dict[str, int] = {}

    def begins(part: Part) -> int:
        if isinstance(part, Fold):
            return 1 + max(levels.get(part.groups, 0), levels.get(part.instances, 0))
        begin = 0
        for literal in part.body:
            match literal:
                case Atom(relation):
                    begin = max(begin, levels.get(relation, 0))
                case Negation(Atom(relation)):
                    begin = max(begin, 1 + levels.get(relation, 0))
        return begin

    changed = True
    while changed:
        changed = False
        for part in parts:
            head = part.result if isinstance(part, Fold) else part.head.relation
            begin = begins(part)
            if begin > levels.get(head, 0):
                assert begin <= len(parts), f"{head} depends on itself through a negation"
                levels[head] = begin
                changed = True
    return {part: begins(part) for part in parts}
