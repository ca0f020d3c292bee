"""The surface syntax: a program as it is written, before names are looked up and types are known.

Every node keeps the offsets `start` and `end` of its text; `Source.span` turns them into lines and columns when someone
needs to see them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf

from whence.lang.program import Aggregator, Comparator, Kind

TypeForm = OneOf["<:", "=", "|", "[]"]
DirectiveKind = OneOf["input", "output", "printsize", "limitsize"]

# Arguments


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Anonymous:
    """`_`"""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric literal; `kind` is set when the way it is written fixes it (`1u`, `1.5`)."""

    value: int | float
    kind: Kind | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class String:
    value: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Nil:
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Record:
    fields: tuple[Argument, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Functor:
    """An intrinsic functor, by the name it has in `program.FUNCTORS`; `word` is what the user wrote for it."""

    name: str
    word: str
    args: tuple[Argument, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Cast:
    """`as(value, type)`"""

    value: Argument
    type: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Aggregate:
    op: Aggregator
    target: Argument | None
    body: Body
    start: int
    end: int


Argument = Variable | Anonymous | Number | String | Nil | Record | Functor | Cast | Aggregate


# Bodies


@dataclass(frozen=True, slots=True)
class Atom:
    name: str
    args: tuple[Argument, ...]
    start: int
    end: int
    name_end: int


@dataclass(frozen=True, slots=True)
class Constraint:
    op: Comparator
    left: Argument
    right: Argument
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Truth:
    """`true` or `false`"""

    value: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Not:
    part: Body
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Conjunction:
    parts: tuple[Body, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Disjunction:
    parts: tuple[Body, ...]
    start: int
    end: int


Body = Atom | Constraint | Truth | Not | Conjunction | Disjunction


# Items


@dataclass(frozen=True, slots=True)
class Plan:
    """`.plan 0:(1,2), 1:(2,1)`: pairs of a version and an order of the body's atoms."""

    orders: tuple[tuple[int, tuple[int, ...]], ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Clause:
    """A fact when `body` is None; otherwise a rule for each of `heads`. The plan is outside `start` and `end`."""

    heads: tuple[Atom, ...]
    body: Body | None
    plan: Plan | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column of a relation or a field of a record."""

    name: str
    type: str
    start: int
    end: int
    type_start: int
    type_end: int


@dataclass(frozen=True, slots=True)
class RelationDeclaration:
    name: str
    attributes: tuple[Attribute, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TypeName:
    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TypeDeclaration:
    """`<:` has one name in `parts`, `=` one, `|` several; `[]` has `fields` instead."""

    name: str
    form: TypeForm
    parts: tuple[TypeName, ...]
    fields: tuple[Attribute, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Parameter:
    """`key=value` of a directive, with the place of the value."""

    key: str
    value: str
    key_start: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DirectiveSyntax:
    """A directive for one relation; a directive that names several is several of these."""

    kind: DirectiveKind
    relation: str
    parameters: tuple[Parameter, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Syntax:
    """A parsed text. `broken` are names whose declaration could not be read, so that no one complains of them again."""

    types: tuple[TypeDeclaration, ...]
    relations: tuple[RelationDeclaration, ...]
    clauses: tuple[Clause, ...]
    directives: tuple[DirectiveSyntax, ...]
    broken: frozenset[str]
