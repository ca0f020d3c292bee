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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from whence.explain.search import Key
from whence.repair.change import Part
from whence.repair.grounding import Hypergraph
from whence.repair.integer import IntegerProgram
from whence.repair.witnesses import Witnesses

Choice = frozenset[Part]


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
        self.graph = graph
        self.task = task
        self.parts = parts
        self.refused: list[tuple[Choice, bool]] = []
        self.witnesses: Witnesses | None = None
        self._program: IntegerProgram | None = None
        self._there: dict[Key, int] = {}  # is the tuple there?
        self._given: dict[Key, int] = {}  # is it in the input?
        self._supported: list[Key] = []
        self._used = 0  # how many witnesses there were when the program was built

    def refuse(self, choice: Choice, exactly: bool) -> None:
        """Not this choice: not exactly it, or none that has all of it."""
        self.refused.append((choice, exactly))
        if self._program is not None:
            self._refuse(choice, exactly)

    def solve(self, seconds: float) -> Choice | None:
        """The parts to turn, as few as can be, or None if nothing satisfies what is asked for."""
        if self._program is None:
            self._build()
        while True:
            while self.witnesses is not None and self.witnesses.found != self._used:
                self._build()  # others were found since, of any tuple
            assert self._program is not None
            values = self._program.solve(seconds)
            known = self.witnesses
            if values is None and (known is None or known.exhausted):
                return None
            if values is not None:
                given = self._given
                turned = [part for key, part in self.parts.items() if values[given[key]] != self.task.starts_with(part)]
                if known is None or known.exhausted or len(turned) <= known.weight + 1:
                    return frozenset(turned)
            assert known is not None
            weight = len(turned) - 1 if values is not None else 2 * known.weight + 1
            known.reach(self._supported, weight)
            if values is not None and known.found == self._used:
                return frozenset(turned)

    def _build(self) -> None:
        self._program = IntegerProgram()
        self._used = 0 if self.witnesses is None else self.witnesses.found
        self._there.clear()
        self._given.clear()
        self._supported.clear()
        for part in self.parts.values():
            self._input(part)
        waiting = [(key, False) for key in self.task.absent] + [(key, True) for key in self.task.present]
        for key, wanted in waiting:
            self._program.row({self._variable(key): 1.0}, float(wanted), float(wanted))
        done: set[tuple[Key, bool]] = set()
        while waiting:
            key, wanted = waiting.pop()
            if (key, wanted) in done:
                continue
            done.add((key, wanted))
            if wanted:
                waiting += ((other, False) for other in self._support(key))
            else:
                waiting += self._imply(key)
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
            alone = key in self._given and key not in self.graph.bodies
            known = self._there[key] = self._given[key] if alone else self._program.variable()
        return known

    def _imply(self, head: Key) -> Iterator[tuple[Key, bool]]:
        """Whenever a body is there, so is the head; a positive tuple of a body has to follow in the same way."""
        assert self._program is not None
        variable = self._variable(head)
        if head in self._given and self._given[head] != variable:
            self._program.row({variable: 1.0, self._given[head]: -1.0}, 0.0)
        for body in self.graph.bodies.get(head, ()):
            row = {variable: -1.0}
            for key, sign in body:
                row[self._variable(key)] = 1.0 if sign else -1.0
            self._program.row(row, high=sum(sign for _, sign in body) - 1.0)
            yield from ((key, not sign) for key, sign in body)

    def _support(self, head: Key) -> Iterator[Key]:
        """If the head is there, so is something that it can rest on; returns what has to be absent for that."""
        assert self._program is not None
        variable = self._variable(head)
        if self._given.get(head) == variable:
            return
        self._supported.append(head)
        if self.witnesses is None:
            self.witnesses = Witnesses(self.graph, self.parts.__contains__, self._turns)
        if not self.witnesses.of(head):
            self.witnesses.reach([head], max(0, self.witnesses.weight))
        row = {variable: 1.0}
        for leaves in self.witnesses.of(head):
            support = self._program.variable()
            row[support] = -1.0
            for key, sign in leaves:
                if sign:
                    self._program.row({support: 1.0, self._given[key]: -1.0}, high=0.0)
                else:
                    self._program.row({support: 1.0, self._variable(key): 1.0}, high=1.0)
                    yield key
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
