"""Rule changes (002, 6.4.4): two programs as one, in which every rule that only one of them has is guarded.

A guard is an input relation without columns whose one tuple switches its rule on. So a rule that came or went is a
tuple that did, and a repair may name it like any other part. The program of both is evaluated once, beside the session.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from whence.engines.local.revision import Input
from whence.engines.local.tables import LocalTables
from whence.errors import WhenceError
from whence.lang.difference import difference
from whence.lang.program import Atom, Program, Relation, Rule, Stratum
from whence.lang.strata import connected_components
from whence.maintain import Controller, bootstrap
from whence.repair.cone import read_in


@dataclass(frozen=True)
class Guarded:
    """The program of both, and the text of the clause behind each guard, of those that came and those that went."""

    program: Program
    came: Mapping[str, str]
    went: Mapping[str, str]

    @property
    def texts(self) -> Mapping[str, str]:
        return {**self.came, **self.went}


def same_rules(before: Program, after: Program) -> bool:
    return before is after or not difference(before, after)


def guarded(before: Program, after: Program) -> Guarded:
    for name, relation in after.relations.items():
        old = before.relations.get(name)
        if old is not None and [column.kind for column in old.columns] != [column.kind for column in relation.columns]:
            raise WhenceError(f"{name} has other columns in the two epochs, which cannot be compared then")
    changed = difference(before, after)
    rules = [rule for rule in after.rules if rule not in changed.added]
    relations = {**before.relations, **after.relations}
    sides: tuple[dict[str, str], dict[str, str]] = ({}, {})
    for side, own in zip(sides, (changed.added, changed.removed), strict=True):
        guards: dict[tuple[int, int], str] = {}  # by where the clause stands, which may be several rules
        for rule in own:
            place = (rule.origin.line, rule.origin.column)
            if place not in guards:
                guards[place] = f"rule {len(relations)}"
                relations[guards[place]] = Relation(guards[place], (), rule.origin)
                side[guards[place]] = " ".join(rule.text.split())
            rules.append(replace(rule, body=(*rule.body, Atom(guards[place], ())), plan={}))
    program = Program(
        {**before.types, **after.types}, relations, tuple(rules), (), strata(relations, rules), after.directives
    )
    return Guarded(program, *sides)


def strata(relations: Mapping[str, Relation], rules: Iterable[Rule]) -> tuple[Stratum, ...]:
    reads: dict[str, dict[str, bool]] = {name: {} for name in relations}
    own: dict[str, list[Rule]] = {name: [] for name in relations}
    for rule in rules:
        own[rule.head.relation].append(rule)
        for name, against in read_in(rule.body):
            reads[rule.head.relation][name] = against or reads[rule.head.relation].get(name, False)
    found = []
    for names in connected_components(relations, reads):
        for head in names:
            opposed = [name for name in names if reads[head].get(name)]
            if opposed:
                raise WhenceError(
                    f"the rules of both epochs together make {head} depend on {opposed[0]} and on its absence; "
                    "compare epochs whose rules differ less"
                )
        recursive = len(names) > 1 or names[0] in reads[names[0]]
        found.append(Stratum(tuple(names), tuple(rule for name in names for rule in own[name]), recursive))
    return tuple(found)


def evaluated(
    both: Guarded, tables: LocalTables, inputs: Mapping[str, Input]
) -> tuple[LocalTables, Controller, dict[str, Input]]:
    """Tables of the program of both on the input of the later epoch, and the change with the guards as part of it."""
    own = LocalTables(both.program)
    own.symbols, own.records, own.values = tables.symbols, tables.records, tables.values
    for name, stored in tables.stored.items():
        if name in both.program.relations:
            rows = np.ascontiguousarray(stored.given)
            own.insert(name, rows.reshape(-1), len(rows))
    for guard in both.came:
        own.insert(guard, np.empty(0, np.int64), 1)
    own.tick = tables.tick
    controller = Controller(both.program)
    controller.bootstrapped(bootstrap(both.program, own))
    one, none = np.empty((1, 0), np.int64), np.empty((0, 0), np.int64)
    guards = {name: Input(one, none) for name in both.came} | {name: Input(none, one) for name in both.went}
    return own, controller, {**inputs, **guards}
