"""Conditions and watches: a body in the language of rules, in which the variables of the current frame have the values
that they have there.

`X > 3, !edge(X, _)` asks for each row of the supplementary table. Relations are read as they are known at that point:
input in full, what is derived as far as the debugger has come.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from whence.errors import WhenceError
from whence.explain.conjunction import Conjunction, relations_of
from whence.explain.state import InMemory
from whence.lang import ProgramError
from whence.lang.program import Atom, Column, Literal, Program, Relation, Span, Var
from whence.lang.query import ANSWER, compile_query
from whence.step.database import Database
from whence.step.source import Shown
from whence.step.state import Known
from whence.step.value_table import ValueTable, distinct

HERE = "bindings_here"  # the relation of the current row, while a body is compiled
NOWHERE = Span("<query>", 1, 1, 1, 1)


@dataclass(frozen=True)
class Expression:
    """`ways` are the bodies of its alternatives; `columns` what it asks for."""

    text: str
    given: tuple[Var, ...]
    ways: tuple[tuple[tuple[Literal, ...], tuple[Var, ...]], ...]
    columns: tuple[Column, ...]

    def value(self, database: Database, bindings: ValueTable, known: Mapping[str, Known], final: bool = False) -> Shown:
        """The values of its variables: of those that are bound already, with which it holds, and of its own."""
        source = bindings.rows[:, [bindings.columns.index(variable) for variable in self.given]]
        source = distinct(np.ascontiguousarray(source))
        tables = database.tables if final else database.own
        found = []
        for literals, results in self.ways:
            for name in relations_of(literals) if not final else ():
                database.show(known, name)
            conjunction = Conjunction(InMemory(tables), literals, self.given)
            rows = conjunction.all(source)
            values = [np.empty((len(rows), 0), np.int64), *(conjunction.column(v, rows) for v in results)]
            found.append(np.column_stack(values))
        rows = distinct(np.concatenate(found).astype(np.int64)) if found else np.empty((0, 0), np.int64)
        names = tuple(column.name for column in self.columns)
        table = ValueTable(names, rows)
        return Shown(names, table, tuple(range(len(names))), self.columns, database.tables)

    def holds(self, database: Database, bindings: ValueTable, known: Mapping[str, Known]) -> bool:
        """Whether it holds for some row."""
        return len(self.value(database, bindings, known)) > 0


def compiled(text: str, program: Program, scope: Mapping[str, Column]) -> Expression:
    """An expression over variables in `scope`, each with what it holds."""
    if HERE in program.relations:
        raise WhenceError(f"a program with a relation `{HERE}` cannot be asked here; give that another name")
    scope = {name: column for name, column in scope.items() if re.search(rf"(?<![\w?]){re.escape(name)}(?!\w)", text)}
    here = Relation(HERE, tuple(scope.values()), NOWHERE)
    relations = {name: relation for name, relation in program.relations.items() if name != ANSWER}
    extended = replace(program, relations={**relations, HERE: here})
    try:
        query = compile_query(f"{HERE}({', '.join(scope)}), ({text})" if scope else text, extended)
    except ProgramError as error:
        wrong = error.diagnostics[0]
        raise WhenceError(f"`{text}`: {wrong.message}" + (f"; {wrong.hint}" if wrong.hint else "")) from None
    given: tuple[Var, ...] = tuple(Var(name, column.kind) for name, column in scope.items())
    ways = []
    for rule in query.rules:
        literals = tuple(one for one in rule.body if not (isinstance(one, Atom) and one.relation == HERE))
        results = tuple(term for term in rule.head.args if isinstance(term, Var))
        ways.append((literals, tuple(dict.fromkeys(results))))
    args = dict(zip(query.rules[0].head.args, query.answer.columns, strict=True))
    columns = tuple(
        column if " " in term.name else replace(column, name=term.name)
        for term, column in args.items()
        if isinstance(term, Var)
    )
    return Expression(text, given, tuple(ways), columns)
