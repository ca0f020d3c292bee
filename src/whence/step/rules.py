"""Rules as the machine reduces them: a variable for each column of the head, the literals in the order they are taken.

A head is normalised as in 001, 3.1: a column that is not a variable of its own becomes an equation. Literals are taken
as they are written. One whose variables have no values yet waits until they have; an equation that only moves a term
out of an atom is taken as soon as it can be, so that `fib(n - 1, x)` is called with the value of `n - 1`.

Which columns of a call are bound (its adornment) follows from those of the head, so a rule is made ready once for each
adornment. Parts that the user did not write are *silent*: the debugger passes over them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from whence.explain.backward import backward, outside
from whence.lang.program import (
    Aggregate,
    Atom,
    Call,
    Comparison,
    Const,
    Literal,
    Negation,
    Program,
    Record,
    Relation,
    Rule,
    Term,
    Var,
)
from whence.plan.literals import constraint, flattened

Columns = tuple[int, ...]  # of a relation, those that are bound: its adornment
Place = tuple[int, int]  # of a literal in the text of its rule
OWN_EQUATIONS = ("v ", "h ", "f ")  # how variables begin that stand for a term moved out of its place


@dataclass(frozen=True, eq=False)
class Part:
    """A literal in its turn. `bound` are its variables that have values by then, `new` those that it gives one.

    Of an atom, `columns` are bound; `computed` are those of them whose values no relation is known to have.
    """

    literal: Literal
    bound: tuple[Var, ...]
    new: tuple[Var, ...]
    place: Place | None = None
    silent: bool = False
    columns: Columns = ()
    computed: Columns = ()

    @property
    def atom(self) -> Atom | None:
        """The atom, if the literal is one or negates one."""
        match self.literal:
            case Negation(atom):
                return atom
            case Atom():
                return self.literal
        return None

    @property
    def positive(self) -> bool:
        return not isinstance(self.literal, Negation)


@dataclass(frozen=True, eq=False)
class Ordered:
    """A rule for an adornment: `head` has a variable for each column. Without a rule, it reads the relation's input."""

    relation: str
    rule: Rule | None
    head: tuple[Var, ...]
    parts: tuple[Part, ...]


def input_of(relation: str) -> str:
    """The name of the part of a derived relation that was put in."""
    return f"in {relation}"


class Rulebook:
    """The rules of a program, made ready as they are called. `inputs` are the derived relations that have input too."""

    def __init__(self, program: Program, inputs: Iterable[str]) -> None:
        self.by_relation: dict[str, list[Rule]] = {}
        for rule in program.rules:
            self.by_relation.setdefault(rule.head.relation, []).append(rule)
        self.inputs = frozenset(inputs)
        self.stratum = {name: i for i, one in enumerate(program.strata) for name in one.relations}
        self.recursive = {name for one in program.strata if one.recursive for name in one.relations}
        self._ready: dict[tuple[str, Columns], tuple[Ordered, ...]] = {}

    def derived(self, relation: str) -> bool:
        """Whether a call of the relation can be stepped into."""
        return relation in self.by_relation

    def together(self, one: str, other: str) -> bool:
        """Whether two relations are defined by each other."""
        mine = self.stratum.get(one)
        return mine is not None and mine == self.stratum.get(other) and one in self.recursive

    def rules(self, relation: Relation, columns: Columns) -> tuple[Ordered, ...]:
        """rules(p), for an adornment."""
        key = (relation.name, columns)
        if key not in self._ready:
            ready: list[Ordered] = []
            if relation.name in self.inputs:
                ready.append(_of_input(relation, columns))
            for rule in self.by_relation[relation.name]:
                ready.append(_without_repetition(self._ordered(rule, columns), ready[-1] if ready else None))
            self._ready[key] = tuple(ready)
        return self._ready[key]

    def _ordered(self, rule: Rule, columns: Columns) -> Ordered:
        head, waiting = _literals(rule)
        bound = {head[column].name for column in columns}
        computed: set[str] = set()
        parts: list[Part] = []
        main = _main(waiting)
        while waiting:
            one = _next(waiting, bound)
            waiting.remove(one)
            parts.append(self._part(one, one is not main.get(one.place), rule.head.relation, bound, computed))
            _learn(one.literal, bound, computed)
        return Ordered(rule.head.relation, rule, head, tuple(parts))

    def _part(self, one: Waiting, silent: bool, relation: str, bound: set[str], computed: set[str]) -> Part:
        named = dict.fromkeys(outside(one.literal))
        known = tuple(variable for variable in named if variable.name in bound)
        new = tuple(variable for variable in named if variable.name not in bound)
        part = Part(one.literal, known, new, one.place, silent)
        if part.atom is None:
            return part
        columns = tuple(i for i, t in enumerate(part.atom.args) if isinstance(t, Const) or t in known)
        unmet: Columns = ()
        if self.together(relation, part.atom.relation):
            unmet = tuple(i for i in columns if isinstance(t := part.atom.args[i], Var) and t.name in computed)
        return replace(part, columns=columns, computed=unmet)


@dataclass(frozen=True, eq=False)
class Waiting:
    literal: Literal
    place: Place | None
    helps: bool  # an equation that only moves a term


def _literals(rule: Rule) -> tuple[tuple[Var, ...], list[Waiting]]:
    """The variables of the head's columns, and all literals: the equations of the head, then the body."""
    read = backward(rule)
    fresh = count(1)
    places = rule.places or (None,) * len(rule.body)
    written: list[tuple[Literal, Place | None]] = [(equation, None) for equation in read.equations]
    written += zip(rule.body, places, strict=True)
    waiting = []
    for literal, place in written:
        parts: Sequence[Literal] = [literal] if isinstance(literal, Atom) else flattened(literal, fresh)
        waiting += [Waiting(part, place, _helps(part)) for part in parts]
    return read.given, waiting


def _helps(literal: Literal) -> bool:
    if not isinstance(literal, Comparison) or literal.op != "=":
        return False
    return any(isinstance(side, Var) and side.name.startswith(OWN_EQUATIONS) for side in (literal.left, literal.right))


def _main(waiting: Sequence[Waiting]) -> Mapping[Place | None, Waiting]:
    """Of the literals that one place in the text stands for, the one that is shown."""
    main: dict[Place | None, Waiting] = {}
    for one in waiting:
        if one.place is not None and (one.place not in main or _rank(one.literal) > _rank(main[one.place].literal)):
            main[one.place] = one
    return main


def _rank(literal: Literal) -> int:
    return 0 if isinstance(literal, Comparison) else 1 if isinstance(literal, Aggregate) else 2


def _next(waiting: Sequence[Waiting], bound: set[str]) -> Waiting:
    results = {one.literal.result.name for one in waiting if isinstance(one.literal, Aggregate)}
    ready = [one for one in waiting if _settled(one.literal, bound, results)]
    return next((one for one in ready if one.helps), ready[0])


def _settled(literal: Literal, bound: set[str], results: set[str]) -> bool:
    """Whether a literal can be taken. The result of an aggregate gets its value from that and from nothing else."""
    if isinstance(literal, Atom):
        return True
    binds = constraint(literal).settles(frozenset(bound))
    return binds is not None and (isinstance(literal, Aggregate) or not binds & results)


def _learn(literal: Literal, bound: set[str], computed: set[str]) -> None:
    """Which variables have values after a literal, and which of these were computed and never met in a relation."""
    names = {variable.name for variable in outside(literal)}
    match literal:
        case Atom():
            computed -= names
        case Aggregate(result=result):
            computed.add(result.name)
        case Comparison(left=left, right=right):
            new = names - bound
            if _computes(left, bound, computed) or _computes(right, bound, computed):
                computed |= new
    if not isinstance(literal, Negation):
        bound |= names


def _computes(term: Term, bound: set[str], computed: set[str]) -> bool:
    """Whether what is set equal to a term may be a value that is nowhere yet."""
    match term:
        case Var(name):
            return name in computed
        case Call():
            return True
        case Record():
            return {variable.name for variable in outside(Comparison("=", term, term))} <= bound
    return False


def _of_input(relation: Relation, columns: Columns) -> Ordered:
    head = tuple(Var(column.name, column.kind) for column in relation.columns)
    if len(set(head)) < len(head):
        head = tuple(Var(f"{column.name} {i}", column.kind) for i, column in enumerate(relation.columns))
    bound = tuple(head[column] for column in columns)
    new = tuple(variable for variable in head if variable not in bound)
    return Ordered(relation.name, None, head, (Part(Atom(input_of(relation.name), head), bound, new, columns=columns),))


def _without_repetition(ordered: Ordered, before: Ordered | None) -> Ordered:
    """The parts that an alternative of a disjunction has in common with the one before are silent (6.2): the user has
    been through them."""
    if before is None or before.rule is None or ordered.rule is None or before.rule.origin != ordered.rule.origin:
        return ordered
    parts = list(ordered.parts)
    for i, (one, other) in enumerate(zip(ordered.parts, before.parts, strict=False)):
        if one.place != other.place or one.literal != other.literal or ordered.head != before.head:
            break
        parts[i] = replace(one, silent=True)
    return replace(ordered, parts=tuple(parts))
