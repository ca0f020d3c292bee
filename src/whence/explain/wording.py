"""Tuples and instantiated literals in the user's words: values as they are written in a program, no generated names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from whence.engines.local.table import Rows
from whence.explain.backward import Backward, types_of
from whence.explain.search import Key, Step, as_rows
from whence.explain.state import State
from whence.lang.program import Atom, Comparison, Literal, Record, Var
from whence.plan.text import literal_text, made_up, term_text, tuple_text, value_text


class Wording:
    def __init__(self, state: State) -> None:
        self.state = state
        program = state.program
        self._columns = {
            name: tuple(column.type for column in relation.columns) for name, relation in program.relations.items()
        }
        self._types: dict[int, dict[str, str]] = {}
        self._made_up: dict[int, dict[str, str]] = {}

    # Tuples

    def values(self, keys: Iterable[Key]) -> dict[Key, tuple[Any, ...]]:
        """The Python values of tuples."""
        by_relation: dict[str, list[Key]] = defaultdict(list)
        for key in keys:
            by_relation[key[0]].append(key)
        found: dict[Key, tuple[Any, ...]] = {}
        for name, group in by_relation.items():
            relation = self.state.program.relations[name]
            rows = as_rows([values for _, values in group], relation.arity)
            decoded = [
                self.state.tables.values.decode(rows[:, i], column.type, column.kind)
                for i, column in enumerate(relation.columns)
            ]
            found |= zip(group, zip(*decoded, strict=True) if decoded else [()] * len(group), strict=True)
        return found

    def tuple_texts(self, keys: Iterable[Key]) -> dict[Key, str]:
        return {key: tuple_text(key[0], values) for key, values in self.values(keys).items()}

    # Literals

    def names_of(self, rule: Backward, variables: Sequence[Var], matrix: Rows) -> list[dict[str, str]]:
        """For each instantiation, the text of each variable's value; of made-up variables without one, what they
        stand for."""
        types = self.types(rule)
        base = self.made_up(rule)
        columns: list[list[str]] = []
        known: list[str] = []
        for place, variable in enumerate(variables):
            type_name = types.get(variable.name)
            if variable.kind == "record" and type_name is None:
                continue
            decoded = self.state.tables.values.decode(matrix[:, place], type_name or "", variable.kind)
            columns.append([value_text(value) for value in decoded])
            known.append(variable.name)
        if not columns:
            return [dict(base) for _ in range(len(matrix))]
        return [base | dict(zip(known, texts, strict=True)) for texts in zip(*columns, strict=True)]

    def types(self, rule: Backward) -> dict[str, str]:
        found = self._types.get(id(rule))
        if found is None:
            literals = (*rule.equations, *rule.body)
            head = Atom(rule.rule.head.relation, rule.given)
            found = types_of(head, literals, self._columns, dict(self.state.program.types))
            self._types[id(rule)] = found
        return found

    def made_up(self, rule: Backward) -> dict[str, str]:
        found = self._made_up.get(id(rule))
        if found is None:
            columns = {given.name: f"column {i + 1}" for i, given in enumerate(rule.given) if " " in given.name}
            found = self._made_up[id(rule)] = columns | made_up(rule.body)
        return found

    def step_texts(self, steps: Sequence[Step]) -> list[list[str | None]]:
        """For steps of one rule: the text of each literal of its body, None where nothing is to be said."""
        rule = steps[0].rule
        matrix = as_rows([step.values for step in steps], len(rule.variables))
        return [
            [None if self.says_nothing(literal, names) else literal_text(literal, names) for literal in rule.body]
            for names in self.names_of(rule, rule.variables, matrix)
        ]

    def says_nothing(self, literal: Literal, names: dict[str, str]) -> bool:
        """Whether an instantiated literal only repeats how a term was moved out of its place."""
        if not isinstance(literal, Comparison) or literal.op != "=":
            return False
        sides = (literal.left, literal.right)
        generated = any(isinstance(side, Var) and " " in side.name for side in sides)
        written = any(isinstance(side, Var | Record) for side in sides)
        return (generated or not written) and term_text(sides[0], names) == term_text(sides[1], names)
