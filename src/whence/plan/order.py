"""The order of atoms in a version, and the steps that follow from it.

From every atom that may come first, go on greedily to the atom that multiplies the bindings least; take the cheapest
of these orders. A delta comes first unless that makes a cross product which another order avoids. A `.plan` wins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from whence.lang.program import Aggregate, Atom, Comparison, Const, Literal, Negation, Record, Term, Var
from whence.plan.literals import Constraint, is_operand, names_of, split
from whence.plan.statistics import Statistics
from whence.plan.steps import (
    DELTAS,
    Absent,
    Bind,
    Binds,
    Exists,
    Filter,
    Fold,
    Keys,
    Operand,
    Probe,
    Project,
    Repeats,
    RuleVersion,
    Scan,
    Step,
    Unpack,
    View,
)

FEW = 8  # with more atoms than this, only the smallest are tried as the first


def planned(version: RuleVersion, statistics: Statistics) -> RuleVersion:
    """The version with its order and steps."""
    body = _body(version, statistics)
    given = version.rule.plan.get(version.number)
    order = tuple(i - 1 for i in given) if given else body.best_order()
    return replace(version, order=order, steps=tuple(body.steps(order)))


def cost(version: RuleVersion, statistics: Statistics) -> float:
    """How many bindings a planned version is expected to meet."""
    return _body(version, statistics).course(version.order, greedy=False).cost


def _body(version: RuleVersion, statistics: Statistics) -> Body:
    rule = version.rule
    return Body(rule.body, version.views, frozenset(), rule.head.args, statistics, version.absent, version.inside)


@dataclass
class Course:
    """How far an order has come: what is bound, what still waits, how many bindings are expected."""

    bound: frozenset[str]
    waiting: list[Constraint]
    done: list[Constraint | int]
    rows: float = 1.0
    cost: float = 0.0
    crosses: int = 0


class Body:
    """A conjunction to be planned: a rule's, or that of an aggregate, whose outer variables are then `given`."""

    def __init__(
        self,
        literals: Sequence[Literal],
        views: Sequence[View],
        given: frozenset[str],
        results: tuple[Term, ...],
        statistics: Statistics,
        absent: Sequence[View] = (),
        inside: View = View.ALL,
    ) -> None:
        self.readings, self.constraints = split(literals)
        self.views = views
        negations = [c.literal for c in self.constraints if isinstance(c.literal, Negation)]
        self.absent = dict(zip(map(id, negations), absent or [inside] * len(negations), strict=True))
        self.inside = inside
        self.given = given
        self.results = results
        self.statistics = statistics
        self.wanted = names_of(results)
        uses = Counter(self.wanted)
        for part in [*(r.names for r in self.readings), *(c.names for c in self.constraints)]:
            uses.update(part)
        self.shared = [frozenset(n for n in reading.names if uses[n] > 1) for reading in self.readings]
        self.aggregated = names_of(c.literal.result for c in self.constraints if isinstance(c.literal, Aggregate))

    # Orders

    def best_order(self) -> tuple[int, ...]:
        if not self.readings:
            return ()
        for i, view in enumerate(self.views):
            if view in DELTAS:
                course = self.course([i], greedy=True)
                if not course.crosses:
                    return order_of(course)
        sizes = [self.statistics.size(r.atom.relation, v) for r, v in zip(self.readings, self.views, strict=True)]
        firsts = sorted(range(len(sizes)), key=sizes.__getitem__)
        courses = [self.course([first], greedy=True) for first in firsts[: len(sizes) if len(sizes) <= FEW else 4]]
        has_delta = not DELTAS.isdisjoint(self.views)
        return order_of(min(courses, key=lambda course: (course.crosses if has_delta else 0, course.cost)))

    def course(self, order: Sequence[int], greedy: bool) -> Course:
        """Follow an order; if `greedy`, go on after its end to all other atoms."""
        course = Course(self.given, list(self.constraints), [])
        self.settle(course)
        for i in order:
            self.take(course, i)
        left = [i for i in range(len(self.readings)) if i not in order] if greedy else []
        while left:
            i = min(left, key=lambda i: (self.factor(course, i), i))
            left.remove(i)
            self.take(course, i)
        return course

    def take(self, course: Course, i: int) -> None:
        reading = self.readings[i]
        started = any(isinstance(part, int) for part in course.done)
        if started and self.shared[i] and not reading.names & course.bound:
            course.crosses += 1
        rows = course.rows * self.factor(course, i)
        course.cost += course.rows + rows
        course.rows = rows
        course.bound |= reading.names
        course.done.append(i)
        self.settle(course)

    def settle(self, course: Course) -> None:
        while True:
            ready = [(c, bound) for c in course.waiting if (bound := self.settles(c, course.bound)) is not None]
            if not ready:
                return
            constraint, bound = min(ready, key=lambda pair: pair[0].price)
            course.waiting.remove(constraint)
            course.done.append(constraint)
            course.bound |= bound
            if not bound:
                course.rows *= 0.1 if isinstance(constraint.literal, Comparison) and constraint.price == 1 else 0.5

    def settles(self, constraint: Constraint, bound: frozenset[str]) -> frozenset[str] | None:
        binds = constraint.settles(bound)
        if binds and binds & self.aggregated and not isinstance(constraint.literal, Aggregate):
            return None  # an equation compares the result of an aggregate, it never gives it
        return binds

    def factor(self, course: Course, i: int) -> float:
        """How many tuples of the atom are expected for each binding so far."""
        reading, bound = self.readings[i], course.bound
        atom = reading.atom
        keys = tuple([column for column, name in reading.columns if name is None or name in bound])
        size = self.statistics.size(atom.relation, self.views[i])
        if keys and size:
            size /= max(1.0, self.statistics.distinct(atom.relation, keys))
        return size if self.shared[i] - bound else min(1.0, size) * 0.5  # what binds nothing only tests

    # Steps

    def steps(self, order: Sequence[int]) -> list[Step]:
        done = self.course(order, greedy=False).done
        needed = [self.wanted]
        for part in reversed(done):
            names = self.readings[part].names if isinstance(part, int) else part.names
            needed.append(needed[-1] | names)
        needed.reverse()
        bound = self.given
        steps: list[Step] = []
        for place, part in enumerate(done):
            if isinstance(part, int):
                atom, view = self.readings[part].atom, self.views[part]
                first = not any(isinstance(step, Scan | Probe) for step in steps)
                steps.append(_read(atom, view, bound, needed[place + 1], first))
                bound |= self.readings[part].names
            else:
                steps.append(self.constrain(part.literal, bound))
                bound |= self.settles(part, bound) or frozenset()
        return [*steps, Project(self.results)]

    def constrain(self, literal: Comparison | Negation | Aggregate, bound: frozenset[str]) -> Step:
        if isinstance(literal, Negation):
            keys = _keys(literal.atom, bound)
            return Absent(literal.atom, self.absent[id(literal)], keys)
        if isinstance(literal, Aggregate):
            atoms = sum(isinstance(part, Atom) for part in literal.body)
            target = () if literal.target is None else (literal.target,)
            views = [self.inside] * atoms
            given = names_of(literal.outer)
            body = Body(literal.body, views, given, target, self.statistics, inside=self.inside)
            return Fold(literal, tuple(body.steps(body.best_order())))
        if literal.op == "=":
            for one, other in ((literal.left, literal.right), (literal.right, literal.left)):
                if isinstance(one, Var) and one.name not in bound:
                    return Bind(one, other)
                if isinstance(one, Record) and is_operand(other) and names_of([other]) <= bound:
                    assert isinstance(other, Var | Const)
                    return Unpack(other, one, bound)
        return Filter(literal)


def order_of(course: Course) -> tuple[int, ...]:
    return tuple(part for part in course.done if isinstance(part, int))


def _read(atom: Atom, view: View, bound: frozenset[str], needed: frozenset[str], first: bool) -> Step:
    keys = _keys(atom, bound)
    places: dict[str, int] = {}
    binds: Binds = ()
    repeats: Repeats = ()
    for column, arg in enumerate(atom.args):
        if not isinstance(arg, Var) or arg.name in bound:
            continue
        if arg.name in places:
            repeats += ((places[arg.name], column),)
            continue
        places[arg.name] = column
        if arg.name in needed:
            binds += ((column, arg),)
    if not binds and not repeats:
        return Exists(atom, view, keys)
    if not keys or (first and view in DELTAS):  # a delta is read once: no index is made of it
        return Scan(atom, view, keys, binds, repeats)
    return Probe(atom, view, keys, binds, repeats)


def _keys(atom: Atom, bound: frozenset[str]) -> Keys:
    keys: list[tuple[int, Operand]] = []
    for column, arg in enumerate(atom.args):
        if _is_bound(arg, bound):
            assert isinstance(arg, Var | Const)
            keys.append((column, arg))
    return tuple(keys)


def _is_bound(arg: Term, bound: frozenset[str]) -> bool:
    return isinstance(arg, Const) or (isinstance(arg, Var) and arg.name in bound)
