"""Whether a proof is one: written apart from Whence, against the oracle's rules and model.

A rule instantiation is checked by evaluating the rule with nothing but the children in its positive atoms, and all
of the model in its negations and aggregates. It must then derive the tuple.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from oracle.evaluate import Model, Steps, World, assignments, derivations, outer_names, value_of
from oracle.render import render
from oracle.rules import Atom, Literal, Program, Rule, Tuple, conjunctive, names
from oracle.strata import strata

Known = Mapping[str, set[Tuple]]
ENOUGH = 10**9


def tuple_of(values: Any) -> Any:
    """JSON's lists are records."""
    return tuple(map(tuple_of, values)) if isinstance(values, list) else values


def rules_by_line(program: Program) -> dict[int, Rule]:
    """The rules by the line that they stand in, in the program's text without its facts."""
    lines = render(program, facts_of=()).splitlines()
    return dict(zip(range(len(lines) - len(program.rules) + 1, len(lines) + 1), program.rules, strict=True))


def apart(rule: Rule) -> Rule:
    """The rule with its positive atoms reading relations of their own, `@r` for `r`."""

    def marked(literal: Literal) -> Literal:
        return replace(literal, relation=f"@{literal.relation}") if isinstance(literal, Atom) else literal

    return replace(rule, body=tuple(map(marked, rule.body)))


class Checker:
    def __init__(self, program: Program, model: Model) -> None:
        self.program = program
        self.known: Known = {name: set(tuples) for name, tuples in model.items()}
        self.model = model
        self.rules = rules_by_line(program)
        horn = [one for rule in program.rules for one in conjunctive(rule)]
        self.stratum = {name: i for i, group in enumerate(strata(program.relations, horn)) for name in group}

    def complaints(self, node: dict[str, Any]) -> Iterator[str]:
        """What is wrong with a proof, all of which is shown."""
        for part in tuples_in(node):
            key = (part["relation"], tuple_of(part["values"]))
            if part["kind"] == "input":
                if key[1] not in self.program.facts.get(key[0], ()):
                    yield f"{part['tuple']} is shown as input, and is not"
                if part["children"]:
                    yield f"{part['tuple']} is input, and has children"
            elif not self.derives(part):
                yield f"{part['tuple']} does not follow from {[child['tuple'] for child in part['children']]}"

    def derives(self, node: dict[str, Any]) -> bool:
        children = tuples_below(node)
        given = Counter(child["relation"] for child in children)
        here: dict[str, set[Tuple]] = {f"@{name}": set() for name in self.program.relations}
        for child in children:
            here[f"@{child['relation']}"].add(tuple_of(child["values"]))
        for rule in conjunctive(self.rules[node["rule"]["line"]]):
            if rule.heads[0].relation != node["relation"]:
                continue
            if Counter(literal.relation for literal in rule.body if isinstance(literal, Atom)) != given:
                continue
            if tuple_of(node["values"]) in derivations(apart(rule), {**self.known, **here}, Steps(ENOUGH)):
                return True
        return False

    def height_in_stratum(self, node: dict[str, Any]) -> int:
        """The most rules on a way down that stays in the stratum of the tuple it begins with."""
        if node["rule"] is None:
            return 0
        own = self.stratum[node["relation"]]
        inside = [child for child in node["children"] if self.stratum.get(child.get("relation")) == own]
        return 1 + max(map(self.height_in_stratum, inside), default=0)


def tuples_in(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every tuple of a proof, those that aggregates range over included."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if "relation" in part:
            yield part
        waiting += part["children"]


def tuples_below(node: dict[str, Any]) -> list[dict[str, Any]]:
    """The tuples of the rule instantiation that derives a node."""
    return [child for child in node["children"] if "relation" in child]


def height(node: dict[str, Any]) -> int:
    tuples = map(height, tuples_below(node))
    return 0 if node["rule"] is None else 1 + max(tuples, default=0)


def size(node: dict[str, Any]) -> int:
    return 1 + sum(map(size, tuples_below(node)))


# Brute force


def instantiations(program: Program, model: Model) -> list[tuple[int, tuple[str, Tuple], list[tuple[str, Tuple]]]]:
    """Every rule instantiation over a model: its line, what it derives, and from which tuples."""
    known = {name: set(tuples) for name, tuples in model.items()}
    found = []
    for line, written in rules_by_line(program).items():
        for rule in conjunctive(written):
            head = rule.heads[0]
            outside = names(head).union(*(outer_names(literal) for literal in rule.body))
            for assignment in assignments(rule.body, {}, World(known, outside, Steps(ENOUGH))):
                body = [
                    (part.relation, tuple(value_of(term, assignment) for term in part.args))
                    for part in rule.body
                    if isinstance(part, Atom)
                ]
                derived = tuple(value_of(term, assignment) for term in head.args)
                found.append((line, (head.relation, derived), body))
    return found


def least(program: Program, model: Model, leaf: int, combine: Any) -> dict[tuple[str, Tuple], int]:
    """The least value of a proof of each tuple, lowered until nothing changes."""
    values = {(name, row): leaf for name, rows in program.facts.items() for row in rows}
    steps = instantiations(program, model)
    changed = True
    while changed:
        changed = False
        for _, head, body in steps:
            if all(part in values for part in body):
                value = combine([values[part] for part in body])
                if value < values.get(head, value + 1):
                    values[head] = value
                    changed = True
    return values
