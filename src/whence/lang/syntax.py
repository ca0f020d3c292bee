"""The surface syntax: a program as it is written, before names are looked up and types are known.

Every node keeps the offsets `start` and `end` of its text; `Source.span` turns them into lines and columns when someone
needs to see them. Nodes are named tuples, not dataclasses: a text may have a million of them, and their classes are
made at every start of the command line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal as OneOf
from typing import NamedTuple

from whence.lang.program import Aggregator, Comparator, Kind

TypeForm = OneOf["<:", "=", "|", "[]"]
DirectiveKind = OneOf["input", "output", "printsize", "limitsize"]

# Arguments


class Variable(NamedTuple):
    name: str
    start: int
    end: int


class Anonymous(NamedTuple):
    """`_`"""

    start: int
    end: int


class Number(NamedTuple):
    """A numeric literal; `kind` is set when the way it is written fixes it (`1u`, `1.5`)."""

    value: int | float
    kind: Kind | None
    start: int
    end: int


class String(NamedTuple):
    value: str
    start: int
    end: int


class Nil(NamedTuple):
    start: int
    end: int


class Record(NamedTuple):
    fields: tuple[Argument, ...]
    start: int
    end: int


class Functor(NamedTuple):
    """An intrinsic functor, by the name it has in `program.FUNCTORS`; `word` is what the user wrote for it."""

    name: str
    word: str
    args: tuple[Argument, ...]
    start: int
    end: int


class Cast(NamedTuple):
    """`as(value, type)`"""

    value: Argument
    type: str
    start: int
    end: int


class Aggregate(NamedTuple):
    op: Aggregator
    target: Argument | None
    body: Body
    start: int
    end: int


Argument = Variable | Anonymous | Number | String | Nil | Record | Functor | Cast | Aggregate


# Bodies


class Atom(NamedTuple):
    name: str
    args: tuple[Argument, ...]
    start: int
    end: int
    name_end: int


class Constraint(NamedTuple):
    op: Comparator
    left: Argument
    right: Argument
    start: int
    end: int


class Truth(NamedTuple):
    """`true` or `false`"""

    value: bool
    start: int
    end: int


class Not(NamedTuple):
    part: Body
    start: int
    end: int


class Conjunction(NamedTuple):
    parts: tuple[Body, ...]
    start: int
    end: int


class Disjunction(NamedTuple):
    parts: tuple[Body, ...]
    start: int
    end: int


Body = Atom | Constraint | Truth | Not | Conjunction | Disjunction
Node = Argument | Body


def parts(node: Node) -> tuple[Node, ...]:
    """What a node is directly made of, in the order of the text."""
    match node:
        case Atom(args=inside) | Functor(args=inside) | Record(fields=inside):
            return inside
        case Conjunction(parts=bodies) | Disjunction(parts=bodies):
            return bodies
        case Constraint(left=left, right=right):
            return (left, right)
        case Not(part=inside_body):
            return (inside_body,)
        case Cast(value=value):
            return (value,)
        case Aggregate(target=target, body=body):
            return (body,) if target is None else (target, body)
    return ()


def walk(nodes: Iterable[Node]) -> Iterator[Node]:
    """The nodes and everything inside them, in the order of the text."""
    stack = list(nodes)[::-1]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(parts(node)))


# Items


class Plan(NamedTuple):
    """`.plan 0:(1,2), 1:(2,1)`: pairs of a version and an order of the body's atoms."""

    orders: tuple[tuple[int, tuple[int, ...]], ...]
    start: int
    end: int


class Clause(NamedTuple):
    """A fact when `body` is None; otherwise a rule for each of `heads`. The plan is outside `start` and `end`."""

    heads: tuple[Atom, ...]
    body: Body | None
    plan: Plan | None
    start: int
    end: int


class Attribute(NamedTuple):
    """A column of a relation or a field of a record."""

    name: str
    type: str
    start: int
    end: int
    type_start: int
    type_end: int


class RelationDeclaration(NamedTuple):
    name: str
    attributes: tuple[Attribute, ...]
    start: int
    end: int


class TypeName(NamedTuple):
    name: str
    start: int
    end: int


class TypeDeclaration(NamedTuple):
    """`<:` has one name in `parts`, `=` one, `|` several; `[]` has `fields` instead."""

    name: str
    form: TypeForm
    parts: tuple[TypeName, ...]
    fields: tuple[Attribute, ...]
    start: int
    end: int


class Parameter(NamedTuple):
    """`key=value` of a directive, with the place of the value."""

    key: str
    value: str
    key_start: int
    start: int
    end: int


class DirectiveSyntax(NamedTuple):
    """A directive for one relation; a directive that names several is several of these."""

    kind: DirectiveKind
    relation: str
    parameters: tuple[Parameter, ...]
    start: int
    end: int


class Syntax(NamedTuple):
    """A parsed text. `broken` are names whose declaration could not be read, so that no one complains of them again."""

    types: tuple[TypeDeclaration, ...]
    relations: tuple[RelationDeclaration, ...]
    clauses: tuple[Clause, ...]
    directives: tuple[DirectiveSyntax, ...]
    broken: frozenset[str]
