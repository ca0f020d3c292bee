"""The literals of a body as the planner sees them: what each needs, what it then binds, and what it costs.

A constraint is settled as soon as its variables are bound, cheap ones first: a comparison before what can fail or
costs a look-up in Python, so that `y != 0, z = x / y` means what it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from whence.lang.program import (
    Aggregate,
    Atom,
    Call,
    Comparison,
    Const,
    Literal,
    Negation,
    Record,
    Term,
    Var,
    variables,
)

# Functors that are plain arithmetic on every value.
CHEAP = frozenset(["neg", "add", "sub", "mul", "pow", "min", "max"]) | frozenset(
    ["bnot", "band", "bor", "bxor", "bshl", "bshr", "bshru", "lnot", "land", "lor", "lxor"]
)


@dataclass(frozen=True, eq=False)
class Constraint:
    """A literal that is no positive atom."""

    literal: Comparison | Negation | Aggregate
    names: frozenset[str]  # all variables, but those of an aggregate's own body
    left: frozenset[str]
    right: frozenset[str]
    price: int

    def settles(self, bound: frozenset[str]) -> frozenset[str] | None:
        """The variables it binds when those in `bound` have values; None if it has to wait."""
        literal = self.literal
        if isinstance(literal, Negation):
            return frozenset() if self.names <= bound else None
        if isinstance(literal, Aggregate):
            return self.right if self.left <= bound else None
        left, right = self.left <= bound, self.right <= bound
        if left and right:
            return frozenset()
        if literal.op != "=":
            return None
        if right and isinstance(literal.left, Var | Record):
            return self.left - bound
        if left and isinstance(literal.right, Var | Record):
            return self.right - bound
        return None


@dataclass(frozen=True, eq=False)
class Reading:
    """A positive atom, by its place among those of the body."""

    atom: Atom
    names: frozenset[str]  # without anonymous ones
    columns: tuple[tuple[int, str | None], ...]  # each with its variable, or None where it is a constant


def split(body: Sequence[Literal]) -> tuple[list[Reading], list[Constraint]]:
    readings, constraints = [], []
    fresh = count(1)
    for literal in body:
        if isinstance(literal, Atom):
            columns = tuple((i, arg.name if isinstance(arg, Var) else None) for i, arg in enumerate(literal.args))
            readings.append(Reading(literal, names_of([literal], anonymous=False), columns))
        else:
            constraints += [constraint(part) for part in flattened(literal, fresh)]
    return readings, constraints


def constraint(literal: Comparison | Negation | Aggregate) -> Constraint:
    if isinstance(literal, Negation):
        names = names_of([literal], anonymous=False)
        return Constraint(literal, names, names, frozenset(), 2)
    if isinstance(literal, Aggregate):
        outer, result = names_of(literal.outer), names_of([literal.result])
        return Constraint(literal, outer | result, outer, result, 4)
    left, right = names_of([literal.left]), names_of([literal.right])
    compared_as_text = literal.op not in ("=", "!=") and literal.left.kind == "symbol"
    price = 3 if compared_as_text or dear(literal.left) or dear(literal.right) else int(literal.op == "=")
    return Constraint(literal, left | right, left, right, price)


def names_of(nodes: Iterable[Term | Literal], anonymous: bool = True) -> frozenset[str]:
    return frozenset(v.name for node in nodes for v in variables(node) if anonymous or not v.anonymous)


def dear(term: Term) -> bool:
    if isinstance(term, Call):
        return term.functor not in CHEAP or term.kind == "symbol" or any(map(dear, term.args))
    return isinstance(term, Record) and any(map(dear, term.fields))


def flattened(literal: Comparison | Negation | Aggregate, fresh: count[int]) -> list[Comparison | Negation | Aggregate]:
    """Equations of records field by field; patterns that hold only variables, constants and patterns."""
    if not isinstance(literal, Comparison) or literal.op != "=":
        return [literal]
    left, right = literal.left, literal.right
    if isinstance(left, Record) and isinstance(right, Record):
        parts = [Comparison("=", a, b) for a, b in zip(left.fields, right.fields, strict=True)]
        return [simple for part in parts for simple in flattened(part, fresh)]
    more: list[Comparison | Negation | Aggregate] = []
    if isinstance(left, Record):
        left = _pattern(left, fresh, more)
    if isinstance(right, Record):
        right = _pattern(right, fresh, more)
    return [Comparison("=", left, right), *more]


def _pattern(record: Record, fresh: count[int], more: list[Comparison | Negation | Aggregate]) -> Record:
    fields: list[Term] = []
    for part in record.fields:
        if isinstance(part, Record):
            fields.append(_pattern(part, fresh, more))
        elif isinstance(part, Call):
            variable = Var(f"f {next(fresh)}", part.kind)
            fields.append(variable)
            more.append(Comparison("=", variable, part))
        else:
            fields.append(part)
    return Record(record.type, tuple(fields))


def is_operand(term: Term) -> bool:
    return isinstance(term, Var | Const)
