"""A failing program made small: drop rules, literals, heads and facts for as long as it still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from oracle.evaluate import evaluate
from oracle.rules import Program, Rule
from oracle.strata import Unstratified


def reduce(program: Program, fails: Callable[[Program], bool]) -> Program:
    """The smallest program found, by greedy steps, that is valid and still fails."""
    while True:
        smaller = next((p for p in shrinkings(program) if valid(p) and fails(p)), None)
        if smaller is None:
            return program
        program = smaller


def valid(program: Program) -> bool:
    try:
        evaluate(program)
    except (KeyError, ValueError, Unstratified):
        return False
    return True


def shrinkings(program: Program) -> Iterator[Program]:
    """Programs with one part less."""
    rules = program.rules
    for i, rule in enumerate(rules):
        for smaller in ((), *((part,) for part in rules_without_a_part(rule))):
            yield replace(program, rules=rules[:i] + smaller + rules[i + 1 :])
    for name, tuples in program.facts.items():
        for i in range(len(tuples)):
            yield replace(program, facts={**program.facts, name: tuples[:i] + tuples[i + 1 :]})
    used = {head.relation for rule in rules for head in rule.heads} | {
        n for n in program.relations if mentions(rules, n)
    }
    for name in program.relations:
        if name not in used:
            relations = {other: kinds for other, kinds in program.relations.items() if other != name}
            facts = {other: tuples for other, tuples in program.facts.items() if other != name}
            yield replace(program, relations=relations, facts=facts)


def mentions(rules: tuple[Rule, ...], name: str) -> bool:
    return f"'{name}'" in repr(rules)


def rules_without_a_part(rule: Rule) -> Iterator[Rule]:
    for i in range(len(rule.body)):
        yield replace(rule, body=rule.body[:i] + rule.body[i + 1 :])
    if len(rule.heads) > 1:
        for i in range(len(rule.heads)):
            yield replace(rule, heads=rule.heads[:i] + rule.heads[i + 1 :])
