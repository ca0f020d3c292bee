"""Questions about a state: why a tuple is there, why it is not, what matches a pattern."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from whence.engines.local.values import ValueMismatch
from whence.errors import WhenceError
from whence.explain.alternatives import proofs
from whence.explain.annotate import ByMetric
from whence.explain.backward import Backward
from whence.explain.conjunction import Conjunction
from whence.explain.metrics import Metric, named
from whence.explain.proof import Builder, Levels, Node, tuples_of
from whence.explain.search import Key, Search, as_rows
from whence.explain.state import State
from whence.explain.whynot import Attempts, Part, WhyNot, by_failing
from whence.explain.wording import Wording
from whence.lang import parse_atom
from whence.lang.program import Atom, Comparison, Const, Literal, Term, Var
from whence.plan.text import atom_text

NEAR = 5  # tuples that are shown because they are much like an absent one
MATCHES = 1000  # of a pattern, that are listed
BELOW = 100  # nodes of a proof that answers a further question
ITERATION = "iteration"  # the metric that the state itself is
NODES = 1000  # of a tree, after which it is cut unless a depth is asked for


@dataclass(frozen=True)
class Query:
    """A tuple or a pattern: an atom of variables and constants, with what the variables must equal."""

    atom: Atom
    equations: tuple[Literal, ...]
    text: str

    @property
    def open(self) -> bool:
        return any(isinstance(argument, Var) and " " not in argument.name for argument in self.atom.args) or any(
            argument.name.startswith("a ") for argument in self.atom.args if isinstance(argument, Var)
        )


class Explainer:
    """Answers questions about one state. It reads the state as it is at each question."""

    def __init__(self, state: State, metric: str | Metric | None = None) -> None:
        self.state = state
        self.wording = Wording(state)
        order = None if metric in (None, ITERATION) else ByMetric(state, named(metric))
        self.search = Search(state, order)
        self.builder = Builder(self.search, self.wording)

    # Queries

    def query(self, text: str) -> Query:
        atom = parse_atom(text, self.state.program)
        fresh = count(1)
        args: list[Term] = []
        equations: list[Literal] = []
        for term in atom.args:
            if isinstance(term, Const):
                args.append(term)
            elif isinstance(term, Var):
                args.append(Var(f"a {next(fresh)}", term.kind) if term.anonymous else term)
            else:
                args.append(Var(f"q {next(fresh)}", term.kind))
                equations.append(Comparison("=", args[-1], term))
        return Query(Atom(atom.relation, tuple(args)), tuple(equations), atom_text(atom))

    def matches(self, query: Query, most: int = MATCHES) -> tuple[list[Key], bool]:
        """The tuples that match, and whether there are more than are listed."""
        conjunction = Conjunction(self.state, (query.atom, *query.equations), ())
        found = conjunction.all(np.empty((1, 0), np.int64), most + 1)
        rows = conjunction.rows_of(query.atom, found).tolist()
        return [(query.atom.relation, tuple(row)) for row in rows[:most]], len(rows) > most

    def key(self, relation: str, values: Sequence[object]) -> Key:
        """The key of a tuple given by its values."""
        declared = self.state.program.relations[relation].columns
        codes = [
            int(self.state.tables.values.encode([value], column.type, column.kind)[0])
            for value, column in zip(values, declared, strict=True)
        ]
        return relation, tuple(codes)

    # Proofs

    def proof(self, key: Key, depth: int | None = None, nodes: int | None = NODES) -> Node:
        """A proof of a tuple that is there: `depth` levels of it, or as many as `nodes` allow."""
        levels = Levels(self.search)
        found = levels.grow(key, depth, None if depth is not None else nodes)
        return self.builder.tree(key, levels.steps, levels.iterations, found)

    def proofs(self, key: Key, depth: int | None = None, nodes: int | None = NODES) -> Iterator[Node]:
        """Proofs of a tuple one after the other, the one that `proof` gives first; no tuple rests on itself."""
        for steps, iterations in proofs(self.search, key):
            yield self.builder.tree(key, steps, iterations, depth)

    def derivations(self, key: Key, most: int | None = None) -> list[Node]:
        """All one-step derivations of a tuple, each as a tree of one level."""
        found = []
        for step in self.search.derivations(key, most):
            levels = Levels(self.search)
            levels.annotate([key, *tuples_of(step)])
            found.append(self.builder.tree(key, {key: step}, levels.iterations, 1))
        return found

    def present(self, key: Key) -> bool:
        relation = self.state.program.relations[key[0]]
        given = [Var(f"q {i}", column.kind) for i, column in enumerate(relation.columns)]
        rows = as_rows([key[1]], relation.arity)
        self.state.require([Atom(relation.name, tuple(given))], given, rows)
        return bool(self.state.annotation(relation.name, rows).present[0])

    # Absent tuples

    def why_not(self, query: Query, rule: int | None = None, values: Mapping[str, object] | None = None) -> WhyNot:
        """Why nothing matches: what every rule of the relation, or one of them, lacks."""
        relation = self.state.program.relations[query.atom.relation]
        columns = self.fixed(query)
        args = query.atom.args
        same = [(args.index(term), i) for i, term in enumerate(args) if isinstance(term, Var) and args.index(term) < i]
        rules = self.search.rules[relation.name]
        near = self._near(relation.name, columns)
        if not rules:
            return WhyNot(query.text, relation.name, True, (), near)
        wanted = [one for one in rules if rule is None or self.builder.rule_text(one.rule).number == rule]
        if not wanted:
            there = ", ".join(str(n) for n in dict.fromkeys(self.builder.rule_text(one.rule).number for one in rules))
            raise WhenceError(f"there is no rule {rule} of {relation.name}; its rules are {there}")
        attempts = []
        for one in wanted:
            chosen = self._chosen(one, values or {})
            if chosen is not None:
                attempts.append(Attempts(self.state, self.wording, self.builder, one, same).best(columns, chosen))
        if not attempts:
            raise WhenceError(f"no rule of {relation.name} that was asked about has {' and '.join(values or {})}")
        return WhyNot(query.text, relation.name, False, by_failing(attempts), near)

    def answered(self, why: WhyNot, levels: int, asked: frozenset[str] = frozenset()) -> WhyNot:
        """The same with the next question about each failing part answered, so many levels deep."""
        if levels == 0:
            return why
        asked |= {why.text}
        attempts = []
        for attempt in why.attempts:
            parts = [self._answered(part, levels, asked) for part in attempt.parts]
            attempts.append(replace(attempt, parts=tuple(parts)))
        return replace(why, attempts=tuple(attempts))

    def _answered(self, part: Part, levels: int, asked: frozenset[str]) -> Part:
        if part.ask is None or part.ask in asked:
            return part
        query = self.query(part.ask)
        if part.kind == "atom":
            return replace(part, why=self.answered(self.why_not(query), levels - 1, asked))
        found, _ = self.matches(query, 1)
        return replace(part, proof=self.proof(found[0], nodes=BELOW)) if found else part

    def fixed(self, query: Query) -> list[int | None]:
        """The value of each column that the query fixes."""
        conjunction = Conjunction(self.state, query.equations, ())
        found = conjunction.all(np.empty((1, 0), np.int64), 1)
        columns: list[int | None] = []
        for term in query.atom.args:
            if isinstance(term, Const):
                columns.append(self.state.tables.constant(term))
            else:
                known = len(found) and term in conjunction.variables
                columns.append(int(conjunction.column(term, found)[0]) if known else None)
        return columns

    def _chosen(self, rule: Backward, values: Mapping[str, object]) -> dict[Var, int] | None:
        """The user's values for variables of a rule; None if it has not all of them."""
        variables = {var.name: var for var in rule.variables if " " not in var.name}
        types = self.wording.types(rule)
        chosen: dict[Var, int] = {}
        for name, value in values.items():
            if name not in variables:
                return None
            var = variables[name]
            try:
                chosen[var] = int(self.state.tables.values.encode([value], types.get(name, ""), var.kind)[0])
            except ValueMismatch as error:
                raise WhenceError(f"{name}: {error}") from None
        return chosen

    def _near(self, relation: str, columns: Sequence[int | None]) -> tuple[str, ...]:
        """A few tuples that agree with the fixed columns in all but one."""
        fixed = [i for i, code in enumerate(columns) if code is not None]
        declared = self.state.program.relations[relation].columns
        args = tuple(Var(f"n {i}", column.kind) for i, column in enumerate(declared))
        found: dict[Key, None] = {}
        for other in fixed if len(fixed) > 1 else ():
            given = [i for i in fixed if i != other]
            conjunction = Conjunction(self.state, [Atom(relation, args)], [args[i] for i in given])
            rows = conjunction.all(np.array([[columns[i] for i in given]], np.int64), NEAR)
            found |= dict.fromkeys(
                (relation, tuple(row)) for row in conjunction.rows_of(Atom(relation, args), rows).tolist()
            )
        return tuple(self.wording.tuple_texts(list(found)[:NEAR]).values())
