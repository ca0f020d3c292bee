"""What the machine reads: EDB, IDB and the bottom-up database, through the local engine's kernel.

An atom or a constraint is planned once for the variables that have values then, and run for all rows of a supplementary
table at once. EDB and BU are the session's tables; IDB is a set of tables beside them, of which a state sees a part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from whence.engines.local.table import Rows, Table
from whence.engines.local.tables import LocalTables, Stored
from whence.explain.conjunction import FAILURES, Conjunction
from whence.explain.state import InMemory
from whence.lang.program import Atom, Const, Program, Relation, Var
from whence.step.rules import Part, input_of
from whence.step.state import Known
from whence.step.value_table import ValueTable, distinct, empty, join, project


class Reader:
    """Finds what goes with the rows of a supplementary table, in one set of tables."""

    def __init__(self, tables: LocalTables) -> None:
        self.tables = tables
        self.state = InMemory(tables)
        self._conjunctions: dict[int, tuple[Part, Conjunction]] = {}

    def matches(self, part: Part, supplementary: ValueTable) -> ValueTable:
        """ρ(p ⋈ v_a): the tuples of an atom's relation that fit the values its variables have, under their names."""
        columns = (*part.bound, *part.new)
        keys = project(supplementary, part.bound)
        if not len(keys):
            return empty(columns)
        conjunction = self._conjunction(part)
        found = conjunction.all(keys.rows)
        rows = found[:, [1 + conjunction.variables.index(variable) for variable in columns]]
        assert part.atom is not None
        if any(isinstance(term, Var) and term.anonymous for term in part.atom.args):
            rows = distinct(rows)
        return ValueTable(columns, rows)

    def extended(self, part: Part, supplementary: ValueTable) -> ValueTable:
        """The rows for which a constraint holds, with the values of the variables that it binds."""
        columns = (*supplementary.columns, *part.new)
        if not len(supplementary):
            return empty(columns)
        conjunction = self._conjunction(part)
        places = [supplementary.columns.index(variable) for variable in part.bound]
        found = self._holding(conjunction, supplementary.rows[:, places])
        values = found[:, [1 + conjunction.variables.index(variable) for variable in part.new]]
        return ValueTable(columns, np.concatenate([supplementary.rows[found[:, 0]], values], axis=1))

    def _holding(self, conjunction: Conjunction, rows: Rows) -> Rows:
        """Instantiations of a constraint. Rows on which it fails, such as by a division by zero, are left out: the
        program was evaluated, so that another literal of the rule rejects them."""
        try:
            return conjunction.all(rows)
        except FAILURES:
            if len(rows) == 1:
                return np.empty((0, 1 + len(conjunction.variables)), np.int64)
            half = len(rows) // 2
            first, second = self._holding(conjunction, rows[:half]), self._holding(conjunction, rows[half:])
            second[:, 0] += half
            return np.concatenate([first, second])

    def _conjunction(self, part: Part) -> Conjunction:
        found = self._conjunctions.get(id(part))
        if found is None:  # kept with the part, so that nothing else gets its number
            literal = part.literal if part.atom is None else part.atom
            found = self._conjunctions[id(part)] = part, Conjunction(self.state, [literal], part.bound)
        return found[1]


class Database:
    """`final` reads EDB and BU; `look_up` reads EDB and the IDB of a state."""

    def __init__(self, tables: LocalTables, program: Program) -> None:
        self.program = program
        self.tables = tables
        self.final = Reader(tables)
        derived = dict.fromkeys(rule.head.relation for rule in program.rules)
        given = {name: tables.stored[name].given for name in derived if name in tables.stored}
        self.inputs = tuple(name for name, rows in given.items() if len(rows))
        own = beside(tables, program, {input_of(name): program.relations[name] for name in self.inputs})
        for name in derived:
            own.stored[name] = Stored(Table(tables.kernel, program.relations[name].arity, counted=False))
        for name in self.inputs:
            rows = np.ascontiguousarray(given[name])
            own.insert(input_of(name), rows.reshape(-1), len(rows))
        self.own = own
        self._current = Reader(own)
        self.nothing = {name: Known(own.stored[name].table) for name in derived}
        self._probes: dict[tuple[str, int], Part] = {}

    def look_up(self, part: Part, supplementary: ValueTable, known: Mapping[str, Known]) -> ValueTable:
        assert part.atom is not None
        self.show(known, part.atom.relation)
        return self._current.matches(part, supplementary)

    def show(self, known: Mapping[str, Known], relation: str) -> None:
        """From now on the reader of IDB sees what a state knows of a relation."""
        seen = known.get(relation)
        if seen is None:
            return
        stored = self.own.stored[relation]
        if stored.table is not seen.table:
            self.own.stored[relation] = Stored(seen.table, stop=seen.size)
        else:
            stored.stop = seen.size

    def constants(self, part: Part, supplementary: ValueTable) -> ValueTable:
        """eval: the values of the bound columns of a call, taken together, under the numbers of the columns."""
        assert part.atom is not None
        keys = project(supplementary, part.bound)
        rows = np.empty((len(keys), len(part.columns)), np.int64)
        for place, column in enumerate(part.columns):
            term = part.atom.args[column]
            rows[:, place] = self.tables.constant(term) if isinstance(term, Const) else keys.column(term)
        return ValueTable(part.columns, rows)

    def met(self, part: Part, arguments: ValueTable) -> ValueTable:
        """The arguments whose computed values some tuple of the relation has. Others derive nothing, and a call that
        counts on and on would never end."""
        assert part.atom is not None
        relation = self.program.relations[part.atom.relation]
        for column in part.computed:
            variable = Var("c ", relation.columns[column].kind)
            args = tuple(variable if i == column else Var(f"_ {i}", c.kind) for i, c in enumerate(relation.columns))
            probe = Part(Atom(relation.name, args), (variable,), (), columns=(column,))
            probe = self._probes.setdefault((relation.name, column), probe)
            values = project(arguments, (column,))
            there = self.final.matches(probe, ValueTable((variable,), values.rows))
            arguments = join(arguments, ValueTable((column,), there.rows))
        return arguments


def beside(tables: LocalTables, program: Program, more: Mapping[str, Relation]) -> LocalTables:
    """Tables that hold the same relations, with the same symbols and records, and some relations of their own."""
    named = {name: replace(relation, name=name) for name, relation in more.items()}
    program = replace(program, relations={**program.relations, **named}, facts=())
    own = LocalTables(program, counts=False)
    own.symbols, own.records, own.values = tables.symbols, tables.records, tables.values
    own.stored |= {name: tables.stored[name] for name in tables.program.relations}
    return own
