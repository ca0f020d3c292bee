"""BU(p, Γ): the bottom-up database without what is ahead of its time (001, section 5).

Of the relations that are defined by each other a copy is kept, in which every rule has a guard for each adornment in
which its relation is called: `!bl_p_α(x̄)`. What active queries ask for is blacklisted, and so their tuples, and all
that depends on them, are not there. When a call is stepped over, the copy is brought up to date with the queries that
are active by then, by the same Update as any other change.

Two things are not as in the text. The copy has only one stratum, since nothing above it can be called while one of its
queries is active. And what IDB has of the active queries is put into the copy as input: as the text has it, the tuples
of IDB are only added to the answer of a call, and what follows from them is lost (`tests/step/test_blacklist.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count

import numpy as np

from whence.engines.local.engine import revised
from whence.engines.local.revision import Input, LocalRevision
from whence.engines.local.table import Rows
from whence.engines.local.tables import LocalTables
from whence.lang.program import (
    Atom,
    Column,
    Comparison,
    Const,
    Literal,
    Negation,
    Program,
    Relation,
    Rule,
    Stratum,
    Term,
    Var,
    read_by,
)
from whence.maintain import Controller, Policy
from whence.maintain.elastic import Learned
from whence.step.database import Reader
from whence.step.rules import Columns, Part
from whence.step.state import Adorned, State
from whence.step.value_table import ValueTable, among, distinct


class Blacklisted:
    """One stratum's copy. `reader` reads it as of the last `synchronise`."""

    def __init__(self, tables: LocalTables, stratum: Stratum, adorned: Sequence[Adorned]) -> None:
        self.stratum = stratum
        self.adorned = tuple(adorned)
        program = blacklisted(tables.program, stratum, adorned)
        self.tables = LocalTables(program, counts=True)
        self.tables.symbols, self.tables.records, self.tables.values = tables.symbols, tables.records, tables.values
        for name in program.relations:
            if name in tables.stored and name not in stratum.relations:
                self.tables.stored[name] = tables.stored[name]
        self.given: dict[str, Rows] = {}
        for name in stratum.relations:  # with empty blacklists the copy is what the session has
            stored = tables.stored[name]
            self.given[name] = stored.given.copy()
            rows = stored.rows
            iterations, counts = stored.annotations
            self.tables.restore(name, np.ascontiguousarray(rows).reshape(-1), len(rows), iterations, counts)
        self.controller = Controller(program)
        self.reader = Reader(self.tables)
        self._final = Reader(tables)
        self._probes = {one: _probe(program.relations[one[0]], one[1]) for one in adorned}
        # What the blacklists hold, and what of IDB was put in.
        self._held = {_name(one): np.empty((0, len(one[1])), np.int64) for one in adorned}
        self._held |= {name: self.given[name][:0] for name in stratum.relations}

    def synchronise(self, state: State) -> None:
        """Blacklists what is active in a state, and puts in what IDB has of it."""
        wanted: dict[str, Rows] = {}
        parts: dict[str, list[Rows]] = {name: [self._held[name][:0]] for name in self.stratum.relations}
        for one in self.adorned:
            active = state.active.get(one)
            wanted[_name(one)] = keys = (
                self._held[_name(one)][:0] if active is None else self._there(one, active.together)
            )
            if len(keys):
                known = state.known[one[0]].rows
                parts[one[0]].append(known[among(known[:, list(one[1])], keys)])
        for name, found in parts.items():
            known = distinct(np.concatenate(found))
            wanted[name] = known[~among(known, self.given[name])]
        inputs = {}
        for name, rows in wanted.items():
            gone, new = self._held[name][~among(self._held[name], rows)], rows[~among(rows, self._held[name])]
            if len(gone) or len(new):
                inputs[name] = Input(np.ascontiguousarray(new), np.ascontiguousarray(gone))
        if inputs:
            self._apply(inputs)
            self._held = wanted  # only now: if it was interrupted, the copy is as it was

    def _there(self, one: Adorned, keys: Rows) -> Rows:
        """The keys that some tuple of the final relation has: to blacklist others changes nothing."""
        probe, variables = self._probes[one]
        return self._final.matches(probe, ValueTable(variables, keys)).rows

    def warm(self) -> None:
        """Makes the indexes that an Update needs, by blacklisting one tuple for a moment."""
        for one in self.adorned:
            rows = self.tables.stored[one[0]].rows[-1:]
            if len(rows):
                listed = rows[:, list(one[1])].copy()
                self._apply({_name(one): Input(listed, listed[:0])})
                self._apply({_name(one): Input(listed[:0], listed)})

    def _apply(self, inputs: dict[str, Input]) -> None:
        """Updates the copy. Which queries are active says little about what the last ones cost, so Update is always
        tried; a high one is given up, and the stratum evaluated, so that the worst case is 1 + SHARE evaluations."""
        known = self.controller.learned.get(self.stratum.relations, Learned())
        bootstrap = max(known.bootstrap or 0.0, LEAST)
        self.controller.learned[self.stratum.relations] = Learned(bootstrap, known.pace, changed=0.0)
        revised(LocalRevision(self.tables, inputs), self.controller, Policy("elastic", SHARE), None, lambda: None)


SHARE = 0.1  # of what evaluating the stratum takes, after which an Update is given up for that
LEAST = 0.3  # seconds that evaluating it is taken to need, so that plans are kept where all is quick


def _probe(relation: Relation, columns: Columns) -> tuple[Part, tuple[Var, ...]]:
    """An atom that has the keys of an adornment as its variables."""
    args = tuple(Var(f"c {i}" if i in columns else f"_ {i}", c.kind) for i, c in enumerate(relation.columns))
    variables = tuple(args[column] for column in columns)
    return Part(Atom(relation.name, args), variables, (), columns=columns), variables


# The transformation


def blacklisted(program: Program, stratum: Stratum, adorned: Iterable[Adorned]) -> Program:
    """A stratum as a program of its own, with its guards; what it reads of lower strata is input."""
    adorned = tuple(adorned)
    below = [name for name in dict.fromkeys(read_by(stratum)) if name not in stratum.relations]
    relations = {name: program.relations[name] for name in (*below, *stratum.relations)}
    for one in adorned:
        columns = [program.relations[one[0]].columns[column] for column in one[1]]
        named = tuple(Column(f"c{i}", column.type, column.kind) for i, column in enumerate(columns))
        relations[_name(one)] = Relation(_name(one), named, program.relations[one[0]].origin)
    rules = tuple(_guarded(rule, [one[1] for one in adorned if one[0] == rule.head.relation]) for rule in stratum.rules)
    inputs = [Stratum((name,), (), False) for name in relations if name not in stratum.relations]
    strata = (*inputs, Stratum(stratum.relations, rules, stratum.recursive))
    return Program(program.types, relations, rules, (), strata, ())


def _guarded(rule: Rule, adornments: Sequence[Columns]) -> Rule:
    """Blacklisted(r): a negated blacklist for each adornment, of the head's terms that are bound in it."""
    if not adornments:
        return rule
    fresh = count(1)
    added: list[Literal] = []
    args: list[Term] = []
    for term in rule.head.args:
        if not isinstance(term, Var | Const):
            args.append(Var(f"g {next(fresh)}", term.kind))
            added.append(Comparison("=", args[-1], term))
        else:
            args.append(term)
    guards = [
        Negation(Atom(_name((rule.head.relation, columns)), tuple(args[column] for column in columns)))
        for columns in adornments
    ]
    head = Atom(rule.head.relation, tuple(args))
    return Rule(head, (*rule.body, *added, *guards), rule.origin, rule.text)


def _name(adorned: Adorned) -> str:
    """Of a blacklist; no user can write it."""
    relation, columns = adorned
    return f"bl {relation} {' '.join(map(str, columns))}"


class Blacklists:
    """The copies of all strata whose recursive calls have been stepped over, and the adornments that they guard."""

    def __init__(self, tables: LocalTables) -> None:
        self.tables = tables
        self.stratum = {name: one for one in tables.program.strata for name in one.relations}
        self._copies: dict[tuple[str, ...], Blacklisted] = {}
        self._adorned: dict[tuple[str, ...], dict[Adorned, None]] = {}

    def reader(self, relation: str, state: State) -> Reader:
        """Reads BU(p, Γ) of a state."""
        stratum = self.stratum[relation]
        adorned = self._adorned.setdefault(stratum.relations, {})
        active = [one for one in state.active if one[0] in stratum.relations]
        copy = self._copies.get(stratum.relations)
        if copy is None or not adorned.keys() >= set(active):
            adorned |= dict.fromkeys(active)
            copy = self._copies[stratum.relations] = Blacklisted(self.tables, stratum, tuple(adorned))
        copy.synchronise(state)
        return copy.reader

    def prepare(self, adorned: Iterable[Adorned]) -> None:
        """Makes copies for all adornments that may occur."""
        for one in adorned:
            self._adorned.setdefault(self.stratum[one[0]].relations, {}).setdefault(one)
        for relations, guarded in self._adorned.items():
            if relations not in self._copies:
                copy = Blacklisted(self.tables, self.stratum[relations[0]], tuple(guarded))
                self._copies[relations] = copy
                copy.warm()
