"""Faults as users name them, sorted: what the change brought or took, and a sentence for everything else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whence.engines.local.table import Rows
from whence.errors import WhenceError
from whence.explain.conjunction import Conjunction
from whence.explain.explainer import Explainer, Query
from whence.explain.search import Key
from whence.lang.program import Var
from whence.repair.change import Epochs
from whence.repair.trial import Pattern


@dataclass(frozen=True)
class Faults:
    """`unwanted` tuples came with the change, `missing` ones went with it. `absent` and `present` are as they should
    be, before and now, and are to stay so; nothing new may match what is `barred`. `notes` are for the user."""

    unwanted: tuple[Key, ...]
    missing: tuple[Key, ...]
    absent: tuple[Key, ...]
    present: tuple[Key, ...]
    barred: tuple[Pattern, ...]
    notes: tuple[str, ...]

    @property
    def keys(self) -> tuple[Key, ...]:
        return (*self.unwanted, *self.missing)


def faults_of(unwanted: Sequence[str], missing: Sequence[str], explainer: Explainer, epochs: Epochs) -> Faults:
    if isinstance(unwanted, str) or isinstance(missing, str):
        raise WhenceError('give lists of tuples: unwanted=[\'alias("a", "b")\']')
    if not unwanted and not missing:
        raise WhenceError("say what is wrong: a tuple that is unwanted, or one that is missing")
    bad, lost = ([explainer.query(text) for text in texts] for texts in (unwanted, missing))
    for query in bad:
        if query.text in {other.text for other in lost}:
            raise WhenceError(f"{query.text} cannot be both unwanted and missing")
    sorting = _Sorting(explainer, epochs)
    for query in bad:
        sorting.unwanted(query)
    for query in lost:
        sorting.missing(query)
    return Faults(
        tuple(sorting.bad),
        tuple(sorting.lost),
        tuple(sorting.gone),
        tuple(sorting.held),
        tuple(sorting.barred),
        tuple(dict.fromkeys(sorting.notes)),
    )


class _Sorting:
    def __init__(self, explainer: Explainer, epochs: Epochs) -> None:
        self.explainer = explainer
        self.epochs = epochs
        self.bad: dict[Key, None] = {}
        self.lost: dict[Key, None] = {}
        self.gone: dict[Key, None] = {}
        self.held: dict[Key, None] = {}
        self.barred: list[Pattern] = []
        self.notes: list[str] = []

    def unwanted(self, query: Query) -> None:
        pattern = self._pattern(query)
        difference = self.epochs.difference(pattern.relation)
        came = difference.came[pattern.among(difference.came)]
        key = _tuple(pattern)
        self.bad |= dict.fromkeys(_keys(pattern.relation, came))
        if key is None:
            self.barred.append(pattern)
            kept = self._now(query) - len(came)
            if kept and len(came):
                self.notes.append(
                    f"{_tuples(kept)} matching {pattern.text} {_was(kept)} there before the change as well; "
                    "the change did not cause that"
                )
            elif kept:
                self.notes.append(
                    f"nothing that matches {pattern.text} came with the change: "
                    f"{_tuples(kept)} {_was(kept)} there before"
                )
            elif not len(came):
                self.notes.append(f"nothing matches {pattern.text}, which is as wanted")
        elif self._now(query) > len(came):
            self.notes.append(f"{pattern.text} was there before the change as well, so the change did not cause it")
        elif not len(came):
            self.notes.append(f"{pattern.text} is not there, which is as wanted")
            if not pattern.among(difference.went).any():
                self.gone[key] = None

    def missing(self, query: Query) -> None:
        pattern = self._pattern(query)
        difference = self.epochs.difference(pattern.relation)
        went = difference.went[pattern.among(difference.went)]
        key = _tuple(pattern)
        self.lost |= dict.fromkeys(_keys(pattern.relation, went))
        if key is None:
            if not len(went):
                self.notes.append(f"nothing that matches {pattern.text} went with the change")
        elif self._now(query):
            self.notes.append(f"{pattern.text} is there, which is as wanted")
            if not pattern.among(difference.came).any():
                self.held[key] = None
        elif not len(went):
            self.notes.append(f"{pattern.text} was not there before the change either, so the change did not cause it")

    def _pattern(self, query: Query) -> Pattern:
        columns = self.explainer.fixed(query)
        args = query.atom.args
        if any(
            value is None and isinstance(term, Var) and term.name.startswith("q ")
            for value, term in zip(columns, args, strict=True)
        ):
            raise WhenceError(f"{query.text}: a set of faults is named by values and variables only")
        same = [(args.index(term), i) for i, term in enumerate(args) if isinstance(term, Var) and args.index(term) < i]
        return Pattern(query.atom.relation, tuple(columns), tuple(same), query.text)

    def _now(self, query: Query) -> int:
        """How many tuples match in the current epoch."""
        conjunction = Conjunction(self.explainer.state, (query.atom, *query.equations), ())
        return sum(len(block) for block in conjunction.run(np.empty((1, 0), np.int64)))


def _tuple(pattern: Pattern) -> Key | None:
    """The tuple that a pattern is, if it leaves nothing open."""
    if any(value is None for value in pattern.columns):
        return None
    return pattern.relation, tuple(value for value in pattern.columns if value is not None)


def _keys(relation: str, rows: Rows) -> list[Key]:
    return [(relation, tuple(row)) for row in rows.tolist()]


def _tuples(number: int) -> str:
    return "1 tuple" if number == 1 else f"{number:,} tuples"


def _was(number: int) -> str:
    return "was" if number == 1 else "were"
