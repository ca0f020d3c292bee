"""A rule read backward (002, 4.3.3): given a tuple of its head, the conjunction whose instantiations derive it.

A head variable takes the value of its column. Constants, records, functors and variables that occur again become
equations with a variable of the column's own, so that the planner and the kernel treat them like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from whence.lang.aggregates import renamed
from whence.lang.program import (
    Aggregate,
    Atom,
    Call,
    Comparison,
    Const,
    Literal,
    Record,
    Rule,
    Term,
    Type,
    Var,
    variables,
)

INTEGERS = ("number", "unsigned")


@dataclass(frozen=True)
class Backward:
    """`given` are the variables of the head's columns. Every column of a positive atom is a named variable or a
    constant, so that an instantiation names its tuples. `equations` are those of the head, `body` the rule's own."""

    rule: Rule
    given: tuple[Var, ...]
    equations: tuple[Comparison, ...]
    solved: tuple[Comparison, ...]
    body: tuple[Literal, ...]

    @property
    def literals(self) -> tuple[Literal, ...]:
        return (*self.solved, *self.equations, *self.body)

    @property
    def atoms(self) -> tuple[Atom, ...]:
        return tuple(literal for literal in self.body if isinstance(literal, Atom))

    @property
    def variables(self) -> tuple[Var, ...]:
        """The variables of an instantiation: those of the head and the body, without the insides of aggregates."""
        found = dict.fromkeys(self.given)
        for literal in (*self.equations, *self.body):
            found |= dict.fromkeys(outside(literal))
        return tuple(found)


def backward(rule: Rule) -> Backward:
    body = with_named_columns(rule.body)
    results = {literal.result.name for literal in body if isinstance(literal, Aggregate)}
    given: list[Var] = []
    equations: list[Comparison] = []
    for column, term in enumerate(rule.head.args):
        if isinstance(term, Var) and term not in given and term.name not in results:
            given.append(term)
        else:
            given.append(Var(f"h {column}", term.kind))
            equations.append(Comparison("=", given[-1], term))
    solved = tuple(equation for one in equations for equation in _solved(one.left, one.right, set(given)))
    return Backward(rule, tuple(given), tuple(equations), solved, body)


def with_named_columns(body: Sequence[Literal]) -> tuple[Literal, ...]:
    """A body whose positive atoms have no anonymous variables: a proof shows whole tuples."""
    fresh = count(1)

    def named(literal: Literal) -> Literal:
        if not isinstance(literal, Atom):
            return literal
        return renamed(literal, {v.name: f"a {next(fresh)}" for v in variables(literal) if v.anonymous})

    return tuple(map(named, body))


def outside(literal: Literal) -> Iterator[Var]:
    """The named variables of a literal that its rule shares with it."""
    if isinstance(literal, Aggregate):
        yield from literal.outer
        yield literal.result
    else:
        yield from (variable for variable in variables(literal) if not variable.anonymous)


def _solved(value: Term, term: Term, known: set[Var]) -> Iterator[Comparison]:
    """`d = value - 1` for `value = d + 1`: numbers wrap, so it holds both ways, and `d` can be looked up."""
    match term:
        case Call("add", (one, other), kind) if kind in INTEGERS:
            for unknown, rest in ((one, other), (other, one)):
                if _is_known(rest, known):
                    yield from _equation(unknown, Call("sub", (value, rest), kind), known)
        case Call("sub", (one, other), kind) if kind in INTEGERS:
            if _is_known(other, known):
                yield from _equation(one, Call("add", (value, other), kind), known)
            if _is_known(one, known):
                yield from _equation(other, Call("sub", (one, value), kind), known)


def _equation(unknown: Term, value: Term, known: set[Var]) -> Iterator[Comparison]:
    if isinstance(unknown, Var) and unknown not in known:
        yield Comparison("=", unknown, value)
    elif isinstance(unknown, Call):
        yield from _solved(value, unknown, known)


def _is_known(term: Term, known: set[Var]) -> bool:
    return isinstance(term, Const) or term in known


def types_of(
    head: Atom | None, body: Sequence[Literal], columns_of: dict[str, tuple[str, ...]], types: dict[str, Type]
) -> dict[str, str]:
    """The type of each variable that is a record, by its name, as far as columns and record terms tell."""
    found: dict[str, str] = {}

    def learn(term: Term, type_name: str) -> None:
        if isinstance(term, Var) and term.kind == "record":
            found.setdefault(term.name, type_name)
        elif isinstance(term, Record):
            for part, (_, field) in zip(term.fields, types[type_name].fields or (), strict=True):
                learn(part, field)

    def visit(literals: Sequence[Literal]) -> None:
        for literal in literals:
            match literal:
                case Atom(relation, args):
                    for argument, column in zip(args, columns_of[relation], strict=True):
                        learn(argument, column)
                case Comparison(_, left, right):
                    for one, other in ((left, right), (right, left)):
                        name = other.type if isinstance(other, Record) else found.get(getattr(other, "name", ""))
                        if name is not None:
                            learn(one, name)
                            learn(other, name)
                case Aggregate(body=inner):
                    visit(inner)
                case _:
                    visit([literal.atom])

    before = -1
    while len(found) > before:
        before = len(found)
        visit([*([head] if head else []), *body])
    return found
