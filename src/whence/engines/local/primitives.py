"""The steps of a version as primitives: no nested terms, only operations on variables and constants.

This is the form in which it is decided what the kernel does and what is done between two runs of it, on whole columns:
string functors, packing of records, aggregates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from whence.lang.program import Aggregate, Call, Comparator, Comparison, Const, Kind, Record, Term, Var
from whence.plan.steps import (
    Absent,
    Bind,
    Exists,
    Filter,
    Fold,
    Operand,
    Probe,
    Project,
    Scan,
    Step,
    Unpack,
)

from .kernel import layout

# The number of derivations of a binding, where it may be more than one; a name that no user can write.
WEIGHT = Var("w ", "number")


@dataclass(frozen=True)
class Compute:
    """`to` is a functor of operands."""

    to: Var
    functor: str
    args: tuple[Operand, ...]


@dataclass(frozen=True)
class Pack:
    """`to` is the record of these fields."""

    to: Var
    fields: tuple[Operand, ...]


@dataclass(frozen=True)
class Compare:
    op: Comparator
    left: Operand
    right: Operand


@dataclass(frozen=True)
class Fields:
    """The fields of a record with `arity` of them; nil is dropped."""

    value: Operand
    arity: int
    binds: tuple[tuple[int, Var], ...]


@dataclass(frozen=True)
class Group:
    """An aggregate over what its own primitives emit for each distinct value of its outer variables."""

    aggregate: Aggregate
    inner: tuple[Primitive, ...]


@dataclass(frozen=True)
class Emit:
    operands: tuple[Operand, ...]


Primitive = Scan | Probe | Exists | Absent | Compute | Pack | Compare | Fields | Group | Emit

# What the kernel computes, by functor and kind of the arguments.
UNARY = {
    ("neg", "number"): layout.NEG_I,
    ("neg", "float"): layout.NEG_F,
    ("neg", "unsigned"): layout.NEG_I,
    ("to_float", "number"): layout.I_TO_F,
    ("to_float", "unsigned"): layout.U_TO_F,
    ("to_number", "float"): layout.F_TO_I,
    ("to_unsigned", "float"): layout.F_TO_U,
    **{("bnot", k): layout.BNOT for k in ("number", "unsigned")},
    **{("lnot", k): layout.LNOT for k in ("number", "unsigned")},
    **{("copy", k): layout.COPY for k in ("number", "unsigned", "float", "symbol", "record")},
    **{(f"to_{k}", k): layout.COPY for k in ("number", "unsigned", "float")},
    ("to_string", "symbol"): layout.COPY,
    ("ord", "symbol"): layout.COPY,
    ("to_number", "unsigned"): layout.COPY,
    ("to_unsigned", "number"): layout.COPY,
}
BINARY = {
    **{(f.lower(), "float"): getattr(layout, f + "_F") for f in ("ADD", "SUB", "MUL", "DIV", "POW", "MIN", "MAX")},
    **{(f.lower(), k): getattr(layout, f + "_I") for f in ("ADD", "SUB", "MUL") for k in ("number", "unsigned")},
    **{(f.lower(), "number"): getattr(layout, f + "_I") for f in ("DIV", "MOD", "POW", "MIN", "MAX", "BSHR")},
    **{(f.lower(), "unsigned"): getattr(layout, f + "_U") for f in ("DIV", "MOD", "POW", "MIN", "MAX", "BSHR")},
    **{
        (f.lower(), k): getattr(layout, f)
        for f in ("BAND", "BOR", "BXOR", "BSHL", "LAND", "LOR", "LXOR")
        for k in ("number", "unsigned")
    },
    ("bshru", "number"): layout.BSHR_U,
    ("bshru", "unsigned"): layout.BSHR_U,
}
COMPARE = {
    # Floats by their bits too, as tuples are compared: whether a rule joins or filters is the planner's choice.
    **{("=", k): layout.EQ for k in ("number", "unsigned", "float", "symbol", "record")},
    **{("!=", k): layout.NE for k in ("number", "unsigned", "float", "symbol", "record")},
    **{("<", k): getattr(layout, "LT_" + k[0].upper().replace("N", "I")) for k in ("number", "unsigned", "float")},
    **{("<=", k): getattr(layout, "LE_" + k[0].upper().replace("N", "I")) for k in ("number", "unsigned", "float")},
}


def in_kernel(primitive: Primitive) -> bool:
    match primitive:
        case Compute(_, functor, args):
            return (functor, args[0].kind) in (UNARY if len(args) == 1 else BINARY)
        case Compare(op, left):
            return (op, left.kind) in COMPARE
        case Pack() | Group():
            return False
    return True


def primitives(steps: Sequence[Step]) -> tuple[Primitive, ...]:
    return tuple(Flattening(count(1)).steps(steps))


class Flattening:
    def __init__(self, fresh: count[int]) -> None:
        self.fresh = fresh

    def steps(self, steps: Sequence[Step]) -> Iterator[Primitive]:
        for step in steps:
            match step:
                case Scan() | Probe() | Exists() | Absent():
                    yield step
                case Filter(comparison):
                    yield from self.comparison(comparison)
                case Bind(variable, term):
                    yield from self.bind(variable, term)
                case Unpack(value, pattern, bound):
                    yield from self.unpack(value, pattern, set(bound))
                case Fold(aggregate, inner):
                    yield Group(aggregate, tuple(self.steps(inner)))
                case Project(terms):
                    before, operands = self.operands(terms)
                    yield from before
                    yield Emit(operands)

    def comparison(self, comparison: Comparison) -> Iterator[Primitive]:
        before, (left, right) = self.operands((comparison.left, comparison.right))
        yield from before
        op = comparison.op
        if op in (">", ">="):
            left, right = right, left
            op = "<" if op == ">" else "<="
        yield Compare(op, left, right)

    def bind(self, to: Var, term: Term) -> Iterator[Primitive]:
        """Primitives that give `to` the value of a term."""
        match term:
            case Var() | Const():
                yield Compute(to, "copy", (term,))
            case Record(_, fields):
                before, operands = self.operands(fields)
                yield from before
                yield Pack(to, operands)
            case Call(functor, args):
                before, operands = self.operands(args)
                yield from before
                while len(operands) > 2 and functor in ("min", "max", "cat"):
                    partial = self.variable(term.kind)
                    yield Compute(partial, functor, operands[:2])
                    operands = (partial, *operands[2:])
                yield Compute(to, functor, operands)

    def unpack(self, value: Operand, pattern: Record, bound: set[str]) -> Iterator[Primitive]:
        binds: list[tuple[int, Var]] = []
        checks: list[Compare] = []
        nested: list[tuple[Var, Record]] = []
        for i, part in enumerate(pattern.fields):
            if isinstance(part, Var) and part.name not in bound:
                if not part.anonymous:
                    binds.append((i, part))
                    bound.add(part.name)
                continue
            field = self.variable(part.kind)
            binds.append((i, field))
            if isinstance(part, Record):
                nested.append((field, part))
            else:
                assert isinstance(part, Var | Const)
                checks.append(Compare("=", field, part))
        yield Fields(value, len(pattern.fields), tuple(binds))
        yield from checks
        for field, part in nested:
            yield from self.unpack(field, part, bound)

    def operands(self, terms: Sequence[Term]) -> tuple[list[Primitive], tuple[Operand, ...]]:
        before: list[Primitive] = []
        operands: list[Operand] = []
        for term in terms:
            if isinstance(term, Var | Const):
                operands.append(term)
            else:
                variable = self.variable(term.kind)
                before += self.bind(variable, term)
                operands.append(variable)
        return before, tuple(operands)

    def variable(self, kind: Kind) -> Var:
        return Var(f"t {next(self.fresh)}", kind)


def reads(primitive: Primitive) -> set[Var]:
    """The variables whose values a primitive uses."""
    match primitive:
        case Scan(keys=keys) | Probe(keys=keys) | Exists(keys=keys) | Absent(keys=keys):
            used: Sequence[Operand] = [operand for _, operand in keys]
        case Compute(_, _, used) | Pack(_, used) | Emit(used):
            pass
        case Compare(_, left, right):
            used = (left, right)
        case Fields(value=value):
            used = (value,)
        case Group(aggregate):
            used = aggregate.outer
    return {operand for operand in used if isinstance(operand, Var)}


def writes(primitive: Primitive) -> set[Var]:
    """The variables that a primitive gives a value."""
    match primitive:
        case Scan(binds=binds) | Probe(binds=binds) | Fields(binds=binds):
            return {variable for _, variable in binds}
        case Compute(to=to) | Pack(to=to):
            return {to}
        case Group(aggregate):
            return {aggregate.result}
    return set()
