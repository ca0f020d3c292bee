"""The grounding kit of a program: directions, grounding signals and join orders, Z-sets of numbers (paper, 4.2 and
4.3).

A program is a Z-set of rules, and rules are numbered; so are prefixes, heads, relations and orders. The functions are
linear: the kit of a change is the change of the kit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from whence.circuit.zset import Row, ZSet
from whence.lang.program import Atom, Const, Negation, Rule, Var

from .prefixes import Prefix, Prefixes

T = TypeVar("T")

STRATUM = 1 << 32  # ticks of the loop from the beginning of a stratum to that of the next


@dataclass(frozen=True)
class Order:
    """The columns by which tuples of a relation are looked up. `keys_only` is that of a negated atom: of these columns
    the distinct values are wanted, and not the tuples."""

    relation: str
    columns: tuple[int, ...]
    keys_only: bool = False


class Numbers(Generic[T]):
    """A number for each of some things, from 0 on."""

    def __init__(self) -> None:
        self.things: list[T] = []
        self._numbers: dict[T, int] = {}

    def of(self, thing: T) -> int:
        if thing not in self._numbers:
            self._numbers[thing] = len(self.things)
            self.things.append(thing)
        return self._numbers[thing]

    def __getitem__(self, number: int) -> T:
        return self.things[number]


def join_order(read: Atom | Negation, known: tuple[Var, ...]) -> Order:
    """What an atom is looked up by: its constants, and the variables that the rewrite has by then."""
    atom = read.atom if isinstance(read, Negation) else read
    columns = tuple(i for i, arg in enumerate(atom.args) if isinstance(arg, Const) or arg in known)
    return Order(atom.relation, columns, isinstance(read, Negation))


class Kit:
    """The numbers of a program's parts, and the functions sig, dir and jorder."""

    def __init__(self) -> None:
        self.rules: Numbers[tuple[Rule, int]] = Numbers()
        self.prefixes = Prefixes()
        self.heads: Numbers[Atom] = Numbers()
        self.orders: Numbers[Order] = Numbers()

    def program(self, rules: dict[tuple[Rule, int], int]) -> ZSet:
        """A Z-set of rules, each with its stratum."""
        return ZSet.of({(self.rules.of(rule),): weight for rule, weight in rules.items()}, arity=1)

    def directions(self, program: ZSet) -> ZSet:
        """dir: a prefix, the next one, and when the rule begins to hold."""
        return self._each(program, 3, self._directions)

    def signals(self, program: ZSet) -> ZSet:
        """sig: the prefix that is the whole body, the head, and when the rule begins to hold."""
        return self._each(program, 3, self._signals)

    def join_orders(self, program: ZSet) -> ZSet:
        """jorder: how relations are looked up."""
        return self._each(program, 1, self._join_orders)

    def _each(self, program: ZSet, arity: int, function) -> ZSet:  # type: ignore[no-untyped-def]
        total: dict[Row, int] = {}
        for (number,), weight in program:
            rule, stratum = self.rules[number]
            for row in function(rule, stratum * STRATUM):
                total[row] = total.get(row, 0) + weight
        return ZSet.of(total, arity)

    def _directions(self, rule: Rule, begin: int) -> Iterator[Row]:
        for prefix in self.prefixes.of(rule)[0]:
            yield prefix.before, prefix.provenance, begin

    def _signals(self, rule: Rule, begin: int) -> Iterator[Row]:
        prefixes, head = self.prefixes.of(rule)
        yield prefixes[-1].provenance, self.heads.of(head), begin

    def _join_orders(self, rule: Rule, begin: int) -> Iterator[Row]:
        for prefix in self.prefixes.of(rule)[0]:
            order = self.order(prefix)
            if order is not None:
                yield (self.orders.of(order),)

    def rule_with(self, provenance: int) -> Rule:
        """The newest rule that has a prefix."""
        for rule, _ in reversed(self.rules.things):
            if any(prefix.provenance == provenance for prefix in self.prefixes.of(rule)[0]):
                return rule
        raise AssertionError(f"no rule has the prefix {provenance}")

    def order(self, prefix: Prefix) -> Order | None:
        read = prefix.step.reads
        return None if read is None else join_order(read, self.prefixes.kept(prefix.before))
