"""The integer program of a repair: a 0/1 variable for each changeable tuple, a constraint for each instantiation.

A tuple's variable is 1 if it is there. What is asked for decides which way the variable has to follow the rules:

- A tuple that must not be there needs `x1 + … + xk - xh <= k - 1` for each of its instantiations (002, Alg. 10): if
  all of the body is there, so is the head. Cycles do no harm. A solution makes some superset of the least fixpoint
  true, in which the unwanted tuple is false; so it is false in the least fixpoint too. The other way round, the least
  fixpoint of any choice of input satisfies these constraints. So the optimum is that of all choices.
- A tuple that must be there needs a support: `xh <= z1 + … + zm`, where `zi` says that the body of the i-th
  instantiation is there. Here cycles do harm: tuples could support each other. A solution in which they do is refused
  by a loop formula, which says that one of them needs a support from outside; see `unfounded`.

A negated tuple turns the one into the other (6.4.4), so both epochs are in one program, and no going back and forth is
needed. `needed` marks which of the two each tuple is reached by.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from whence.explain.search import Key
from whence.repair.change import Part
from whence.repair.grounding import Hypergraph
from whence.repair.integer import IntegerProgram


@dataclass(frozen=True)
class Task:
    """What is asked for: tuples that must be absent or present in the end. One begins with all of the change (the
    current epoch) or, `from_before`, with none of it, and turns as few parts as possible.

    Parts that are `fixed` are not turned, those that are `forced` are.
    """

    absent: frozenset[Key]
    present: frozenset[Key]
    from_before: bool = False
    fixed: frozenset[Part] = frozenset()
    forced: frozenset[Part] = frozenset()

    def starts_with(self, part: Part) -> bool:
        """Whether a part's tuple is in the input to begin with."""
        return part.inserted is not self.from_before


@dataclass
class Encoding:
    """An integer program that grows by what is learned: cuts and loop formulas."""

    graph: Hypergraph
    task: Task
    parts: Mapping[Key, Part]
    program: IntegerProgram = field(default_factory=IntegerProgram)
    there: dict[Key, int] = field(default_factory=dict)  # is the tuple there?
    given: dict[Key, int] = field(default_factory=dict)  # is it in the input?
    supports: dict[Key, list[tuple[int, frozenset[Key]]]] = field(default_factory=dict)  # with the tuples they rest on

    def __post_init__(self) -> None:
        for part in self.parts.values():
            self._input(part)
        waiting = [(key, False) for key in self.task.absent] + [(key, True) for key in self.task.present]
        for key, wanted in waiting:
            self._fix(key, wanted)
        done: set[tuple[Key, bool]] = set()
        while waiting:
            key, wanted = waiting.pop()
            if (key, wanted) in done:
                continue
            done.add((key, wanted))
            bodies = [dict(body) for body in self.graph.bodies.get(key, ())]
            if wanted:
                self._support(key, bodies)
            else:
                self._imply(key, bodies)
            waiting += [(other, wanted is sign) for body in bodies for other, sign in body.items()]

    def _input(self, part: Part) -> None:
        start = self.task.starts_with(part)
        low, high = 0.0, 1.0
        if part in self.task.fixed:
            low = high = float(start)
        elif part in self.task.forced:
            low = high = float(not start)
        self.given[part.key] = self.program.variable(-1.0 if start else 1.0, low, high)

    def _there(self, key: Key) -> int:
        known = self.there.get(key)
        if known is None:
            alone = key in self.given and key not in self.graph.bodies
            known = self.there[key] = self.given[key] if alone else self.program.variable()
        return known

    def _fix(self, key: Key, wanted: bool) -> None:
        self.program.row({self._there(key): 1.0}, float(wanted), float(wanted))

    def _imply(self, head: Key, bodies: Iterable[Mapping[Key, bool]]) -> None:
        """Whenever a body is there, so is the head."""
        variable = self._there(head)
        if head in self.given and self.given[head] != variable:
            self.program.row({variable: 1.0, self.given[head]: -1.0}, 0.0)
        for body in bodies:
            row = {variable: -1.0}
            positive = 0
            for key, sign in body.items():
                row[self._there(key)] = 1.0 if sign else -1.0
                positive += sign
            self.program.row(row, high=positive - 1.0)

    def _support(self, head: Key, bodies: Iterable[Mapping[Key, bool]]) -> None:
        """If the head is there, it is input or some body is there."""
        variable = self._there(head)
        if self.given.get(head) == variable:
            return
        found = [(self._body(body), frozenset(key for key, sign in body.items() if sign)) for body in bodies]
        if head in self.given:
            found.append((self.given[head], frozenset()))
        self.supports[head] = found
        self.need(head, [support for support, _ in found])

    def _body(self, body: Mapping[Key, bool]) -> int:
        """The variable that says that a body is there."""
        if len(body) == 1 and next(iter(body.values())):
            return self._there(next(iter(body)))
        support = self.program.variable()
        for key, sign in body.items():
            if sign:
                self.program.row({support: 1.0, self._there(key): -1.0}, high=0.0)
            else:
                self.program.row({support: 1.0, self._there(key): 1.0}, high=1.0)
        return support

    def need(self, head: Key, supports: Sequence[int]) -> None:
        row = {self._there(head): 1.0}
        for support in supports:
            if support == self._there(head):
                return
            row[support] = -1.0
        self.program.row(row, high=0.0)

    def refuse(self, turned: Iterable[Part], exactly: bool) -> None:
        """Not these parts: not exactly these, or no choice that has all of them."""
        chosen = set(turned)
        row, most = {}, -1.0
        for part in self.parts.values():
            if part in chosen or exactly:
                on = self.task.starts_with(part) is not (part in chosen)
                row[self.given[part.key]] = 1.0 if on else -1.0
                most += on
        self.program.row(row, high=most)

    def solve(self, seconds: float) -> frozenset[Part] | None:
        """The parts to turn, as few as can be, or None if nothing satisfies what is asked for."""
        while True:
            values = self.program.solve(seconds)
            if values is None:
                return None
            loop = self.unfounded(values)
            if not loop:
                break
            outside = [
                support for head in loop for support, body in self.supports[head] if not body & loop
            ]  # some tuple of the loop comes first, and rests on none of the others
            for head in loop:
                self.need(head, outside)
        turned = (part for part in self.parts.values() if values[self.given[part.key]] != self.task.starts_with(part))
        return frozenset(turned)

    def unfounded(self, values: Sequence[bool]) -> set[Key]:
        """The supported tuples that are there only because of each other."""

        def given(key: Key) -> bool:
            return key in self.given and values[self.given[key]]

        def holds(key: Key) -> bool:
            return key in self.there and values[self.there[key]]

        claimed = {key for key in self.supports if values[self.there[key]]}
        if not claimed:
            return set()
        return claimed - self.graph.follow(given, holds)
