"""One level of proofs by backward search (002, 4.3.3): for many tuples at once, an instantiation that derives each.

The iteration orders proofs (6.3): in an instantiation that belongs to a proof of minimal height, every tuple of the
same stratum has a smaller iteration than the tuple it derives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from whence.engines.local.table import Rows, Words
from whence.explain.backward import Backward, backward, with_named_columns
from whence.explain.conjunction import FAILURES, Conjunction
from whence.explain.state import Flags, State
from whence.lang.program import Aggregate, Atom, Comparison, Rule, Span, Var

Key = tuple[str, tuple[int, ...]]  # a tuple: its relation and its encoded values

TOGETHER = 1 << 12  # tuples that are searched for in one run
LOOKED_AT = 64  # instantiations of a tuple that are compared with each other
ROWS_EACH = 2048  # instantiations of a tuple, on average, before those that have none yet are searched one by one
ROWS_AT_LEAST = 1 << 19
MEMBERS = 10  # tuples of an aggregate that are shown


@dataclass(frozen=True, slots=True)
class Members:
    """Tuples that an aggregate ranges over: some of them, and how many more there are."""

    tuples: tuple[Key, ...]
    more: int


@dataclass(frozen=True, slots=True)
class Step:
    """An instantiation of a rule: the values of its variables, its tuples in the order of the body's positive atoms,
    and for each aggregate what it ranges over."""

    rule: Backward
    values: tuple[int, ...]
    tuples: tuple[Key, ...]
    members: tuple[Members, ...]

    @property
    def shown(self) -> tuple[Span, tuple[Key, ...]]:
        """The clause and the tuples. Steps that agree in them read alike: the parts of a disjunction, and the heads of
        a clause, are rules of their own."""
        return self.rule.rule.origin, self.tuples


class Order(Protocol):
    """Which instantiations belong to the proofs that are wanted."""

    def fits(self, relation: str, rows: Rows, atoms: Sequence[tuple[str, Rows]]) -> tuple[Flags, Words]:
        """For each instantiation of a tuple of `relation`: whether it fits, and what it costs; fewer is better."""
        ...


class ByIteration:
    """The order that the state keeps: stratum, then iteration."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.stratum = {name: i for i, one in enumerate(state.program.strata) for name in one.relations}

    def fits(self, relation: str, rows: Rows, atoms: Sequence[tuple[str, Rows]]) -> tuple[Flags, Words]:
        own = self.stratum[relation]
        limit = self.state.annotation(relation, rows).iteration
        fit = np.ones(len(rows), np.bool_)
        cost = np.zeros(len(rows), np.int64)
        for name, body_rows in atoms:
            if self.stratum[name] == own:
                iteration = self.state.annotation(name, body_rows).iteration
                fit &= iteration < limit
                cost += iteration
        return fit, cost

    def cost(self, atoms: Sequence[tuple[str, Rows]]) -> Words:
        """Of lower strata too: what was derived late there has a high proof of its own."""
        parts = [self.state.annotation(name, rows).iteration for name, rows in atoms if len(rows)]
        return np.sum(parts, axis=0) if parts else np.zeros(0, np.int64)


class Search:
    def __init__(self, state: State, order: Order | None = None) -> None:
        self.state = state
        self.by_iteration = ByIteration(state)
        self.order = order or self.by_iteration
        self.rules: dict[str, list[Backward]] = defaultdict(list)
        for rule in state.program.rules:
            self.rules[rule.head.relation].append(backward(rule))
        self._conjunctions: dict[int, Conjunction] = {}
        self._inside: dict[int, tuple[Conjunction, tuple[Atom, ...]]] = {}

    def number(self, rule: Rule) -> int:
        """The number of the clause that a rule was written as, in the program."""
        origins = dict.fromkeys((one.origin.line, one.origin.column) for one in self.state.program.rules)
        return list(origins).index((rule.origin.line, rule.origin.column)) + 1

    # One level

    def steps(self, keys: Iterable[Key]) -> dict[Key, Step]:
        """For each tuple an instantiation that belongs to a proof of it; none for input and for absent tuples."""
        by_relation: dict[str, list[tuple[int, ...]]] = defaultdict(list)
        for relation, values in keys:
            by_relation[relation].append(values)
        found: dict[Key, Step] = {}
        for relation, tuples in by_relation.items():
            for start in range(0, len(tuples), TOGETHER):
                rows = as_rows(tuples[start : start + TOGETHER], self.state.program.relations[relation].arity)
                found |= self._best(relation, rows)
        return found

    def _best(self, relation: str, rows: Rows) -> dict[Key, Step]:
        """The cheapest fitting instantiation of each row."""
        best: dict[int, tuple[int, Backward, Conjunction, Words]] = {}
        for rule in self.rules[relation]:
            conjunction = self._conjunction(rule)
            for numbers, costs, instantiations in self._fitting(relation, rows, rule, conjunction):
                first = np.lexsort((*instantiations.T[:0:-1], costs, numbers))  # of equal ones, the least values
                chosen = first[np.unique(numbers[first], return_index=True)[1]]
                for place in chosen.tolist():
                    number, cost = int(numbers[place]), int(costs[place])
                    if number not in best or cost < best[number][0]:
                        best[number] = (cost, rule, conjunction, instantiations[place])
        by_rule: dict[int, list[int]] = defaultdict(list)
        for number, (_, rule, _, _) in sorted(best.items()):
            by_rule[id(rule)].append(number)
        found: dict[Key, Step] = {}
        for numbers_of_rule in by_rule.values():
            _, rule, conjunction, _ = best[numbers_of_rule[0]]
            matrix = np.stack([best[number][3] for number in numbers_of_rule])
            for number, step in zip(numbers_of_rule, self._as_steps(rule, conjunction, matrix), strict=True):
                found[relation, tuple(rows[number].tolist())] = step
        return found

    def _fitting(
        self, relation: str, rows: Rows, rule: Backward, conjunction: Conjunction
    ) -> Iterator[tuple[Words, Words, Rows]]:
        """Instantiations that fit, with the numbers of their rows and their costs: of every row some, if it has any."""
        budget = max(ROWS_AT_LEAST, ROWS_EACH * len(rows))
        left = np.ones(len(rows), np.bool_)
        seen = 0
        try:
            for block in conjunction.run(rows):
                seen += len(block)
                found = self._fits(relation, rows, rule, conjunction, block)
                if len(found[0]):
                    left[found[0]] = False
                    yield found
                if seen > budget:
                    break
        except FAILURES:
            yield self._fits(relation, rows, rule, conjunction, conjunction.careful(rows))
            return
        if seen <= budget:
            return
        for number in np.flatnonzero(left).tolist():
            for block in conjunction.run(rows[number : number + 1]):
                block[:, 0] = number
                found = self._fits(relation, rows, rule, conjunction, block)
                if len(found[0]):
                    yield found
                    break

    def _fits(
        self, relation: str, rows: Rows, rule: Backward, conjunction: Conjunction, block: Rows
    ) -> tuple[Words, Words, Rows]:
        atoms = [(atom.relation, conjunction.rows_of(atom, block)) for atom in rule.atoms]
        fit, cost = self.order.fits(relation, rows[block[:, 0]], atoms)
        kept = np.flatnonzero(fit)
        kept = kept[_rank(block[kept, 0]) < LOOKED_AT]
        if len(kept) and self.order is self.by_iteration:
            cost = np.zeros(len(block), np.int64)
            cost[kept] = self.by_iteration.cost([(name, body_rows[kept]) for name, body_rows in atoms])
        return block[kept, 0], cost[kept], block[kept]

    # All one-step derivations

    def derivations(self, key: Key, most: int | None = None) -> list[Step]:
        """Every clause and tuples that derive a tuple: those of its minimal proofs first, then by what they rest on."""
        relation, values = key
        row = as_rows([values], self.state.program.relations[relation].arity)
        ranked: list[tuple[tuple[bool, int, int], Step]] = []
        for number, rule in enumerate(self.rules[relation]):
            conjunction = self._conjunction(rule)
            try:
                block = conjunction.all(row, most)
            except FAILURES:
                block = conjunction.careful(row)
            if not len(block):
                continue
            atoms = [(atom.relation, conjunction.rows_of(atom, block)) for atom in rule.atoms]
            fit, cost = self.order.fits(relation, row[block[:, 0]], atoms)
            if self.order is self.by_iteration and atoms:
                cost = self.by_iteration.cost(atoms)
            steps = self._as_steps(rule, conjunction, block)
            order = zip((~fit).tolist(), cost.tolist(), steps, strict=True)
            ranked += [((unfit, price, number), step) for unfit, price, step in order]
        ranked.sort(key=lambda pair: pair[0])
        different = {step.shown: step for _, step in reversed(ranked)}
        return list(reversed(different.values()))[:most]

    # Instantiations

    def _conjunction(self, rule: Backward) -> Conjunction:
        known = self._conjunctions.get(id(rule))
        if known is None:
            known = self._conjunctions[id(rule)] = Conjunction(self.state, rule.literals, rule.given)
        return known

    def _as_steps(self, rule: Backward, conjunction: Conjunction, block: Rows) -> list[Step]:
        tuples: list[list[Key]] = [[] for _ in range(len(block))]
        for atom in rule.atoms:
            rows = conjunction.rows_of(atom, block).tolist()
            for place, row in enumerate(rows):
                tuples[place].append((atom.relation, tuple(row)))
        members = [
            self._members(literal, conjunction, block) for literal in rule.body if isinstance(literal, Aggregate)
        ]
        wanted = [1 + conjunction.variables.index(variable) for variable in rule.variables]
        values = block[:, wanted].tolist()
        return [
            Step(rule, tuple(values[place]), tuple(tuples[place]), tuple(one[place] for one in members))
            for place in range(len(block))
        ]

    def _members(self, aggregate: Aggregate, outer: Conjunction, block: Rows) -> list[Members]:
        """What an aggregate ranges over in each instantiation; of a minimum or maximum, what reaches it first."""
        if id(aggregate) not in self._inside:
            body = with_named_columns(aggregate.body)
            given: tuple[Var, ...] = (*aggregate.outer, aggregate.result)
            reached = Var("m ", aggregate.result.kind)
            target = (Comparison("=", reached, aggregate.target),) if aggregate.target is not None else ()
            atoms = tuple(literal for literal in body if isinstance(literal, Atom))
            self._inside[id(aggregate)] = (Conjunction(self.state, (*body, *target), given), atoms)
        conjunction, atoms = self._inside[id(aggregate)]
        source = np.empty((len(block), len(conjunction.given)), np.int64)
        for column, variable in enumerate(conjunction.given):
            source[:, column] = outer.column(variable, block)
        inside = conjunction.all(source)
        inside = inside[np.lexsort(inside.T[::-1])]
        if aggregate.op in ("min", "max"):
            reached_at = 1 + next(i for i, v in enumerate(conjunction.variables) if v.name == "m ")
            result_at = 1 + conjunction.variables.index(aggregate.result)
            inside = inside[np.argsort(inside[:, reached_at] != inside[:, result_at], kind="stable")]
        tuples: list[dict[Key, None]] = [{} for _ in range(len(block))]
        numbers = inside[:, 0].tolist()
        for atom in atoms:
            for number, row in zip(numbers, conjunction.rows_of(atom, inside).tolist(), strict=True):
                tuples[number][atom.relation, tuple(row)] = None
        return [Members(tuple(found)[:MEMBERS], max(0, len(found) - MEMBERS)) for found in tuples]


def as_rows(tuples: Sequence[tuple[int, ...]], arity: int) -> Rows:
    return np.array(tuples, np.int64).reshape(len(tuples), arity)


def _rank(numbers: Words) -> Words:
    """The how-manieth of its number each one is, counted from 0."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    starts = np.searchsorted(ordered, ordered, side="left")
    ranks = np.empty(len(numbers), np.int64)
    ranks[order] = np.arange(len(numbers)) - starts
    return ranks
