"""Naive evaluation, stratum by stratum, of every rule over everything known, until nothing is new.

For each tuple it records the first iteration of its stratum that derives it, and how many rule instantiations do so
in that iteration (000 Alg. 2; the input is iteration 0, each tuple once).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from oracle.rules import (
    Aggregate,
    Atom,
    Call,
    Compare,
    Const,
    Literal,
    Not,
    Program,
    Record,
    Rule,
    Term,
    Tuple,
    Value,
    Var,
    Wild,
    conjunctive,
    names,
)
from oracle.strata import strata
from oracle.values import aggregate, apply, holds

Relations = Mapping[str, set[Tuple]]
Assignment = dict[str, Value]
# For every relation, for every tuple: its first iteration and its number of derivations there.
Model = dict[str, dict[Tuple, tuple[int, int]]]


class TooLarge(Exception):
    """The program needs more steps than the oracle is willing to take."""


@dataclass
class Steps:
    """How many more literals may be matched with a tuple."""

    left: int

    def take(self, number: int) -> None:
        self.left -= number
        if self.left < 0:
            raise TooLarge


@dataclass(frozen=True)
class World:
    """What a rule is evaluated in: the tuples known, and which of its names occur outside aggregates."""

    known: Relations
    outside: set[str]
    steps: Steps


def evaluate(program: Program, limit: int = 100_000_000) -> Model:
    """The model of a program; raises `TooLarge` after `limit` steps."""
    rules = [horn for rule in program.rules for horn in conjunctive(rule)]
    model: Model = {name: dict.fromkeys(program.facts.get(name, ()), (0, 1)) for name in program.relations}
    known: dict[str, set[Tuple]] = {name: set(tuples) for name, tuples in model.items()}
    steps = Steps(limit)
    for stratum in strata(program.relations, rules):
        own = [rule for rule in rules if rule.heads[0].relation in stratum]
        iteration = 0
        while True:
            iteration += 1
            derived: Counter[tuple[str, Tuple]] = Counter()
            for rule in own:
                for head in derivations(rule, known, steps):
                    derived[rule.heads[0].relation, head] += 1
            fresh = {key: times for key, times in derived.items() if key[1] not in known[key[0]]}
            if not fresh:
                break
            for (relation, head), times in fresh.items():
                model[relation][head] = (iteration, times)
                known[relation].add(head)
    return model


def derivations(rule: Rule, known: Relations, steps: Steps) -> Iterator[Tuple]:
    """The head of every instantiation of a rule over what is known, once for each distinct assignment."""
    outside = names(rule.heads[0]).union(*(outer_names(literal) for literal in rule.body))
    distinct = {frozenset(a.items()): a for a in assignments(rule.body, {}, World(known, outside, steps))}
    for assignment in distinct.values():
        yield tuple(value_of(term, assignment) for term in rule.heads[0].args)


def outer_names(literal: Literal) -> set[str]:
    """The variables a literal has outside aggregates."""
    return names(literal.result) if isinstance(literal, Aggregate) else names(literal)


def assignments(body: tuple[Literal, ...], bound: Assignment, world: World) -> Iterator[Assignment]:
    """All ways to extend an assignment so that the body holds, in whatever order literals become ready."""
    if not body:
        yield bound
        return
    position = next((i for i, literal in enumerate(body) if ready(literal, bound, world.outside)), None)
    if position is None:
        raise ValueError(f"not grounded: {body}")
    rest = body[:position] + body[position + 1 :]
    for extended in extensions(body[position], bound, world):
        yield from assignments(rest, extended, world)


def ready(literal: Literal, bound: Assignment, outside: set[str]) -> bool:
    match literal:
        case Atom(args=args):
            return all(matchable(term, bound) for term in args)
        case Not():
            return names(literal) <= bound.keys()
        case Compare("=", left, right):
            one_side = names(left) <= bound.keys() and matchable(right, bound)
            return one_side or (names(right) <= bound.keys() and matchable(left, bound))
        case Compare():
            return names(literal) <= bound.keys()
        case Aggregate(target=target, body=body):
            inside = names(target).union(*map(names, body))
            return inside & outside <= bound.keys()
    raise TypeError(literal)


def matchable(term: Term, bound: Assignment) -> bool:
    """Whether a term can be matched with a value: what is not a variable or a record must be known."""
    match term:
        case Call():
            return names(term) <= bound.keys()
        case Record(fields=fields):
            return all(matchable(part, bound) for part in fields)
    return True


def extensions(literal: Literal, bound: Assignment, world: World) -> Iterator[Assignment]:
    match literal:
        case Atom(relation, args):
            world.steps.take(len(world.known[relation]))
            for row in world.known[relation]:
                extended = match_all(args, row, bound)
                if extended is not None:
                    yield extended
        case Not(Atom(relation, args)):
            if all(match_all(args, row, bound) is None for row in world.known[relation]):
                yield bound
        case Compare("=", left, right):
            if not names(right) <= bound.keys():
                left, right = right, left
            extended = match_all((left,), (value_of(right, bound),), bound)
            if extended is not None:
                yield extended
        case Compare(operator, left, right):
            if holds(operator, value_of(left, bound), value_of(right, bound)):
                yield bound
        case Aggregate(operator, result, target, body):
            outer = {name: value for name, value in bound.items() if name in world.outside}
            inner = {frozenset(a.items()): a for a in assignments(body, outer, world)}
            values = [None if target is None else value_of(target, a) for a in inner.values()]
            found = aggregate(operator, values, "number" if target is None else target.kind)
            if found is not None:
                extended = match_all((result,), (found,), bound)
                if extended is not None:
                    yield extended


def match_all(terms: tuple[Term, ...], row: Tuple, bound: Assignment) -> Assignment | None:
    """The assignment extended so that the terms equal the row, or None."""
    extended = dict(bound)
    pairs = list(zip(terms, row, strict=True))
    while pairs:
        term, value = pairs.pop()
        match term:
            case Var(name):
                if extended.setdefault(name, value) != value:
                    return None
            case Wild():
                pass
            case Record(fields=fields):
                if value is None:
                    return None
                pairs.extend(zip(fields, value, strict=True))  # type: ignore[call-overload]
            case _:
                if value_of(term, bound) != value:
                    return None
    return extended


def value_of(term: Term, bound: Assignment) -> Value:
    match term:
        case Const(value):
            return value
        case Var(name):
            return bound[name]
        case Call(functor, args, kind):
            return apply(functor, [value_of(part, bound) for part in args], kind)
        case Record(fields):
            return tuple(value_of(part, bound) for part in fields)
    raise TypeError(term)
