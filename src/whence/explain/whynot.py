"""Why a tuple is not there (002, 4.3.4): for every rule that could have made it, the instantiation that fails least.

The paper asks the user for a rule and a value for each free variable. Here both are found: parts of the body are left
out, one, then two, and so on, until the rest holds; what had to be left out is what fails. Since no smaller choice
was enough, each of these parts fails for every value that is left open. Who knows better can fix rule and values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Literal as OneOf

import numpy as np

from whence.engines.local.table import Rows
from whence.explain.backward import Backward, outside
from whence.explain.conjunction import FAILURES, Conjunction, OutOfTime
from whence.explain.proof import Builder, Node, RuleText
from whence.explain.state import State
from whence.explain.wording import Wording
from whence.lang.program import Aggregate, Atom, Comparison, Const, Literal, Negation, Var
from whence.plan.text import literal_text, term_text

SUBSETS = 200  # of parts that are tried as the failing ones of a rule
OPTIONS = 50  # instantiations that fail equally, that are offered
SECONDS = 1.0  # for one of them
TOTAL = ("count", "sum")  # aggregates that always have a value

Status = OneOf["holds", "fails", "open"]
Values = Mapping[Var, int]  # of variables of a rule, encoded


@dataclass(frozen=True)
class Part:
    """A part of a rule's body. `open` means that it was not decided, because a variable of it has no value.

    `ask` is the atom that a further question would be about: why it is not there, or, of a negation, why it is.
    """

    text: str
    status: Status
    kind: OneOf["atom", "negation", "constraint", "aggregate"]
    ask: str | None = None
    why: WhyNot | None = None  # the answer, where it was given already
    proof: Node | None = None


@dataclass(frozen=True)
class Attempt:
    """A rule that could have made the tuple. `blocked` says why its head cannot match; otherwise `values` are those of
    its variables in the instantiation that fails least, `options` are others that fail as little."""

    rule: RuleText
    head: str
    blocked: str | None
    parts: tuple[Part, ...] = ()
    values: tuple[tuple[str, str], ...] = ()
    free: tuple[str, ...] = ()
    options: tuple[tuple[tuple[str, str], ...], ...] = ()

    @property
    def failing(self) -> int:
        return sum(part.status == "fails" for part in self.parts)

    @property
    def undecided(self) -> int:
        return sum(part.status == "open" for part in self.parts)


@dataclass(frozen=True)
class WhyNot:
    """Why nothing matches `text`. Of an input relation there are no attempts, but tuples that are `near`."""

    text: str
    relation: str
    is_input: bool
    attempts: tuple[Attempt, ...]
    near: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unit:
    """What holds or fails as one: a literal of the body, or an equation of the head with what follows from it."""

    literals: tuple[Literal, ...]
    in_head: bool = False
    asked: bool = False  # by the query, so that it is not for the rule to fail

    @property
    def main(self) -> Literal:
        return self.literals[0]

    @property
    def may_fail(self) -> bool:
        return not self.asked and not (isinstance(self.main, Aggregate) and self.main.op in TOTAL)


class Attempts:
    """The attempts of one rule at a tuple, of which some columns may be open."""

    def __init__(
        self, state: State, wording: Wording, builder: Builder, rule: Backward, same: Sequence[tuple[int, int]]
    ) -> None:
        """`same` are open columns that the query wants to be equal."""
        self.state = state
        self.wording = wording
        self.builder = builder
        self.rule = rule
        self.same = [Comparison("=", rule.given[one], rule.given[other]) for one, other in same]

    def best(self, columns: Sequence[int | None], chosen: Values) -> Attempt:
        """The attempt that fails least; `chosen` are values that the user wants variables to have."""
        values = {var: code for var, code in zip(self.rule.given, columns, strict=True) if code is not None}
        head = self._head(values)
        clash = [var for var, code in chosen.items() if values.get(var, code) != code]
        if clash:
            text = f"{clash[0].name} is {self._names(values)[clash[0].name]} here, by the head of the rule"
            return Attempt(self._text, head, text)
        values |= chosen
        blocked = self._blocked(values)
        if blocked is not None:
            return Attempt(self._text, head, blocked)
        found = self._least(values)
        if found is None:
            return self._undecided(values, head)
        left_out, conjunction, rows = found
        bound = dict(zip(conjunction.variables, rows[0, 1:].tolist(), strict=True))
        parts = tuple(self._parts(bound, left_out, conjunction))
        shown = self._shown(bound)
        options = [self._shown(dict(zip(conjunction.variables, row[1:].tolist(), strict=True))) for row in rows[1:]]
        others = tuple(option for option in dict.fromkeys(options) if option != shown)
        known = {var.name for var in bound}
        free = dict.fromkeys(var.name for var in self.rule.variables if " " not in var.name and var.name not in known)
        return Attempt(self._text, head, None, parts, shown, tuple(free), others)

    @property
    def _text(self) -> RuleText:
        return self.builder.rule_text(self.rule.rule)

    # The head

    def _head(self, values: Values) -> str:
        names = self._names(values)
        columns = [names[var.name] if var in values else "_" for var in self.rule.given]
        return f"{self.rule.rule.head.relation}({', '.join(columns)})"

    def _blocked(self, values: Values) -> str | None:
        """Which constant, record or repeated variable of the head the tuple does not fit."""
        names = self._names(values)
        for equation in self.rule.equations:
            own = equation.left
            if not isinstance(own, Var) or own not in values or self._status([equation], values) != "fails":
                continue
            column = self.rule.given.index(own) + 1
            wanted, given = term_text(equation.right, names), names[own.name]
            if isinstance(equation.right, Const):
                return f"column {column} of its head is {wanted}, not {given}"
            if isinstance(equation.right, Var):
                return f"its head has `{equation.right.name}` in column {column} too: {wanted}, not {given}"
            return f"column {column} of its head is {wanted}, which {given} cannot be"
        return None

    # The instantiation that fails least

    def _units(self, values: Values) -> list[Unit]:
        units = []
        for equation in self.rule.equations:
            if equation.left in values:
                solved = [one for one in self.rule.solved if equation.left in set(outside(one))]
                units.append(Unit((equation, *solved), in_head=True))
            else:
                units.append(Unit((equation,), in_head=True))
        units += [Unit((equation,), in_head=True, asked=True) for equation in self.same]
        return [*units, *(Unit((literal,)) for literal in self.rule.body)]

    def _least(self, values: Values) -> tuple[list[Unit], Conjunction, Rows] | None:
        """The fewest parts to leave out so that the rest holds, and how it then holds. What cannot be decided without
        the parts that are left out counts like them; so whatever is left out fails, or leaving it in was cheaper."""
        units = self._units(values)
        droppable = [unit for unit in units if unit.may_fail]
        tried = islice(((k, some) for k in range(len(droppable) + 1) for some in combinations(droppable, k)), SUBSETS)
        best: tuple[tuple[int, ...], list[Unit], Conjunction, Rows] | None = None
        for left_out, some in tried:
            if best is not None and left_out > best[0][0]:
                break
            rest = [literal for unit in units if unit not in some for literal in unit.literals]
            conjunction = Conjunction(self.state, rest, tuple(values))
            undecided = left_out + sum(unit.main in conjunction.open for unit in units if unit not in some)
            if best is not None and undecided > best[0][0]:
                continue
            found = self._some(conjunction, values)
            if found is None:
                continue
            unbound = len(self.rule.variables) - len(conjunction.variables)
            later = -max((units.index(unit) for unit in some), default=0)
            cost = (undecided, left_out, unbound, later)
            if best is None or cost < best[0]:
                best = (cost, list(some), conjunction, found)
        return best[1:] if best is not None else None

    def _some(self, conjunction: Conjunction, values: Values) -> Rows | None:
        source = np.array([list(values.values())], np.int64).reshape(1, len(values))
        try:
            found = conjunction.all(source, OPTIONS, SECONDS)
        except (*FAILURES, OutOfTime):
            return None
        return found if len(found) else None

    # Parts

    def _parts(self, bound: Values, left_out: Sequence[Unit], conjunction: Conjunction) -> Iterator[Part]:
        names = self._names(bound)
        for unit in self._units(bound):
            literal = unit.main
            if unit in left_out:
                status = self._status([literal], bound)
                if status == "holds" and not set(outside(literal)) <= set(bound):
                    status = "open"  # it holds for some value alone
            else:
                status = "open" if literal in conjunction.open else "holds"
            if status == "holds" and (unit.in_head or self.wording.says_nothing(literal, names)):
                continue
            yield self._part(literal, status, names, bound)

    def _part(self, literal: Literal, status: Status, names: Mapping[str, str], bound: Values) -> Part:
        text = literal_text(literal, names)
        match literal:
            case Atom():
                return Part(text, status, "atom", self._ask(literal, names, bound) if status == "fails" else None)
            case Negation(atom):
                return Part(text, status, "negation", self._ask(atom, names, bound) if status == "fails" else None)
            case Aggregate():
                return Part(text, status, "aggregate")
            case Comparison():
                return Part(text, status, "constraint")

    def _ask(self, atom: Atom, names: Mapping[str, str], bound: Values) -> str:
        """The atom as a query. A variable without a value is left open, or keeps a name if it occurs again."""
        unbound = [term for term in atom.args if isinstance(term, Var) and term not in bound]
        again = [term for term in dict.fromkeys(unbound) if unbound.count(term) > 1]
        own = dict(names) | {term.name: f"X{number}" for number, term in enumerate(again, 1)}
        columns = ["_" if term in unbound and term not in again else term_text(term, own) for term in atom.args]
        return f"{atom.relation}({', '.join(columns)})"

    def _status(self, literals: Sequence[Literal], bound: Values) -> Status:
        """Whether literals hold for some values of the variables that are not bound."""
        needed = {var for literal in literals for var in outside(literal)}
        known = {var: code for var, code in bound.items() if var in needed}
        conjunction = Conjunction(self.state, literals, tuple(known))
        if conjunction.open:
            return "open"
        source = np.array([list(known.values())], np.int64).reshape(1, len(known))
        try:
            return "holds" if len(conjunction.all(source, 1, SECONDS)) else "fails"
        except OutOfTime:
            return "open"
        except FAILURES:
            return "fails"  # it has no value

    def _undecided(self, values: Values, head: str) -> Attempt:
        """The parts each on its own, where no instantiation of most of them was found in time."""
        names = self._names(values)
        parts = [
            self._part(unit.main, self._status([unit.main], values), names, values)
            for unit in self._units(values)
            if not unit.in_head
        ]
        # What holds for some value alone need not hold together with the rest.
        parts = [replace(part, status="open") if part.status == "holds" else part for part in parts]
        return Attempt(self._text, head, None, tuple(parts), self._shown(values))

    # Words

    def _names(self, values: Values) -> dict[str, str]:
        matrix = np.array([list(values.values())], np.int64).reshape(1, len(values))
        return self.wording.names_of(self.rule, tuple(values), matrix)[0]

    def _shown(self, values: Values) -> tuple[tuple[str, str], ...]:
        """The variables that the user wrote, with their values."""
        names = self._names(values)
        return tuple((var.name, names[var.name]) for var in values if " " not in var.name and var.name in names)


def by_failing(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Those that fail least first; those that cannot match at all last."""
    return tuple(sorted(attempts, key=lambda a: (a.blocked is not None, a.failing, a.undecided, len(a.free))))
