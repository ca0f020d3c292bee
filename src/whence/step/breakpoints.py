"""Where the debugger stops: at a relation, a rule, an atom or a line, under a condition, at the n-th time.

A breakpoint is lowered to *targets*, places of core rules: all rules that one clause became, so that it is met in
whichever of them. A call that may come to a target must not be stepped over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from whence.errors import WhenceError
from whence.lang.program import Program, Rule
from whence.step.expression import Expression
from whence.step.rules import Ordered, Part, Place, Rulebook
from whence.step.source import span_within
from whence.step.state import Frame, State

HITS = re.compile(r"(=|==|>=|>|%)?\s*([0-9]+)")


@dataclass(frozen=True)
class Target:
    """A relation that is called (or, if it has no rules, read), a rule of it, or a place in the rule."""

    relation: str
    rule: tuple[int, int] | None = None  # the line and column where its clause begins
    place: Place | None = None


@dataclass(repr=False)
class Breakpoint:
    """`met` is how often it was met with its condition."""

    number: int
    text: str
    targets: tuple[Target, ...]
    condition: Expression | None = None
    hits: str = ""
    enabled: bool = True
    line: int | None = None  # where it is in the file
    met: int = 0
    _counts: Callable[[int], bool] = field(default=lambda met: True, repr=False)

    def __post_init__(self) -> None:
        if self.hits:
            self._counts = _counting(self.hits)

    def __repr__(self) -> str:
        return f"<breakpoint {self}>"

    def __str__(self) -> str:
        condition = f" if {self.condition.text}" if self.condition else ""
        hits = f", hits {self.hits}" if self.hits else ""
        return f"{self.number}  {self.text}{condition}{hits}" + ("" if self.enabled else " (off)")

    def stops(self) -> bool:
        """Counts one more time that it was met; whether that is one to stop at."""
        self.met += 1
        return self._counts(self.met)


def _counting(text: str) -> Callable[[int], bool]:
    found = HITS.fullmatch(text.strip())
    if found is None or (found[1] == "%" and int(found[2]) == 0):
        raise WhenceError(f"{text!r} does not count hits; write a number such as 3, or `>= 3`, or `% 3`")
    number = int(found[2])
    match found[1]:
        case ">=":
            return lambda met: met >= number
        case ">":
            return lambda met: met > number
        case "%":
            return lambda met: met % number == 0
    return lambda met: met == number


# Lowering


def at_relation(program: Program, name: str) -> tuple[Target, ...]:
    if name not in program.relations:
        raise WhenceError(f"the program has no relation {name!r}; there are: {', '.join(program.relations)}")
    return (Target(name),)


def at_rule(rule: Rule) -> Target:
    return Target(rule.head.relation, (rule.origin.line, rule.origin.column))


def at_line(program: Program, line: int) -> tuple[int, tuple[Target, ...]]:
    """The targets of a line, or of the next that has any: a declaration, the beginning of a rule, atoms."""
    for number in sorted({line, *(n for n in _lines(program) if n >= line)}):
        found = _on_line(program, number)
        if found:
            return number, found
    raise WhenceError(f"there is no rule at or after line {line}")


def at_atom(program: Program, line: int, column: int) -> tuple[Target, ...]:
    """The literal that is written at a place."""
    found = {
        Target(rule.head.relation, (rule.origin.line, rule.origin.column), place): None
        for rule in program.rules
        for place in _places(rule)
        if _covers(rule, place, line, column)
    }
    if not found:
        raise WhenceError(f"there is no atom at line {line}, column {column}")
    return tuple(found)


def _covers(rule: Rule, place: Place, line: int, column: int) -> bool:
    span = span_within(rule.origin, rule.text, place)
    return (span.line, span.column) <= (line, column) < (span.end_line, span.end_column)


def _lines(program: Program) -> Iterable[int]:
    for relation in program.relations.values():
        yield relation.origin.line
    for rule in program.rules:
        yield rule.origin.line
        for place in _places(rule):
            yield span_within(rule.origin, rule.text, place).line


def _on_line(program: Program, line: int) -> tuple[Target, ...]:
    rules = [at_rule(rule) for rule in program.rules if rule.origin.line == line]
    if rules:
        return tuple(dict.fromkeys(rules))
    atoms = {
        Target(rule.head.relation, (rule.origin.line, rule.origin.column), place): None
        for rule in program.rules
        for place in _places(rule)
        if span_within(rule.origin, rule.text, place).line == line
    }
    if atoms:
        return tuple(atoms)
    return tuple(Target(r.name) for r in program.relations.values() if r.origin.line == line)


def _places(rule: Rule) -> list[Place]:
    return list(dict.fromkeys(place for place in rule.places if place is not None))


# Meeting them


def meets(target: Target, state: State, rulebook: Rulebook) -> bool:
    """Whether a state has just come to a target."""
    frame = state.frame
    part, ordered = frame.current, frame.ordered
    if part is None or ordered is None or frame.atom is not None:
        return False
    if target.rule is None:
        if not rulebook.derived(target.relation):
            return part.atom is not None and part.atom.relation == target.relation and not part.silent
        return state.applied == "A-Into" and frame.relation == target.relation
    if frame.relation != target.relation or not _is(ordered, target.rule):
        return False
    if target.place is None:
        another = frame.rule > 0 and _is(frame.rules[frame.rule - 1], target.rule)  # alternative of a disjunction
        return frame.position == _first(ordered) and not another
    return part.place == target.place and not part.silent


def _is(ordered: Ordered, rule: tuple[int, int]) -> bool:
    origin = None if ordered.rule is None else ordered.rule.origin
    return origin is not None and (origin.line, origin.column) == rule


def _first(ordered: Ordered) -> int:
    """The first part that is shown."""
    return next((i for i, part in enumerate(ordered.parts) if not part.silent), 0)


class Reach:
    """What must not be stepped over, for the breakpoints that are on."""

    def __init__(self, targets: Iterable[Target], reaching: Mapping[str, frozenset[str]], rulebook: Rulebook) -> None:
        self.targets = tuple(targets)
        self.rulebook = rulebook
        self.relations = {target.relation for target in self.targets}
        self.reaching = reaching

    def __bool__(self) -> bool:
        return bool(self.targets)

    def call(self, relation: str) -> bool:
        """Whether a call of a relation may come to a breakpoint."""
        return not self.relations.isdisjoint(self.reaching.get(relation, frozenset((relation,))))

    def rest(self, frame: Frame) -> bool:
        """Whether what is left of a subquery may."""
        if not self.targets:
            return False
        if frame.relation in self.rulebook.recursive:
            return self.call(frame.relation)
        ordered = frame.ordered
        if ordered is None:
            return False
        position = frame.position + (frame.atom is not None)
        later = [(ordered, part) for part in ordered.parts[position:]] if frame.value is None else []
        later += [(other, part) for other in frame.rules[frame.rule + 1 :] for part in other.parts]
        return any(self._part(one, part) for one, part in later)

    def _part(self, ordered: Ordered, part: Part) -> bool:
        if part.atom is not None and self.call(part.atom.relation):
            return True
        return any(
            target.relation == ordered.relation
            and target.rule is not None
            and _is(ordered, target.rule)
            and (target.place is None or target.place == part.place)
            for target in self.targets
        )


def named_atom(program: Program, relation: str, number: int, atom: int) -> tuple[Target, ...]:
    """The n-th literal of the n-th clause of a relation, counted from 1 as they are written."""
    rules = rules_of(program, relation)
    if not 1 <= number <= len(rules):
        raise WhenceError(f"{relation} has {len(rules)} rules, so there is no rule {number}")
    chosen = rules[number - 1]
    places = sorted({place for rule in chosen for place in _places(rule)})
    if not 1 <= atom <= len(places):
        raise WhenceError(f"rule {number} of {relation} has {len(places)} atoms, so there is no atom {atom}")
    target = at_rule(chosen[0])
    return (Target(target.relation, target.rule, places[atom - 1]),)


def rules_of(program: Program, relation: str) -> list[list[Rule]]:
    """The clauses of a relation, each as the core rules that it became."""
    clauses: dict[tuple[int, int], list[Rule]] = {}
    for rule in program.rules:
        if rule.head.relation == relation:
            clauses.setdefault((rule.origin.line, rule.origin.column), []).append(rule)
    return list(clauses.values())
