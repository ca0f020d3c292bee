"""What follows from what: implications between names, closed in time linear in their size (Dowling and Gallier 1984).

Groundedness is such a closure (a bound side of `=` binds the other), and so is which relations can hold a tuple at all.
"""

from __future__ import annotations

from collections.abc import Iterable


class Closure:
    """The names that hold. Grows as implications and names are added; `holds` is closed at any time."""

    def __init__(self) -> None:
        self.holds: set[str] = set()
        self._open: list[int] = []  # for each implication, how many of its premises do not hold yet
        self._conclusions: list[tuple[str, ...]] = []
        self._waiting: dict[str, list[int]] = {}

    def imply(self, premises: Iterable[str], conclusions: Iterable[str]) -> None:
        missing = set(premises) - self.holds
        if not missing:
            self.add(conclusions)
            return
        for name in missing:
            self._waiting.setdefault(name, []).append(len(self._open))
        self._open.append(len(missing))
        self._conclusions.append(tuple(conclusions))

    def add(self, names: Iterable[str]) -> None:
        agenda = list(names)
        while agenda:
            name = agenda.pop()
            if name in self.holds:
                continue
            self.holds.add(name)
            for number in self._waiting.pop(name, ()):
                self._open[number] -= 1
                if not self._open[number]:
                    agenda.extend(self._conclusions[number])
