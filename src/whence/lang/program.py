"""The core program: what is left of a `.dl` text once it is parsed, checked and desugared.

Everything here is immutable and knows nothing of engines. A `Rule` has one head and a conjunctive body; each keeps
its `origin`, the text it was written as, so that whoever shows a rule shows the user's own words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal as OneOf

Kind = OneOf["number", "unsigned", "float", "symbol", "record"]


@dataclass(frozen=True)
class Span:
    """A stretch of source text; lines and columns count from 1, the end is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


# Types and relations


@dataclass(frozen=True)
class Type:
    """A declared or built-in type. `fields` is set for records only: pairs of field name and type name."""

    name: str
    kind: Kind
    fields: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    kind: Kind


@dataclass(frozen=True)
class Relation:
    name: str
    columns: tuple[Column, ...]
    origin: Span

    @property
    def arity(self) -> int:
        return len(self.columns)


# Terms. Every term knows its kind; equality of terms is structural.


@dataclass(frozen=True)
class Var:
    """A variable. An anonymous one (`_`) has a name that no user can write (`_ 3`) and occurs once."""

    name: str
    kind: Kind

    @property
    def anonymous(self) -> bool:
        return self.name.startswith("_ ")


@dataclass(frozen=True)
class Const:
    """A constant: int, float or str by its kind; `nil` is None of kind record."""

    value: int | float | str | None
    kind: Kind


@dataclass(frozen=True)
class Call:
    """An intrinsic functor applied to terms; the kinds of the arguments select its variant. See `FUNCTORS`."""

    functor: str
    args: tuple[Term, ...]
    kind: Kind


@dataclass(frozen=True)
class Record:
    """A record term `[a, b]`: packs when its fields are bound, takes apart when it is matched with a bound value."""

    type: str
    fields: tuple[Term, ...]
    kind: Kind = "record"


Term = Var | Const | Call | Record

# Names of intrinsic functors, with the operator or name users write for each.
FUNCTORS: Mapping[str, str] = {
    "neg": "-", "add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%", "pow": "^",
    "bnot": "bnot", "band": "band", "bor": "bor", "bxor": "bxor", "bshl": "bshl", "bshr": "bshr", "bshru": "bshru",
    "lnot": "lnot", "land": "land", "lor": "lor", "lxor": "lxor",
    "min": "min", "max": "max",
    "cat": "cat", "strlen": "strlen", "substr": "substr", "ord": "ord",
    "to_number": "to_number", "to_string": "to_string", "to_float": "to_float", "to_unsigned": "to_unsigned",
}  # fmt: skip


# Literals


@dataclass(frozen=True)
class Atom:
    """A positive atom. In a body its arguments are `Var` or `Const` only; in a head any term."""

    relation: str
    args: tuple[Term, ...]


@dataclass(frozen=True)
class Negation:
    """A negated atom; arguments are `Var` or `Const`. Anonymous variables mean "for no value"."""

    atom: Atom


Comparator = OneOf["=", "!=", "<", "<=", ">", ">=", "match", "contains", "not match", "not contains"]


@dataclass(frozen=True)
class Comparison:
    """A constraint between two terms of one kind. `=` also binds a variable whose other side is bound."""

    op: Comparator
    left: Term
    right: Term


Aggregator = OneOf["count", "sum", "min", "max", "mean"]


@dataclass(frozen=True)
class Aggregate:
    """Binds `result` to the aggregate of `target` over all instantiations of `body` (`target` is None for count).

    `outer` are the variables of the body that the rule outside shares; they are bound before the aggregate is
    evaluated. All other variables of the body are its own and have names that occur nowhere else in the rule.
    Over no instantiation, count and sum are 0 and the others do not hold.
    """

    op: Aggregator
    result: Var
    target: Term | None
    body: tuple[Literal, ...]
    outer: tuple[Var, ...]


Literal = Atom | Negation | Comparison | Aggregate


# Rules, facts, directives, the program


@dataclass(frozen=True)
class Rule:
    """`head :- body.` `plan` is the user's `.plan`: for each version number, the order of the positive atoms.

    `places` says for each literal of the body which part of `text` it was written as: where that begins and ends. What
    was only added to the body has none.
    """

    head: Atom
    body: tuple[Literal, ...]
    origin: Span
    text: str
    plan: Mapping[int, tuple[int, ...]] = field(default_factory=dict, compare=False)
    places: tuple[tuple[int, int] | None, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Fact:
    """A ground atom in the program text: input, iteration 0. Arguments are ground terms, not always constants."""

    atom: Atom
    origin: Span


@dataclass(frozen=True)
class Directive:
    """`.input`, `.output`, `.printsize` or `.limitsize` of one relation."""

    kind: OneOf["input", "output", "printsize", "limitsize"]
    relation: str
    parameters: Mapping[str, str]
    origin: Span


@dataclass(frozen=True)
class Stratum:
    """A component of the dependency graph: relations defined together, in the order they may be evaluated.

    `recursive` says that some rule reads a relation of the same stratum; otherwise one iteration is enough.
    """

    relations: tuple[str, ...]
    rules: tuple[Rule, ...]
    recursive: bool


@dataclass(frozen=True)
class Program:
    """A checked program. `strata` are in topological order and cover every relation, input ones included.

    `text` is what it was compiled from, and `file` the name of that.
    """

    types: Mapping[str, Type]
    relations: Mapping[str, Relation]
    rules: tuple[Rule, ...]
    facts: tuple[Fact, ...]
    strata: tuple[Stratum, ...]
    directives: tuple[Directive, ...]
    text: str | None = field(default=None, compare=False, repr=False)
    file: str = field(default="<program>", compare=False)

    def directives_of(self, kind: str) -> Iterator[Directive]:
        return (d for d in self.directives if d.kind == kind)


def variables(node: Term | Literal) -> Iterator[Var]:
    """Every occurrence of a variable in a term or literal, the inside of aggregates included."""
    match node:
        case Var():
            yield node
        case Const():
            return
        case Call(args=parts) | Record(fields=parts) | Atom(args=parts):
            for part in parts:
                yield from variables(part)
        case Negation(atom=atom):
            yield from variables(atom)
        case Comparison(left=left, right=right):
            yield from variables(left)
            yield from variables(right)
        case Aggregate(result=result, target=target, body=body):
            yield result
            if target is not None:
                yield from variables(target)
            for literal in body:
                yield from variables(literal)


def read_by(stratum: Stratum) -> Iterator[str]:
    """The relations that the rules of a stratum read, its own included, once for each atom."""

    def read(body: tuple[Literal, ...]) -> Iterator[str]:
        for literal in body:
            match literal:
                case Atom(relation) | Negation(Atom(relation)):
                    yield relation
                case Aggregate(body=inner):
                    yield from read(inner)

    for rule in stratum.rules:
        yield from read(rule.body)
