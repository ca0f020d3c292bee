"""A repair: which part of a change caused faults (localisation), and what to leave out so that they go (suggestion).

repair = session.repair(unwanted=['alias("userSession", "sec")']); print(repair); repair.apply()
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whence.changes import Change, edited_program
from whence.errors import WhenceError
from whence.explain.explainer import Explainer
from whence.explain.search import Key
from whence.explain.state import InMemory
from whence.lang.program import Program
from whence.maintain import Controller, Impact
from whence.repair.change import Part
from whence.repair.encoding import Task
from whence.repair.faults import Faults, faults_of
from whence.repair.finding import Finder, Found
from whence.repair.proofs import proofs_of
from whence.repair.setting import setting_of
from whence.repair.trial import Laboratory, Wishes

if TYPE_CHECKING:
    from whence.session import Session


@dataclass(frozen=True)
class Answer:
    """Parts of the change. As a suggestion: the earlier epoch with all of the change but these has none of the faults.
    As a localisation: the earlier epoch with these alone has all of them. Either was `verified` by doing it.

    `smallest` says that no answer has fewer parts; if that is not known, `reason` says why.
    """

    parts: tuple[Part, ...]
    of: int
    smallest: bool
    reason: str
    verified: bool = True

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def tuples(self) -> list[str]:
        """The parts as lines of a change: `+ edge(1, 2).`"""
        return [part.signed for part in self.parts]

    def undoing(self, program: Program) -> Change:
        """The change that takes these parts back, in an epoch with this program."""
        sides: tuple[dict[str, list[Any]], dict[str, list[Any]]] = ({}, {})
        after = program
        for part in self.parts:
            if part.kind == "rule":
                after = edited_program(part.text, "-" if part.inserted else "+", after)
            else:
                sides[part.inserted].setdefault(part.key[0], []).append(part.values)
        return Change(*sides, None if after is program else after)

    def to_json(self) -> dict[str, Any]:
        return {
            "parts": [part.to_json() for part in self.parts],
            "size": len(self),
            "of": self.of,
            "verified": self.verified,
            "smallest": self.smallest,
            "reason": self.reason,
        }


class Repair:
    """What to do about some faults of a session's epoch. It can be asked further as long as the session stays there."""

    def __init__(
        self,
        session: Session,
        unwanted: Sequence[str],
        missing: Sequence[str],
        since: int | None = None,
        keep: Sequence[str] = (),
        reject: Sequence[str] = (),
        answers: int = 1,
        seconds: float | None = None,
    ) -> None:
        if answers < 1:
            raise WhenceError("the number of answers is 1 or more")
        self.session = session
        self.epoch = session.epoch
        self._asked = (tuple(unwanted), tuple(missing), since, tuple(keep), tuple(reject), answers, seconds)
        self._deadline = float("inf") if seconds is None else time.monotonic() + seconds
        with self._undisturbed():
            self._setting = setting_of(session, since)
            self._epochs, self.since = self._setting.epochs, self._setting.since
            self._explainer = Explainer(InMemory(self._epochs.tables))
            self.faults: Faults = faults_of(unwanted, missing, self._explainer, self._epochs)
            if not self.faults.keys:
                raise WhenceError("\n".join(self.faults.notes))
            self._forced, self._fixed = self._parts(keep), self._parts(reject)
            if self._forced & self._fixed:
                [part, *_] = self._forced & self._fixed
                raise WhenceError(f"{part.text} cannot be both kept in the answer and rejected")
            self.laboratory = Laboratory(self._epochs, self._setting.controller, self._deadline)
            self.suggestions = self._suggest(answers)
        self._localisation: Answer | None = None

    # Answers

    @property
    def suggestion(self) -> Answer:
        """A smallest part of the change to leave out so that no fault is left."""
        return self.suggestions[0]

    @property
    def localisation(self) -> Answer:
        """A small part of the change that brings about all faults by itself."""
        if self._localisation is None:
            self._must_be_current()
            with self._undisturbed():
                unwanted, missing = frozenset(self.faults.unwanted), frozenset(self.faults.missing)
                task = Task(absent=missing, present=unwanted, from_before=True)
                [found] = Finder(self.laboratory, Wishes(missing, unwanted), task).answers(1)
                self._localisation = self._answer(found)
        return self._localisation

    def again(self, keep: Sequence[str] = (), reject: Sequence[str] = ()) -> Repair:
        """Asks again: the answer has to have the parts to `keep`, and none of those to `reject`."""
        self._must_be_current()
        unwanted, missing, since, kept, rejected, answers, seconds = self._asked
        return Repair(self.session, unwanted, missing, since, (*kept, *keep), (*rejected, *reject), answers, seconds)

    def apply(self, number: int = 1) -> Impact:
        """Makes the repaired epoch, by the suggestion of that number."""
        self._must_be_current()
        if not 1 <= number <= len(self.suggestions):
            raise WhenceError(f"there are {len(self.suggestions)} suggestions; there is no number {number}")
        return self.session.apply(self.suggestions[number - 1].undoing(self.session.program))

    @property
    def unwanted(self) -> list[str]:
        return sorted(self.texts(self.faults.unwanted).values())

    @property
    def missing(self) -> list[str]:
        return sorted(self.texts(self.faults.missing).values())

    def texts(self, keys: Sequence[Key]) -> Mapping[Key, str]:
        return self._explainer.wording.tuple_texts(keys)

    def why(self) -> dict[str, str]:
        """For each fault, how it came about: a proof from the input, in the epoch that has the tuple. What only the
        change brought, or took, is marked with (+)."""
        self._must_be_current()
        with self._undisturbed():
            hidden = self._setting.guards
            proofs = proofs_of(self.faults.unwanted, self._explainer, self._epochs.came, hidden)
            if self.faults.missing:
                with self.laboratory.without(self._epochs.parts):
                    proofs |= proofs_of(self.faults.missing, self._explainer, self._epochs.went, hidden)
        return proofs

    # How

    def _suggest(self, most: int) -> list[Answer]:
        faults = self.faults
        task = Task(
            frozenset((*faults.unwanted, *faults.absent)),
            frozenset((*faults.missing, *faults.present)),
            fixed=self._fixed,
            forced=self._forced,
        )
        finder = Finder(self.laboratory, Wishes(task.absent, task.present, faults.barred), task)
        found = [self._answer(one) for one in finder.answers(most)]
        if not found:
            raise WhenceError("nothing is left that could be left out: without the rejected parts, the faults stay")
        return found

    def _answer(self, found: Found) -> Answer:
        return Answer(found.parts, len(self._epochs.parts), found.smallest, found.reason)

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        """Trials do not teach the session's controller anything."""
        controller: Controller | None = getattr(self.session.engine, "controller", None)
        learned = deepcopy(controller.learned) if controller is not None else None
        try:
            yield
        finally:
            if controller is not None and learned is not None:
                controller.learned = learned

    def _must_be_current(self) -> None:
        if self.session.epoch != self.epoch:
            raise WhenceError(
                f"the session has gone on from epoch {self.epoch}; ask for a repair of {self.session.epoch}"
            )

    def _parts(self, texts: Sequence[str]) -> frozenset[Part]:
        """The parts of the change that texts such as `+ edge(1, 2).` or `edge(1, 2)` name."""
        found: set[Part] = set()
        for text in texts:
            rules = {part for part in self._epochs.parts if part.kind == "rule" and _same(part.text, text)}
            if rules:
                found |= rules
                continue
            plain = text.strip().removeprefix("+").removeprefix("-").strip().removesuffix(".")
            query = self._explainer.query(plain)
            columns = self._explainer.fixed(query)
            named = [
                part
                for part in self._epochs.parts
                if part.key[0] == query.atom.relation
                and all(value in (None, own) for value, own in zip(columns, part.key[1], strict=True))
            ]
            if not named:
                raise WhenceError(f"{plain} is no part of the change between epochs {self.since} and {self.epoch}")
            found.update(named)
        return frozenset(found)

    # Forms

    def to_json(self) -> dict[str, Any]:
        return {
            "before": self.since,
            "epoch": self.epoch,
            "unwanted": self.unwanted,
            "missing": self.missing,
            "notes": list(self.faults.notes),
            "parts": len(self._epochs.parts),
            "suggestions": [answer.to_json() for answer in self.suggestions],
            "localisation": self.localisation.to_json(),
        }

    def json(self) -> str:
        return json.dumps(self.to_json(), ensure_ascii=False)

    def text(self) -> str:
        from whence.repair.wording import repair_text

        return repair_text(self)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        faults = len(self.faults.keys)
        return f"<repair of {faults} faults: {len(self.suggestion)} of {self.suggestion.of} parts of the change>"


def _same(rule: str, text: str) -> bool:
    """Whether a text names a rule; spaces, a sign before it and the full stop do not matter."""

    def bare(text: str) -> str:
        return "".join(text.split()).lstrip("+-").removesuffix(".")

    return bare(rule) == bare(text)
