"""Random programs: small, well formed, stratified, grounded and ending; most of them derive something.

Relations come in layers. The lowest holds facts only; each further layer has one or two relations whose rules read
lower layers in any way and their own layer positively.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

from oracle.rules import (
    Aggregate,
    Atom,
    Call,
    Compare,
    Const,
    Either,
    Literal,
    Not,
    Program,
    Rule,
    Term,
    Tuple,
    Var,
    Wild,
)
from oracle.scope import DOMAINS, RECORDS, Scope

OTHERS = ("symbol", "symbol", "unsigned", "float", "Pair", "List")
ORDERED = ("number", "symbol", "unsigned", "float")
T = TypeVar("T")
Relations = dict[str, tuple[str, ...]]


@dataclass
class Layers:
    """The relations declared so far: those of lower layers, and those of the layer that is being written."""

    lower: Relations
    own: Relations


def programs() -> st.SearchStrategy[Program]:
    """Random programs with their facts. Hypothesis draws the seed; `reduce.py` makes a failing program small."""
    return st.integers(0, 2**32 - 1).map(lambda seed: program(Random(seed)))


def program(random: Random) -> Program:
    # Few kinds in one program, so that columns can be joined.
    kinds = ("number",) * 4 + tuple(random.sample(OTHERS, 2))
    inputs = {f"e{i}": columns(random, kinds, smallest=1) for i in range(random.randint(2, 3))}
    layers = Layers(lower=inputs, own={})
    facts = {name: tuples(random, signature) for name, signature in inputs.items()}
    rules: list[Rule] = []
    for depth in range(random.randint(1, 3)):
        layers.own = {f"r{depth}{letter}": columns(random, kinds) for letter in "ab"[: random.randint(1, 2)]}
        for name, signature in layers.own.items():
            rules.extend(rules_of(random, name, layers))
            if random.random() < 0.25:
                facts[name] = tuples(random, signature)
        layers = Layers(lower=layers.lower | layers.own, own={})
    empty: Relations = {f"no{kind}": (kind,) for kind in RECORDS}
    return Program(layers.lower | empty, tuple(shuffled(random, rules)), facts, RECORDS)


def columns(random: Random, kinds: Sequence[str], smallest: int = 0) -> tuple[str, ...]:
    arity = max(smallest, random.choice((2, 2, 2, 2, 2, 1, 1, 3, 3, 4, 0)))
    return tuple(random.choice(kinds) for _ in range(arity))


def tuples(random: Random, kinds: tuple[str, ...]) -> tuple[Tuple, ...]:
    """Facts of a relation; some come twice, at times there is none."""
    count = random.choice((4, 8, 10, 10, 12, 12, 12, 14, 14, 14, 14, 14, 0))
    return tuple(tuple(random.choice(DOMAINS[kind]) for kind in kinds) for _ in range(count))


def shuffled(random: Random, parts: Sequence[T]) -> list[T]:
    return random.sample(parts, len(parts))


def rules_of(random: Random, name: str, layers: Layers) -> list[Rule]:
    """One rule over lower layers, then perhaps some that read the relation's own layer; at times one twice."""
    rules = [rule(random, name, layers, recursive=False)]
    rules += [rule(random, name, layers, recursive=True) for _ in range(random.choice((1, 1, 2, 0)))]
    return rules + rules[: int(random.random() < 0.08)]


def rule(random: Random, name: str, layers: Layers, recursive: bool) -> Rule:
    scope = Scope(random, recursive)
    if recursive:
        own = name if scope.chance(60) else scope.pick(list(layers.own))
        body: list[Literal] = [Atom(own, scope.patterns(layers.own[own], 0))]
        body += [atom(scope, layers.lower | layers.own) for _ in range(random.choice((1, 1, 0, 2)))]
    else:
        body = [atom(scope, layers.lower) for _ in range(random.choice((1, 1, 2, 2, 3)))]
    for option in (either, comparison, comparison, binding, negation, aggregation, aggregation):
        if scope.chance(10 if recursive else 13):
            body += option(scope, layers.lower)
    heads = [name]
    if scope.chance(8):
        heads.append(scope.pick(list(layers.own)))
    atoms = tuple(Atom(head, tuple(map(scope.head_term, layers.own[head]))) for head in heads)
    return Rule(atoms, tuple(shuffled(random, body)))


def atom(scope: Scope, relations: Relations, percent_bound: int = 45) -> Atom:
    relation = scope.pick(list(relations))
    return Atom(relation, scope.patterns(relations[relation], percent_bound))


def negated(scope: Scope, relations: Relations) -> Not:
    relation = scope.pick(list(relations))
    args = [Wild(kind) if scope.chance(25) else scope.known_value(kind) for kind in relations[relation]]
    return Not(Atom(relation, tuple(args)))


def negation(scope: Scope, relations: Relations) -> list[Literal]:
    return [negated(scope, relations)]


def comparison(scope: Scope, _: Relations) -> list[Literal]:
    """A test of a bound variable against another one or a constant; most of the tests hold often."""
    if not scope.variables:
        return [Compare(scope.pick(("<", "<=")), Const(1, "number"), Const(2, "number"))]
    variable = scope.pick(scope.variables)
    others = [other for other in scope.bound(variable.kind) if other != variable]
    other = scope.pick(others) if others and scope.chance(60) else scope.constant(variable.kind)
    if variable.kind not in ORDERED:
        return [Compare(scope.pick(("=", "!=", "!=")), variable, other)]
    if variable.kind == "symbol" and scope.chance(40):
        operator = scope.pick(("contains", "match", "not contains", "not match"))
        return [Compare(operator, Const(scope.pick(("a", "b", "a.*", ".*b")), "symbol"), variable)]
    operator = scope.pick(("<=", ">=", "!=", "!=", "<", ">", "="))
    return [Compare(operator, *scope.pick(((variable, other), (other, variable))))]


def binding(scope: Scope, _: Relations) -> list[Literal]:
    """A variable set to a computed term, either way around."""
    kind = scope.pick(("number", "number", "unsigned", "symbol", "float", "Pair", "List"))
    term = scope.expression(kind)
    variable = scope.fresh(kind)
    bound: list[Literal] = [Compare("=", variable, term) if scope.chance(50) else Compare("=", term, variable)]
    if kind in RECORDS:  # a negated empty relation says which type of record it is
        bound.append(Not(Atom(f"no{kind}", (variable,))))
    return bound


def either(scope: Scope, relations: Relations) -> list[Literal]:
    """A disjunction of atoms that all bind one variable, or of tests on what is bound."""
    columns = [(name, i, kind) for name, kinds in relations.items() for i, kind in enumerate(kinds)]
    wanted = scope.pick(sorted({kind for _, _, kind in columns}))
    variable = scope.fresh(wanted)
    choices: list[tuple[Literal, ...]] = []
    for _ in range(scope.pick((2, 2, 3))):
        name, position, _ = scope.pick([column for column in columns if column[2] == wanted])
        args: list[Term] = [Wild(kind) for kind in relations[name]]
        args[position] = variable
        choice: list[Literal] = [Atom(name, tuple(args))]
        if scope.chance(30):
            choice += comparison(scope, relations)
        choices.append(tuple(choice))
    return [Either(tuple(choices))]


def aggregation(scope: Scope, relations: Relations) -> list[Literal]:
    """An aggregate whose body joins lower relations with each other and with the variables outside."""
    inner = Scope(scope.random, scope.recursive, "y", list(scope.variables))
    body: list[Literal] = [atom(inner, relations, 30) for _ in range(scope.pick((1, 1, 2)))]
    outside = set(scope.variables)
    local = [variable for variable in inner.variables if variable not in outside]
    if inner.chance(25):
        body += comparison(inner, relations)
    if inner.chance(15):
        body.append(negated(inner, relations))
    numeric = [variable for variable in local if variable.kind in ("number", "unsigned", "float")]
    operator = scope.pick(("count", "sum", "min", "max", "mean")) if numeric else "count"
    if operator == "count":
        return [Aggregate("count", scope.fresh("number"), None, tuple(shuffled(scope.random, body)))]
    target: Term = scope.pick(numeric)
    if operator == "mean":
        floats = [variable for variable in numeric if variable.kind == "float"]
        target = scope.pick(floats) if floats else as_float(scope.pick(numeric))
    result = scope.fresh("float" if operator == "mean" else target.kind)
    return [Aggregate(operator, result, target, tuple(shuffled(scope.random, body)))]


def as_float(variable: Var) -> Term:
    return Call("to_float", (variable,), "float")
