"""The smallest choice of parts to turn: integer programs whose answers are tried, and that learn from those that fail.

What the program knows is true of every choice, or was tried, so its optimum is a lower bound, and an answer of that
size that holds when it is tried is the smallest. Where that cannot be shown, delta debugging is asked too, and the
smaller answer of the two is taken.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from whence.engines.local.kernel.layout import BEFORE, NOW
from whence.errors import WhenceError
from whence.explain.search import Key, Search, as_rows
from whence.explain.state import InMemory
from whence.plan import View
from whence.repair.change import Epochs, Part
from whence.repair.cone import Cone, cone_of
from whence.repair.encoding import Choice, Encoding, Task
from whence.repair.grounding import Grounding, Hypergraph, Scope, TooMany
from whence.repair.integer import Unsolved
from whence.repair.trial import Failure, Laboratory, OutOfTime, Wishes, delta_debugging

TIME = "the time was up"
ROUNDS = 30  # choices that fail before delta debugging takes over


@dataclass(frozen=True)
class Found:
    """A choice that was tried and does what was asked for. `smallest` says that there is provably no smaller one, else
    `reason` says why that is not known."""

    parts: tuple[Part, ...]
    smallest: bool
    reason: str = ""


class Finder:
    """Answers one task, then others of the same size."""

    def __init__(self, laboratory: Laboratory, wishes: Wishes, task: Task) -> None:
        self.laboratory = laboratory
        self.wishes = wishes
        self.task = task
        self.epochs: Epochs = laboratory.epochs
        program = self.epochs.tables.program
        faulty = {name for name, _ in (*task.absent, *task.present)} | {one.relation for one in wishes.barred}
        self.cone: Cone = cone_of(program, faulty, {part.key[0] for part in self.epochs.parts})
        # What a trial has to revise. Of a relation that nothing reads, the tuples in question are enough.
        whole = {part.key[0] for part in self.epochs.parts} | {one.relation for one in wishes.barred}
        self._revised = self.cone.read | self.cone.cut | (self.cone.relations & whole)
        self.graph = Hypergraph()
        self.grounding = Grounding(self.epochs, self.cone, self.graph, laboratory.alarm)
        self.encoding: Encoding | None = None
        self._refused: list[tuple[Choice, bool]] = []
        self._closed = False  # whether both epochs together have all that their input together derives
        self._complete: bool | None = None  # whether the graph has all there is; None if that was not looked at

    def answers(self, most: int) -> Iterator[Found]:
        """Smallest choices, or the best that there was time for; at most so many, all of one size."""
        found = self._first()
        if found is None:
            return
        yield found
        size = len(found.parts)
        for _ in range(most - 1):
            self._refuse(frozenset(found.parts), exactly=False)
            other = self._another(size)
            if other is None:
                return
            found = replace(found, parts=self._ordered(other))
            yield found

    # The first

    def _first(self) -> Found | None:
        best: Choice | None = None
        reason = ""
        try:
            best, smallest, reason = self._search()
            if smallest:
                return None if best is None else Found(self._ordered(best), True)
        except (OutOfTime, Unsolved):
            reason = TIME
            best = best if best is not None else self._tried
        except TooMany:
            reason = "the faults can come about in too many ways"
        if self.laboratory.left > 0:
            best = self._debugged(best)
        if best is None and not self.task.fixed:
            best = frozenset(self.epochs.parts)  # the other epoch, which is as it should be without a trial
        if best is None and reason == TIME:
            raise WhenceError("no answer was found in this time; give more, or reject less")
        return None if best is None else Found(self._ordered(best), len(best) <= max(1, len(self.task.forced)), reason)

    _tried: Choice | None = None  # the smallest that has passed its trial so far

    def _search(self) -> tuple[Choice | None, bool, str]:
        if self.cone.cut:
            name = min(self.cone.cut)
            return None, False, f"{name} has a .limitsize, so its tuples do not follow from the rules alone"
        self._collect()
        for _ in range(ROUNDS):
            choice = self._encoded().solve(self.laboratory.left)
            if choice is not None and (self._tried is None or len(choice) < len(self._tried)):
                if not self._passes(choice):
                    continue
                self._tried = choice
                if len(choice) <= max(1, len(self.task.forced)):
                    return choice, True, ""
            if self._completed():
                return self._tried, True, ""
            if self._complete is False:
                break
        return self._tried, False, "a negation or an aggregate stands between the change and the faults"

    def _another(self, size: int) -> Choice | None:
        """One more choice of a size."""
        try:
            for _ in range(ROUNDS):
                choice = self._encoded().solve(self.laboratory.left)
                if choice is None or len(choice) > size:
                    return None
                if self._passes(choice):
                    return choice
        except (OutOfTime, Unsolved, TooMany):
            pass
        return None

    def _passes(self, choice: Choice) -> bool:
        """Tries a choice. If it fails, that is learned."""
        with self.laboratory.without(self._undone(choice), self._revised) as revision:
            failure = self.laboratory.failure(self.wishes, revision, self._revised)
            if failure:
                self._learn(failure, choice)
            return not failure

    def _undone(self, choice: Choice) -> Choice:
        """The parts that are not there once a choice is turned."""
        return frozenset(self.epochs.parts) - choice if self.task.from_before else choice

    def _ordered(self, choice: Choice) -> tuple[Part, ...]:
        return tuple(part for part in self.epochs.parts if part in choice)

    # The graph

    @property
    def _scope(self) -> Scope:
        base = BEFORE if self.task.from_before else NOW
        own = View.BEFORE if self.task.from_before else View.ALL
        if self.cone.positive and not self.task.present:
            return Scope(own, base)  # leaving out what was added can only help, so nothing else is looked at
        return Scope(View.EITHER, base, grows=self.cone.positive and not self.task.absent)

    @property
    def _goals(self) -> list[Key]:
        return [*self.task.absent, *self.task.present]

    def _collect(self) -> None:
        scope = self._scope
        with self.laboratory.timed():
            if scope.view is View.ALL:
                self.grounding.collect(self._goals, scope)
                return
            with self.laboratory.both(self.cone.read):
                self.grounding.collect(self._goals, scope)

    def _encoded(self) -> Encoding:
        if self.encoding is None:
            self.encoding = Encoding(self.graph, self.task, self.epochs.part_of)
            for choice, exactly in self._refused:
                self.encoding.refuse(choice, exactly)
        return self.encoding

    def _refuse(self, choice: Choice, exactly: bool) -> None:
        self._refused.append((choice, exactly))
        if self.encoding is not None:
            self.encoding.refuse(choice, exactly)

    def _learn(self, failure: Failure, choice: Choice) -> None:
        """Called while a choice that fails is tried: not this one, and how the tuples that are there came about."""
        self._refuse(choice, exactly=True)
        if not failure.there:
            return
        before = self._scope
        self.task = replace(self.task, absent=self.task.absent | failure.there)
        self.encoding, self._complete = None, None
        if self._scope != before:
            self.graph.clear()
        with self.laboratory.both(self.cone.read, exact=False):
            self.grounding.collect(failure.there, Scope(View.ALL, NOW, whole=True))

    def _completed(self) -> bool:
        """Whether the graph has all instantiations there can be. If it can be made to and was not, then it is now, but
        the answer is no for this time; `_complete` is False if it cannot."""
        if self._complete is None:
            self._complete = self.cone.positive or self.cone.flat
            if self._complete and self._complete_graph():
                self.encoding = None
                return False
        return self._complete

    def _complete_graph(self) -> bool:
        """Makes the graph anew, if it lacks something; says whether it did."""
        changed = False
        sure: set[Key] = set()
        while True:
            if self._scope.view is View.EITHER and self._unite():
                changed = True
            uncertain = set() if self._scope.grows else self._uncertain(self.graph.kept - sure, sure)
            if not uncertain:
                return changed
            changed = True
            self.grounding.promote(uncertain)
            self.graph.clear()
            self._collect()

    def _uncertain(self, keys: set[Key], sure: set[Key]) -> set[Key]:
        """Which of these tuples, that both epochs have, may not follow from the input that both have: those whose proof
        uses what the change brought, and what that goes through, which would be asked about next. The others are added
        to those that are sure."""
        search = Search(InMemory(self.epochs.tables))
        below: dict[Key, tuple[Key, ...]] = {}
        above: dict[Key, list[Key]] = defaultdict(list)
        tainted: set[Key] = set()
        level = keys
        while level:
            self.laboratory.alarm()
            tainted |= {key for key in level if key in self.epochs.part_of} | self._came(level)
            level = level - tainted
            steps = search.steps(level)  # none for input, which both epochs have if it is no part
            following: set[Key] = set()
            for key in level:
                below[key] = steps[key].tuples if key in steps else ()
                for tuple in below[key]:
                    if tuple[0] in self.cone.affected and tuple not in sure:
                        above[tuple].append(key)
                        following.add(tuple)
            level = following - below.keys() - tainted
        spreading = list(tainted)
        while spreading:
            for key in above[spreading.pop()]:
                if key not in tainted:
                    tainted.add(key)
                    spreading.append(key)
        sure |= below.keys() - tainted
        return tainted if tainted & keys else set()

    def _came(self, keys: set[Key]) -> set[Key]:
        by_relation: dict[str, list[Key]] = defaultdict(list)
        for key in keys:
            by_relation[key[0]].append(key)
        found: set[Key] = set()
        for name, group in by_relation.items():
            rows = as_rows([row for _, row in group], len(group[0][1]))
            found |= {key for key, came in zip(group, self.epochs.came(name).has(rows).tolist(), strict=True) if came}
        return found

    def _unite(self) -> bool:
        """If the input of both epochs together derives more than both have, makes the graph anew with that."""
        if self._closed:
            return False
        deleted = [part for part in self.epochs.parts if not part.inserted]
        with self.laboratory.without(deleted, self.cone.read) as revision:
            reached = self.cone.read & self.cone.affected
            gained = {name: len(revision.rows_of(name, View.GAINED)) for name in reached}
            self._closed = all(gained[name] == len(self.epochs.difference(name).went) for name in reached)
            if self._closed:
                return False
            self.graph.clear()  # what was in neither epoch may have been taken for absent
            with self.laboratory.both(self.cone.relations, exact=False):
                self.grounding.collect(self._goals, self._scope)
        return True

    # Without the graph

    def _debugged(self, best: Choice | None) -> Choice | None:
        """Delta debugging, for what is not known to be the smallest; None if nothing does what is asked for."""
        forced = self.task.forced
        free = [part for part in self.epochs.parts if part not in forced and part not in self.task.fixed]

        def passes(parts: Iterable[Part]) -> bool:
            choice = forced | frozenset(parts)
            passed = self.laboratory.holds_without(self._undone(choice), self.wishes, self._revised)
            if passed and (self._tried is None or len(choice) < len(self._tried)):
                self._tried = choice
            return passed

        try:
            if passes(()) or (free and passes(free)):
                delta_debugging(free, passes)
        except OutOfTime:
            pass
        return self._tried if best is None or (self._tried is not None and len(self._tried) < len(best)) else best
