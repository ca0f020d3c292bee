"""Stepping with a purpose: along the proof of a tuple that is there, or to where rules fail for one that is not.

The proof is the one that `explain` shows. The debugger still evaluates everything that the call asks for; the guide
only says which rule, which atom and which call belong to the proof, and goes from one to the next.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from whence.errors import WhenceError
from whence.explain.search import Key, Step
from whence.lang.program import Atom
from whence.plan.text import tuple_text
from whence.step.debugger import Debugger
from whence.step.rules import Part
from whence.step.value_table import among

if TYPE_CHECKING:
    from whence.session import Session


class Guide(ABC):
    """`follow` goes on to the next place, and says what there is to see."""

    def __init__(self, debugger: Debugger) -> None:
        self.debugger = debugger

    @abstractmethod
    def follow(self) -> str: ...


class AlongProof(Guide):
    """Why a tuple is there. `goals` are the tuples that the frames on the way are to prove, by depth."""

    def __init__(self, session: Session, text: str) -> None:
        self._explainer = session._explainer(None)
        matches, _ = self._explainer.matches(self._explainer.query(text), 1)
        if not matches:
            raise WhenceError(f"{text} is not there; --why-not steps to where its rules fail")
        super().__init__(session.debug(tuple_text(matches[0][0], self._explainer.wording.values(matches)[matches[0]])))
        self.goals: dict[int, Key] = {1: matches[0]}
        self._steps: dict[Key, Step | None] = {}

    def follow(self) -> str:
        debugger = self.debugger
        debugger._must_go_on()
        depth = debugger.depth
        self.goals = {at: goal for at, goal in self.goals.items() if at <= depth}
        goal = self.goals.get(depth)
        if goal is None:
            debugger.out()
            return "this call is not on the way of the proof; it was left"
        step = self._step(goal)
        frame = debugger.state.frame
        if frame.atom is not None or frame.value is not None:
            debugger.over("atom")
            return ""
        row = np.array([goal[1]], np.int64)
        if among(row, frame.result.rows)[0] or debugger.state.known[goal[0]].holds(row):
            debugger.out()
            return f"{self._text(goal)} is shown; its call was left"
        rule = None if step is None else step.rule.rule
        numbers = [number for number, one in enumerate(frame.rules) if one.rule is rule]
        if not numbers or frame.rule > numbers[0]:
            debugger.out()
            return f"{self._text(goal)} is shown; its call was left"
        if frame.rule < numbers[0]:
            iteration = frame.iteration
            while debugger.depth == depth and debugger.state.frame.rule < numbers[0]:
                debugger.over("atom")
                if debugger.done or debugger.state.frame.iteration != iteration:
                    break
            by = "input" if step is None or rule is None else " ".join(rule.text.split())
            return f"{self._text(goal)} follows by {by}"
        part = frame.current
        child = None if part is None or step is None else self._child(part, step)
        if part is not None and child is not None and self._step(child) is not None:
            if debugger.machine.enters(debugger.state, part):
                debugger.into("atom")
                self.goals[debugger.depth] = child
                return f"next is {self._text(child)}"
            debugger.over("atom")
            return f"{self._text(child)} is asked for by a call that is active: it comes when that iterates"
        debugger.over("atom")
        return "" if child is None else f"{self._text(child)} is there"

    def _step(self, key: Key) -> Step | None:
        """The derivation that belongs to the proof; None for input."""
        if key not in self._steps:
            self._steps[key] = self._explainer.search.steps([key]).get(key)
        return self._steps[key]

    def _child(self, part: Part, step: Step) -> Key | None:
        """The tuple that an atom of the proof's rule stands for."""
        atoms = [literal for literal in step.rule.rule.body if isinstance(literal, Atom)]
        places = [place for place, atom in enumerate(atoms) if atom is part.literal]
        return step.tuples[places[0]] if places else None

    def _text(self, key: Key) -> str:
        return self._explainer.wording.tuple_texts([key])[key]


class ToFailures(Guide):
    """Why a tuple is not there: from one rule that comes to nothing to the next."""

    def __init__(self, session: Session, text: str) -> None:
        explainer = session._explainer(None)
        matches, _ = explainer.matches(explainer.query(text), 1)
        if matches:
            raise WhenceError(f"{explainer.wording.tuple_texts(matches)[matches[0]]} is there; --why follows its proof")
        super().__init__(session.debug(text))

    def follow(self) -> str:
        debugger = self.debugger
        debugger._must_go_on()
        while not debugger.done:
            before = debugger.frame
            stop = debugger.over("atom")
            if debugger.done:
                return "no rule is left: it is not there"
            if debugger._vain(debugger.state):
                return f"no row is left after `{before.atom}`; `back` and `into` go into it, `follow` to the next rule"
            if stop.reason == "breakpoint":
                break
        return ""
