"""What a repair has to be, by the naive evaluator: every choice of parts of a change, tried."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from random import Random

from maintain.changing import Step, steps
from oracle.evaluate import Model, evaluate
from oracle.render import fact, rule
from oracle.rules import Program, Tuple

STEPS = 10_000

RULE = "a rule"  # in place of a relation
Part = tuple[bool, str, Tuple]  # inserted or deleted, relation, tuple
Wish = tuple[str, Tuple]


@dataclass(frozen=True)
class Case:
    """A program, a change of its facts, and faults that came of it."""

    before: Program
    parts: tuple[Part, ...]
    unwanted: tuple[Wish, ...]
    missing: tuple[Wish, ...]

    @property
    def insert(self) -> dict[str, list[Tuple]]:
        return self._side(True)

    @property
    def delete(self) -> dict[str, list[Tuple]]:
        return self._side(False)

    def _side(self, inserted: bool) -> dict[str, list[Tuple]]:
        found: dict[str, list[Tuple]] = {}
        for sign, name, row in self.parts:
            if sign is inserted and name != RULE:
                found.setdefault(name, []).append(row)
        return found

    def with_only(self, parts: Collection[Part]) -> Model:
        """The model of the earlier epoch with these parts of the change."""
        found: dict[str, list[object]] = {name: [*dict.fromkeys(rows)] for name, rows in self.before.facts.items()}
        found[RULE] = list(self.before.rules)
        for inserted, name, row in parts:
            one = row[0] if name == RULE else row
            if inserted:
                found[name].append(one)
            else:
                found[name].remove(one)
        rules = tuple(found.pop(RULE))
        facts = {name: tuple(rows) for name, rows in found.items()}
        return evaluate(replace(self.before, rules=rules, facts=facts), STEPS)  # type: ignore[arg-type]

    def text(self, part: Part) -> str:
        inserted, name, row = part
        shown = rule(row[0]) if name == RULE else f"{fact(name, row, self.before)}."  # type: ignore[arg-type]
        return f"{'+' if inserted else '-'} {shown}"

    def without(self, parts: Collection[Part]) -> Model:
        return self.with_only([part for part in self.parts if part not in parts])

    def is_repaired(self, model: Model) -> bool:
        """None of the faults is there."""
        return all(row not in model[name] for name, row in self.unwanted) and all(
            row in model[name] for name, row in self.missing
        )

    def is_faulty(self, model: Model) -> bool:
        """All of the faults are there."""
        return all(row in model[name] for name, row in self.unwanted) and all(
            row not in model[name] for name, row in self.missing
        )

    def smallest_suggestion(self) -> int:
        return next(len(parts) for parts in self._subsets() if self.is_repaired(self.without(parts)))

    def smallest_localisation(self) -> int:
        return next(len(parts) for parts in self._subsets() if self.is_faulty(self.with_only(parts)))

    def _subsets(self) -> Iterator[tuple[Part, ...]]:
        """Small ones first."""
        return (chosen for size in range(len(self.parts) + 1) for chosen in combinations(self.parts, size))


def case_of(program: Program, random: Random, most: int, rules: bool = False) -> Case | None:
    """A change of at most so many parts, of rules as well if asked for, and faults among what it brought; None if it
    brought nothing."""
    step: Step = next(steps(program, random, 1))
    parts = [(True, name, row) for name, rows in step.insert.items() for row in rows]
    parts += [(False, name, row) for name, rows in step.delete.items() for row in rows]
    derived = {head.relation for rule in program.rules for head in rule.heads}
    parts = random.sample(parts, min(most, len(parts)))
    if rules:
        changed = [one for one in dict.fromkeys(program.rules) if random.random() < 0.6][:most]
        later = [one for one in changed if random.random() < 0.6]
        program = replace(program, rules=tuple(one for one in dict.fromkeys(program.rules) if one not in later))
        parts = parts[: most - len(changed)] + [(one in later, RULE, (one,)) for one in changed]
    case = Case(program, tuple(parts), (), ())
    old, new = case.with_only(()), case.with_only(case.parts)
    came = [(name, row) for name in sorted(new) for row in sorted(new[name].keys() - old[name].keys(), key=repr)]
    went = [(name, row) for name in sorted(new) for row in sorted(old[name].keys() - new[name].keys(), key=repr)]
    came, went = ([wish for wish in side if wish[0] in derived or random.random() < 0.2] for side in (came, went))
    kinds = random.choice(("unwanted", "missing", "both", "both"))
    unwanted = random.sample(came, min(len(came), random.randint(1, 3))) if kinds != "missing" else []
    missing = random.sample(went, min(len(went), random.randint(1, 3))) if kinds != "unwanted" else []
    if not unwanted and not missing:
        return None
    return replace(case, unwanted=tuple(unwanted), missing=tuple(missing))
