"""The integer program of a repair: a 0/1 variable for each changeable tuple, a constraint for each instantiation.

A tuple's variable is 1 if it is there. What is asked for decides which way the variable has to follow the rules:

- A tuple that must not be there needs `x1 + … + xk - xh <= k - 1` for each of its instantiations (002, Alg. 10): if
  all of the body is there, so is the head. Cycles do no harm. A solution makes some superset of the least fixpoint
  true, in which the unwanted tuple is false; so it is false in the least fixpoint too. The other way round, the least
  fixpoint of any choice of input satisfies these constraints. So the optimum is that of all choices.
- A tuple that must be there needs a support: `xh <= z1 + … + zm`, where `zi` says that the i-th set of what it can rest
  on is there. Instantiations will not do for that, because tuples in a cycle would support each other; the sets, see
  `witnesses`, name input and absent tuples only.

A negated tuple turns the one into the other (6.4.4), so both epochs are in one program, and no going back and forth is
needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from whence.explain.search import Key
from whence.repair.change import Part
from whence.repair.grounding import Body, Hypergraph
from whence.repair.integer import IntegerProgram
from whence.repair.witnesses import Witnesses

Choice = frozenset[Part]
COMPARED = 50  # bodies of a tuple, with which others are compared


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


class Encoding:
    """The integer program of a task over a hypergraph, with the choices that were refused."""

    def __init__(self, graph: Hypergraph, task: Task, parts: Mapping[Key, Part]) -> None:
        self.bodies = {head: minimal(bodies) for head, bodies in graph.bodies.items()}
        self.task = task
        self.parts = parts
        self.refused: list[tuple[Choice, bool]] = []
        self.implied, self.supported = self._reached()
        self.witnesses: Witnesses | None = None
        if self.supported:
            self.witnesses = Witnesses(self.bodies, self.parts.__contains__, self._turns)
            self.witnesses.reach(self.supported, 0)
        self._program: IntegerProgram | None = None
        self._there: dict[Key, int] = {}  # is the tuple there?
        self._given: dict[Key, int] = {}  # is it in the input?

    def _reached(self) -> tuple[list[Key], list[Key]]:
        """The tuples whose variables have to follow the rules if they are there, and those that need a support."""
        waiting = [(key, False) for key in self.task.absent] + [(key, True) for key in self.task.present]
        done = dict.fromkeys(waiting)
        while waiting:
            key, wanted = waiting.pop()
            for body in self.bodies.get(key, ()):
                for other, sign in body:
                    reached = (other, wanted is sign)
                    if reached not in done:
                        done[reached] = None
                        waiting.append(reached)
        # A tuple below one that needs a support is in the sets of that one, and needs none itself.
        goals = set(self.task.present)
        implied = [key for key, wanted in done if not wanted]
        goals.update(key for head in implied for body in self.bodies.get(head, ()) for key, sign in body if not sign)
        supported = [key for key, wanted in done if wanted and key in goals]
        return implied, [key for key in supported if key in self.bodies or key not in self.parts]

    def refuse(self, choice: Choice, exactly: bool) -> None:
        """Not this choice: not exactly it, or none that has all of it."""
        self.refused.append((choice, exactly))
        if self._program is not None:
            self._refuse(choice, exactly)

    def solve(self, seconds: float) -> Choice | None:
        """The parts to turn, as few as can be, or None if nothing satisfies what is asked for."""
        while True:
            if self._program is None:
                self._program = IntegerProgram()
                self._build()
            values = self._program.solve(seconds)
            known = self.witnesses
            if values is None and (known is None or known.exhausted):
                return None
            turned = frozenset(
                part
                for key, part in self.parts.items()
                if values is not None and values[self._given[key]] != self.task.starts_with(part)
            )
            if values is not None and (known is None or known.exhausted or len(turned) <= known.weight + 1):
                return turned
            assert known is not None
            before = self._sets(known)
            known.reach(self.supported, len(turned) - 1 if values is not None else 2 * known.weight + 1)
            if self._sets(known) != before:
                self._program = None
            elif values is not None:
                return turned

    def _sets(self, known: Witnesses) -> int:
        return sum(len(known.of(head)) for head in self.supported)

    def _build(self) -> None:
        assert self._program is not None
        self._there.clear()
        self._given.clear()
        for part in self.parts.values():
            self._input(part)
        for wanted, keys in ((False, self.task.absent), (True, self.task.present)):
            for key in keys:
                self._program.row({self._variable(key): 1.0}, float(wanted), float(wanted))
        for head in self.implied:
            self._imply(head)
        for head in self.supported:
            self._support(head)
        for choice, exactly in self.refused:
            self._refuse(choice, exactly)

    def _input(self, part: Part) -> None:
        assert self._program is not None
        start = self.task.starts_with(part)
        low, high = 0.0, 1.0
        if part in self.task.fixed:
            low = high = float(start)
        elif part in self.task.forced:
            low = high = float(not start)
        self._given[part.key] = self._program.variable(-1.0 if start else 1.0, low, high)

    def _variable(self, key: Key) -> int:
        assert self._program is not None
        known = self._there.get(key)
        if known is None:
            alone = key in self._given and key not in self.bodies
            known = self._there[key] = self._given[key] if alone else self._program.variable()
        return known

    def _imply(self, head: Key) -> None:
        """Whenever a body is there, so is the head."""
        assert self._program is not None
        variable = self._variable(head)
        if head in self._given and self._given[head] != variable:
            self._program.row({variable: 1.0, self._given[head]: -1.0}, 0.0)
        for body in self.bodies.get(head, ()):
            row = {variable: -1.0}
            high = -1.0
            for key, sign in body:
                row[self._variable(key)] = 1.0 if sign else -1.0
                high += sign
            self._program.row(row, high=high)

    def _support(self, head: Key) -> None:
        """If the head is there, so is something that it can rest on."""
        assert self._program is not None
        assert self.witnesses is not None
        row = {self._variable(head): 1.0}
        for leaves in self.witnesses.of(head):
            support = self._program.variable()
            row[support] = -1.0
            for key, sign in leaves:
                if sign:
                    self._program.row({support: 1.0, self._given[key]: -1.0}, high=0.0)
                else:
                    self._program.row({support: 1.0, self._variable(key): 1.0}, high=1.0)
        self._program.row(row, high=0.0)

    def _turns(self, key: Key) -> int:
        """Whether a part has to be turned for its tuple to be in the input."""
        return int(not self.task.starts_with(self.parts[key]))

    def _refuse(self, choice: Choice, exactly: bool) -> None:
        assert self._program is not None
        row, most = {}, -1.0
        for part in self.parts.values():
            if part in choice or exactly:
                on = self.task.starts_with(part) is not (part in choice)
                row[self._given[part.key]] = 1.0 if on else -1.0
                most += on
        self._program.row(row, high=most)


def minimal(bodies: Iterable[Body]) -> list[Body]:
    """Bodies without those that hold another one: what follows from more follows from less."""
    kept: list[Body] = []
    single: set[tuple[Key, bool]] = set()
    for body in sorted(bodies, key=len):
        if single.isdisjoint(body) and not any(other <= body for other in kept[:COMPARED]):
            if len(body) == 1:
                single |= body
            else:
                kept.append(body)
    return [*(frozenset([one]) for one in single), *kept]
