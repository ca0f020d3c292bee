"""Programs as the oracle sees them: terms, literals and rules, much as they are written in a `.dl` text.

A body may hold disjunctions and a rule several heads; `conjunctive` turns rules into plain Horn clauses, as the
first step of evaluating them. Values are Python's: int, float, str, a tuple for a record and None for `nil`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count, product

Value = object
Tuple = tuple[Value, ...]


@dataclass(frozen=True)
class Var:
    name: str
    kind: str


@dataclass(frozen=True)
class Wild:
    """An anonymous variable `_`; every occurrence is a variable of its own."""

    kind: str


@dataclass(frozen=True)
class Const:
    value: Value
    kind: str


@dataclass(frozen=True)
class Call:
    """A functor by the name or operator users write: `+`, `band`, `cat`, …"""

    functor: str
    args: tuple[Term, ...]
    kind: str


@dataclass(frozen=True)
class Record:
    fields: tuple[Term, ...]
    kind: str


Term = Var | Wild | Const | Call | Record


@dataclass(frozen=True)
class Atom:
    relation: str
    args: tuple[Term, ...]


@dataclass(frozen=True)
class Not:
    atom: Atom


@dataclass(frozen=True)
class Compare:
    operator: str
    left: Term
    right: Term


@dataclass(frozen=True)
class Aggregate:
    """`result = operator target : { body }`; `target` is None for count."""

    operator: str
    result: Var
    target: Term | None
    body: tuple[Literal, ...]


@dataclass(frozen=True)
class Either:
    """A disjunction of conjunctions."""

    choices: tuple[tuple[Literal, ...], ...]


Literal = Atom | Not | Compare | Aggregate | Either


@dataclass(frozen=True)
class Rule:
    heads: tuple[Atom, ...]
    body: tuple[Literal, ...]


@dataclass(frozen=True)
class Program:
    """Relations with the kinds of their columns, record types with the kinds of their fields, rules and facts."""

    relations: Mapping[str, tuple[str, ...]]
    rules: tuple[Rule, ...]
    facts: Mapping[str, tuple[Tuple, ...]] = field(default_factory=dict)
    records: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def conjunctive(rule: Rule) -> Iterator[Rule]:
    """One rule for every head and every way to resolve the disjunctions, with anonymous variables named."""
    for head, body in product(rule.heads, choices(rule.body)):
        numbers = count()
        yield Rule((name_wild(head, numbers),), tuple(name_wild(literal, numbers) for literal in body))


def choices(body: tuple[Literal, ...]) -> Iterator[tuple[Literal, ...]]:
    """The conjunctions that a body with disjunctions stands for."""
    options: list[list[tuple[Literal, ...]]] = []
    for literal in body:
        if isinstance(literal, Either):
            options.append([flat for choice in literal.choices for flat in choices(choice)])
        else:
            options.append([(literal,)])
    for picked in product(*options):
        yield tuple(literal for part in picked for literal in part)


def name_wild(node, numbers):  # type: ignore[no-untyped-def]
    """The node with every `_` of a positive atom or record made a variable; those of a negation stay."""
    match node:
        case Wild(kind=kind):
            return Var(f"_{next(numbers)}", kind)
        case Record(fields=fields):
            return replace(node, fields=tuple(name_wild(part, numbers) for part in fields))
        case Atom(args=args) | Call(args=args):
            return replace(node, args=tuple(name_wild(part, numbers) for part in args))
        case Compare(left=left, right=right):
            return replace(node, left=name_wild(left, numbers), right=name_wild(right, numbers))
        case Aggregate(body=body):
            return replace(node, body=tuple(name_wild(part, numbers) for part in body))
    return node


def names(node: Term | Literal | None) -> set[str]:
    """The names of all variables of a term or literal, the inside of aggregates included."""
    match node:
        case Var(name=name):
            return {name}
        case Call(args=parts) | Record(fields=parts) | Atom(args=parts):
            return set().union(*map(names, parts))
        case Not(atom=atom):
            return names(atom)
        case Compare(left=left, right=right):
            return names(left) | names(right)
        case Aggregate(result=result, target=target, body=body):
            return names(result) | names(target) | set().union(*map(names, body))
        case Either(choices=parts):
            return {name for part in parts for literal in part for name in names(literal)}
    return set()
