"""Rules as the circuit sees them: prefixes of bodies, each with a number, its *expected provenance*.

A rewrite travels from prefix to prefix: it begins empty, at 0, and each atom that it unifies with takes it on.
Variables are numbered by where they first occur, so that rules that begin alike have prefixes in common, whatever
names they use. The paper adds hashes of the atoms up; here a prefix is interned, so that no two prefixes ever have
the same number.

What is not an atom (a comparison, a binding) is done to rewrites as soon as its variables are known: it takes them one
by one, so it is linear and needs no operator of its own. A negated atom is a step like an atom. A prefix keeps the
variables that are needed after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from whence.lang.program import (
    Atom,
    Call,
    Comparison,
    Const,
    Literal,
    Negation,
    Record,
    Rule,
    Term,
    Var,
    variables,
)

EMPTY = 0  # the provenance of the empty rewrite
FALLIBLE = frozenset(["div", "mod", "to_number", "to_unsigned", "to_float"])


@dataclass(frozen=True)
class Step:
    """From one prefix to the next: an atom to unify with, or a negated one, or none; what is then done to each rewrite,
    in order; and the variables that are kept, in order."""

    reads: Atom | Negation | None
    then: tuple[Comparison, ...]
    kept: tuple[Var, ...]


@dataclass(frozen=True)
class Course:
    """A rule in the order in which it is evaluated, its variables numbered."""

    steps: tuple[Step, ...]
    head: Atom


@dataclass(frozen=True)
class Prefix:
    """`before` is the prefix that `step` goes on from."""

    provenance: int
    before: int
    step: Step


class Prefixes:
    """All prefixes so far, by number. Number 0 is the empty one."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, Step], int] = {}
        self.known: dict[int, Prefix] = {}
        self._rules: dict[int, tuple[Rule, list[Prefix], Atom]] = {}  # by `id`

    def of(self, rule: Rule) -> tuple[list[Prefix], Atom]:
        """The prefixes of a rule's body, and the head in their variables."""
        if id(rule) not in self._rules:
            self._rules[id(rule)] = (rule, *self._interned(course(rule)))
        _, prefixes, head = self._rules[id(rule)]
        return prefixes, head

    def _interned(self, found: Course) -> tuple[list[Prefix], Atom]:
        number = EMPTY
        prefixes = []
        for step in found.steps:
            key = (number, step)
            if key not in self._numbers:
                self._numbers[key] = len(self._numbers) + 1
                self.known[self._numbers[key]] = Prefix(self._numbers[key], number, step)
            number = self._numbers[key]
            prefixes.append(self.known[number])
        return prefixes, found.head

    def kept(self, number: int) -> tuple[Var, ...]:
        """The variables of a rewrite with this provenance."""
        return self.known[number].step.kept if number != EMPTY else ()


def course(rule: Rule) -> Course:
    """The order: atoms as they are written, but none before it shares a variable or holds a constant if another does;
    everything else as soon as it can be, and last what may fail."""
    waiting = list(rule.body)
    bound: set[str] = set()
    reads: list[Atom | Negation | None] = []
    then: list[list[Comparison]] = []
    while waiting:
        literal = _next(waiting, bound)
        waiting.remove(literal)
        if isinstance(literal, Comparison):
            if not then:
                reads.append(None)
                then.append([])
            then[-1].append(literal)
        else:
            assert isinstance(literal, Atom | Negation)
            reads.append(literal)
            then.append([])
        bound |= {variable.name for variable in _binding(literal)}
    if not reads:
        reads.append(None)
        then.append([])
    return _numbered(reads, then, rule.head)


def _next(waiting: Sequence[Literal], bound: set[str]) -> Literal:
    comparisons = [one for one in waiting if isinstance(one, Comparison) and _ready(one, bound)]
    for one in comparisons:
        if not fallible(one):
            return one
    for literal in waiting:
        if isinstance(literal, Negation) and all(v.anonymous or v.name in bound for v in variables(literal)):
            return literal
    atoms = [one for one in waiting if isinstance(one, Atom)]
    for atom in atoms:
        if any(isinstance(arg, Const) or (isinstance(arg, Var) and arg.name in bound) for arg in atom.args):
            return atom
    rest: list[Literal] = [*atoms, *comparisons]
    if rest:
        return rest[0]
    raise AssertionError(f"a rule's body cannot be ordered: {waiting}")


def _ready(comparison: Comparison, bound: set[str]) -> bool:
    return bool(open_side(comparison, bound)) or not _free(comparison, bound)


def open_side(comparison: Comparison, bound: set[str]) -> tuple[Term, Term] | None:
    """Of an equation that binds variables: the pattern that it binds them by, and the term that has the value."""
    if comparison.op != "=":
        return None
    for pattern, term in ((comparison.left, comparison.right), (comparison.right, comparison.left)):
        if _free(pattern, bound) and not _free(term, bound) and _is_pattern(pattern, bound):
            return pattern, term
    return None


def _is_pattern(term: Term, bound: set[str]) -> bool:
    match term:
        case Var() | Const():
            return True
        case Record(fields=fields):
            return all(_is_pattern(part, bound) for part in fields)
    return not _free(term, bound)


def _free(node: Term | Literal, bound: set[str]) -> bool:
    return any(variable.name not in bound for variable in variables(node))


def _binding(literal: Literal) -> Iterable[Var]:
    return () if isinstance(literal, Negation) else variables(literal)


def fallible(comparison: Comparison) -> bool:
    """Whether it may fail to have a value, as a division may."""

    def inside(term: Term) -> bool:
        match term:
            case Call(functor, args):
                return functor in FALLIBLE or any(map(inside, args))
            case Record(fields=fields):
                return any(map(inside, fields))
        return False

    return inside(comparison.left) or inside(comparison.right)


def _numbered(reads: Sequence[Atom | Negation | None], then: Sequence[Sequence[Comparison]], head: Atom) -> Course:
    names: dict[str, Var] = {}

    def named(variable: Var) -> Var:
        if variable.anonymous:
            return Var("_ ", variable.kind)
        if variable.name not in names:
            names[variable.name] = Var(str(len(names)), variable.kind)
        return names[variable.name]

    parts = [
        (None if read is None else renamed(read, named), tuple(renamed(one, named) for one in comparisons))
        for read, comparisons in zip(reads, then, strict=True)
    ]
    own_head = renamed(head, named)
    needed: list[set[str]] = [{variable.name for variable in variables(own_head)}]
    for read, comparisons in reversed(parts[1:]):
        more = [v.name for literal in (*((read,) if read else ()), *comparisons) for v in variables(literal)]
        needed.append(needed[-1] | set(more))
    needed.reverse()
    steps: list[Step] = []
    known: set[str] = set()
    for (read, comparisons), wanted in zip(parts, needed, strict=True):
        known |= {v.name for literal in (*((read,) if read else ()), *comparisons) for v in variables(literal)}
        kept = tuple(variable for variable in names.values() if variable.name in known & wanted)
        steps.append(Step(read, comparisons, kept))
    return Course(tuple(steps), own_head)


def renamed(node: Any, named: Callable[[Var], Var]) -> Any:
    """A term or literal with other variables."""
    match node:
        case Var():
            return named(node)
        case Const():
            return node
        case Call(args=parts):
            return replace(node, args=tuple(renamed(part, named) for part in parts))
        case Record(fields=parts):
            return replace(node, fields=tuple(renamed(part, named) for part in parts))
        case Atom(relation, args):
            return Atom(relation, tuple(renamed(arg, named) for arg in args))
        case Negation(atom):
            return Negation(renamed(atom, named))
        case Comparison(op, left, right):
            return Comparison(op, renamed(left, named), renamed(right, named))
    raise AssertionError(f"{node} does not stand in a course")
