"""The value of a metric for every tuple of a state: the annotations of 002, 4.3.2, as a second evaluation.

Most of it need not be done. In a stratum that reads only input, the height of a tuple is its iteration. In one that is
not recursive, the value of a tuple follows from its one-step derivations, and is found when it is asked for. What is
left are recursive strata over tuples of different values; they are evaluated once more, small values first, and values
are lowered until none changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from whence.engines.local.table import Rows, Words
from whence.explain.backward import Backward, backward
from whence.explain.conjunction import FAILURES, Conjunction
from whence.explain.metrics import HEIGHT, MOST, Metric, combined
from whence.explain.search import ByIteration
from whence.explain.state import Flags, State
from whence.lang.program import Aggregate, Atom, Comparison, Stratum, Var

UNKNOWN = np.int64(1 << 62)
BLOCK = 1 << 18
AT_ONCE = 1 << 13  # tuples whose derivations are looked at in one run


@dataclass(frozen=True)
class Forward:
    """A rule that is given one of its atoms: what it then derives."""

    rule: Backward
    relation: str
    conjunction: Conjunction


class ByMetric:
    """An order of proofs: an instantiation fits if its value is the least that the tuple has."""

    def __init__(self, state: State, metric: Metric) -> None:
        self.state = state
        self.metric = metric
        self.by_iteration = ByIteration(state)
        self._values: dict[str, Words] = {}  # of recursive strata, and of others as far as asked for
        self._strata = {name: stratum for stratum in state.program.strata for name in stratum.relations}
        self._rules: dict[str, list[tuple[Backward, Conjunction]]] = {}
        self.evaluated: list[Stratum] = []  # those that were evaluated a second time

    @property
    def nbytes(self) -> int:
        """Bytes that the values take."""
        return sum(values.nbytes for values in self._values.values())

    def fits(self, relation: str, rows: Rows, atoms: Sequence[tuple[str, Rows]]) -> tuple[Flags, Words]:
        wanted = self.values(relation, rows)
        found = self._combined([self.values(name, body) for name, body in atoms], len(rows))
        fit, cost = found == wanted, found - wanted
        endless = wanted >= MOST  # values that have stopped growing do not order proofs any more
        if endless.any():
            order, _ = self.by_iteration.fits(relation, rows, atoms)
            fit &= order | ~endless
        return fit, cost

    def values(self, relation: str, rows: Rows) -> Words:
        """The value of each of some tuples, all of which are there."""
        stratum = self._strata[relation]
        if not stratum.rules:
            return np.full(len(rows), self.metric.leaf, np.int64)
        if self._is_iteration(stratum):
            return self.state.annotation(relation, rows).iteration
        self._prepare(stratum)
        places = self._places(relation, rows)
        if not stratum.recursive:
            self._look_up(relation, rows, places)
        return self._values[relation][places]

    def _is_iteration(self, stratum: Stratum) -> bool:
        """Whether heights are iterations: everything that the stratum reads from others is input."""
        return self.metric is HEIGHT and all(
            atom.relation in stratum.relations or not self._strata[atom.relation].rules
            for rule in stratum.rules
            for atom in rule.body
            if isinstance(atom, Atom)
        )

    def _prepare(self, stratum: Stratum) -> None:
        if stratum.relations[0] in self._values:
            return
        for name in stratum.relations:
            columns = tuple(Var(f"q {i}", c.kind) for i, c in enumerate(self.state.program.relations[name].columns))
            self.state.require([Atom(name, columns)], (), np.empty((1, 0), np.int64))
            table = self.state.tables.stored[name].table
            values = np.full(len(table), UNKNOWN, np.int64)
            for start in range(0, len(table), BLOCK):
                block = slice(start, start + BLOCK)
                values[block][self.state.annotation(name, table.rows[block]).iteration == 0] = self.metric.leaf
            self._values[name] = values
        if stratum.recursive:
            self._evaluate(stratum)
            self.evaluated.append(stratum)

    def _places(self, relation: str, rows: Rows) -> Words:
        return self.state.tables.stored[relation].table.locate(np.ascontiguousarray(rows).reshape(-1), len(rows))

    # Strata that are not recursive: when asked for

    def _look_up(self, relation: str, rows: Rows, places: Words) -> None:
        values = self._values[relation]
        missing = np.flatnonzero(values[places] == UNKNOWN)
        _, first = np.unique(places[missing], return_index=True)
        missing = missing[first]
        for start in range(0, len(missing), AT_ONCE):
            some = missing[start : start + AT_ONCE]
            for rule, conjunction in self._backward(relation):
                for block in self._blocks(conjunction, rows[some]):
                    found = self._of_block(rule, conjunction, block)
                    np.minimum.at(values, places[some][block[:, 0]], found)

    def _backward(self, relation: str) -> list[tuple[Backward, Conjunction]]:
        if relation not in self._rules:
            rules = [backward(rule) for rule in self._strata[relation].rules if rule.head.relation == relation]
            self._rules[relation] = [(rule, Conjunction(self.state, rule.literals, rule.given)) for rule in rules]
        return self._rules[relation]

    def _blocks(self, conjunction: Conjunction, rows: Rows) -> Iterator[Rows]:
        """All instantiations; after a failure, once more."""
        try:
            yield from conjunction.run(rows)
        except FAILURES:
            yield conjunction.careful(rows)

    def _of_block(self, rule: Backward, conjunction: Conjunction, block: Rows) -> Words:
        values = [self._known(atom.relation, conjunction.rows_of(atom, block)) for atom in rule.atoms]
        return self._combined(values, len(block))

    def _known(self, relation: str, rows: Rows) -> Words:
        """The values of tuples as far as they are known; of a stratum that is being evaluated, so far."""
        if relation in self._values and self._strata[relation].recursive:
            return self._values[relation][self._places(relation, rows)]
        return self.values(relation, rows)

    def _combined(self, values: Sequence[Words], count: int) -> Words:
        if not values:
            return np.repeat(combined(self.metric, []), count)
        known = np.ones(count, np.bool_)
        for value in values:
            known &= value != UNKNOWN
        result = np.full(count, UNKNOWN, np.int64)
        result[known] = combined(self.metric, [value[known] for value in values])
        return result

    # Recursive strata: evaluated again

    def _evaluate(self, stratum: Stratum) -> None:
        rules = [backward(rule) for rule in stratum.rules]
        changed = {name: self._values[name] != UNKNOWN for name in stratum.relations}
        recursive: list[Forward] = []
        for rule in rules:
            places = [i for i, part in enumerate(rule.body) if isinstance(part, Atom) and part.relation in changed]
            recursive += [self._given_atom(rule, place) for place in places]
            if not places:
                conjunction = Conjunction(self.state, (*rule.equations, *rule.body), ())
                self._lower(rule, conjunction, np.empty((1, 0), np.int64), changed)
        while any(flags.any() for flags in changed.values()):
            least = min(int(self._values[name][flags].min()) for name, flags in changed.items() if flags.any())
            limit = least + abs(least) // 4  # some at once: a few are lowered again, but there are fewer rounds
            taken: dict[str, Rows] = {}
            for name, flags in changed.items():
                least_ones = np.flatnonzero(flags & (self._values[name] <= limit))
                flags[least_ones] = False
                taken[name] = self.state.tables.stored[name].table.rows[least_ones]
            for forward in recursive:
                if len(taken[forward.relation]):
                    self._lower(forward.rule, forward.conjunction, taken[forward.relation], changed)

    def _given_atom(self, rule: Backward, place: int) -> Forward:
        """The rule with one of its atoms given: a variable for each column, and equations where that is not enough."""
        atom = rule.body[place]
        assert isinstance(atom, Atom)
        given: list[Var] = []
        equations: list[Comparison] = []
        results = {literal.result.name for literal in rule.body if isinstance(literal, Aggregate)}
        for column, term in enumerate(atom.args):
            if isinstance(term, Var) and term not in given and term.name not in results:
                given.append(term)
            else:
                given.append(Var(f"g {column}", term.kind))
                equations.append(Comparison("=", given[-1], term))
        rest = [*equations, *rule.equations, *rule.body[:place], *rule.body[place + 1 :]]
        return Forward(rule, atom.relation, Conjunction(self.state, rest, given))

    def _lower(self, rule: Backward, conjunction: Conjunction, source: Rows, changed: dict[str, Flags]) -> None:
        """Lowers the values of what a rule derives."""
        head = rule.rule.head.relation
        values, flags = self._values[head], changed[head]
        for block in self._blocks(conjunction, source):
            found = self._of_block(rule, conjunction, block)
            places = self._places(head, conjunction.rows_of(Atom(head, rule.given), block))
            better = found < values[places]
            if better.any():
                np.minimum.at(values, places[better], found[better])
                flags[places[better]] = True
