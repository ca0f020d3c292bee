"""What is in scope while a random rule is written: the variables bound so far, and random terms over them.

Domains are small, so that joins meet. In a rule of a recursive stratum every computed term is brought back into a
finite range, so that evaluation ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from oracle.rules import Call, Const, Record, Term, Value, Var, Wild

T = TypeVar("T")

RECORDS = {"Pair": ("number", "number"), "List": ("number", "List")}
DOMAINS: dict[str, tuple[Value, ...]] = {
    "number": (0, 1, 2, 3, 4, -1),
    "symbol": ("a", "b", "ab", ""),
    "unsigned": (0, 1, 2, 3),
    "float": (0.5, 1.0, 1.5, 2.0),
    "Pair": ((0, 1), (1, 1), (1, 2), (2, 0), None),
    "List": (None, (1, None), (2, None), (1, (2, None)), (0, (1, (1, None)))),
}
MODULUS = 5


@dataclass
class Scope:
    """The random choices for one rule."""

    random: Random
    recursive: bool
    prefix: str = "x"
    variables: list[Var] = field(default_factory=list)

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def pick(self, options: Sequence[T]) -> T:
        return self.random.choice(options)

    def bound(self, *kinds: str) -> list[Var]:
        return [variable for variable in self.variables if variable.kind in kinds]

    def fresh(self, kind: str) -> Var:
        """A new variable; it counts as bound from here on."""
        variable = Var(f"{self.prefix}{len(self.variables)}", kind)
        self.variables.append(variable)
        return variable

    def constant(self, kind: str) -> Const:
        return Const(self.pick(DOMAINS[kind]), kind) if kind not in RECORDS else Const(None, kind)

    def patterns(self, kinds: Sequence[str], percent_bound: int) -> tuple[Term, ...]:
        """Arguments of a positive atom, which join with what is bound; now and then two of them are the same."""
        before = list(self.variables)
        return tuple(self.pattern(kind, before, percent_bound) for kind in kinds)

    def pattern(self, kind: str, before: list[Var], percent_bound: int) -> Term:
        """An argument that joins, binds, selects or ignores."""
        known = [variable for variable in before if variable.kind == kind]
        if known and self.chance(percent_bound):
            return self.pick(known)
        if self.bound(kind) and self.chance(7):
            return self.pick(self.bound(kind))
        match self.random.randrange(20):
            case 0:
                return self.constant(kind)
            case 1 | 2:
                return Wild(kind)
            case 3 | 4 | 5 | 6 | 7 | 8 if kind in RECORDS:
                return Record(tuple(self.pattern(part, before, 30) for part in RECORDS[kind]), kind)
        return self.fresh(kind)

    def known_value(self, kind: str) -> Term:
        """A bound variable or a constant."""
        known = self.bound(kind)
        return self.pick(known) if known and self.chance(85) else self.constant(kind)

    def head_term(self, kind: str) -> Term:
        known = self.bound(kind)
        if known and self.chance(65 if self.recursive else 80):
            return self.pick(known)
        return self.expression(kind) if self.chance(75) else self.constant(kind)

    def expression(self, kind: str) -> Term:
        """A computed term of a kind; within a finite range in a recursive rule."""
        match kind:
            case "number":
                return self.bounded(self.number(), kind)
            case "unsigned":
                return self.bounded(self.unsigned(), kind)
            case "float":
                term = Call("+", (self.known_value(kind), self.known_value(kind)), kind)
                return Call("min", (term, Const(2.0, kind)), kind) if self.recursive else term
            case "symbol":
                term = self.symbol()
                zero, two = Const(0, "number"), Const(2, "number")
                return Call("substr", (term, zero, two), kind) if self.recursive else term
            case "Pair":
                return Record((self.known_value("number"), self.known_value("number")), kind)
        if self.recursive:
            return Const(None, kind)
        return Record((self.known_value("number"), self.known_value("List")), kind)

    def bounded(self, term: Term, kind: str) -> Term:
        return Call("%", (term, Const(MODULUS, kind)), kind) if self.recursive else term

    def number(self) -> Term:
        kind = "number"
        value = self.known_value(kind)
        match self.random.randrange(10):
            case 0 | 1 | 7 | 8:
                return Call(self.pick("++-*"), (value, self.known_value(kind)), kind)
            case 2:
                return Call(self.pick("/%"), (value, Const(self.pick((2, 3, -2, -3)), kind)), kind)
            case 3:
                functor = self.pick(("band", "bor", "bxor", "land", "lor", "lxor", "min", "max"))
                return Call(functor, (value, self.known_value(kind)), kind)
            case 4:
                return Call(self.pick(("-", "bnot", "lnot")), (value,), kind)
            case 5:
                amount = Const(self.pick((0, 1, 2, 65)), kind)
                return Call(self.pick(("bshl", "bshr", "bshru")), (value, amount), kind)
            case 6:
                small = Call("%", (value, Const(MODULUS, kind)), kind)
                return Call("^", (small, Const(self.pick((0, 1, 2, 3)), kind)), kind)
        known = self.bound("symbol", "unsigned")
        if not known:
            return Call("+", (value, Const(1, kind)), kind)
        other = self.pick(known)
        return Call("strlen" if other.kind == "symbol" else "to_number", (other,), kind)

    def unsigned(self) -> Term:
        kind = "unsigned"
        value, other = self.known_value(kind), self.known_value(kind)
        if self.chance(30):
            return Call(self.pick("/%"), (value, Const(self.pick((2, 3)), kind)), kind)
        return Call(self.pick(("+", "-", "*", "band", "bxor", "max", "bshr")), (value, other), kind)

    def symbol(self) -> Term:
        kind = "symbol"
        numbers = self.bound("number")
        if numbers and self.chance(30):
            return Call("to_string", (self.pick(numbers),), kind)
        if self.chance(30):
            start, length = (Const(self.pick((0, 1, 2, 7)), "number") for _ in range(2))
            return Call("substr", (self.known_value(kind), start, length), kind)
        return Call("cat", (self.known_value(kind), self.known_value(kind)), kind)
