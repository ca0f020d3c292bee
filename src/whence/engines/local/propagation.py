"""Iterations of an Update that the kernel goes through by itself, because little changes in each (see its `propagate`).

It works on what `LocalRevision` works on, the same versions, tables, logs and events, so that either can go on from
where the other stopped. A stratum whose versions do something between two runs of the kernel (string functors,
aggregates) cannot be handed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from whence.plan.steps import RuleVersion, View
from whence.tables import Ahead, Uncountable

from .assemble import Arranged
from .execute import Running, naming
from .kernel.layout import (
    E_CODE,
    E_DRIVEN_BY,
    E_DRIVER,
    E_DRIVING,
    E_HEAD,
    E_READINGS,
    E_READINGS_AT,
    E_SIGN,
    FAILED,
    FINISHED,
    LARGE,
    MISCOUNTED,
    NO_ROOM,
    OVERFULL,
    P_BUDGET,
    P_CHANGED,
    P_EFFECT,
    P_EMITTED,
    P_ITERATION,
    P_MOST,
    P_RELATIONS,
    P_ROUNDS,
    P_STEP,
    P_TAKEN,
    P_VERSIONS,
    PROPAGATION_WORDS,
    R_EVENTS,
    R_GAINED,
    R_LOG,
    R_LOST,
    R_MET,
    R_NET,
    R_TABLE,
    R_TAGS,
    R_WAITING,
    R_WEIGHTS,
    RELATION_WORDS,
    SETTLING,
    UNCOUNTABLE,
    UNREADY,
    VERSION_WORDS,
)
from .tables import HELD_APART

if TYPE_CHECKING:
    from .revision import LocalRevision

MOST = 256  # events of an iteration, with more of which it is large
CHANGING = (View.LOST, View.GAINED)
BUDGET = 20_000  # iterations and chunks of what is derived, before Python looks at the clock


class Handed:
    """A version as the kernel gets it: what runs it, by what it is driven, and what becomes of its heads."""

    def __init__(self, version: RuleVersion, running: Running, driver: str, view: View, sign: View) -> None:
        self.version = version
        self.running = running
        self.driver = driver
        self.view = view
        self.sign = sign


class Propagation:
    """`run` goes through as many iterations as it can."""

    def __init__(self, revision: LocalRevision, handed: Sequence[Handed], effect: int, signs: dict[View, int]) -> None:
        self.revision = revision
        self.handed = handed
        self.signs = signs
        names = list(revision.own)
        readings = [self._readings(one) for one in handed]
        size = len(names) * RELATION_WORDS + len(handed) * VERSION_WORDS + 3 * sum(map(len, readings))
        self._words = np.zeros(PROPAGATION_WORDS + size, np.int64)
        self._fields = self._words.data
        fields = self._fields
        fields[P_RELATIONS], fields[P_VERSIONS], fields[P_EFFECT] = len(names), len(handed), effect
        fields[P_STEP], fields[P_MOST] = SETTLING, MOST
        self._scratch = np.zeros((len(names), 4, MOST), np.int32)  # events, their weights, and rows that they meet
        at = PROPAGATION_WORDS
        for name, scratch in zip(names, self._scratch, strict=True):
            revised = revision.own[name]
            deltas = [revision.tables.deltas[name, view].table for view in CHANGING]
            fields[at + R_TABLE] = revised.table.address
            fields[at + R_LOG] = revised.log.room(MOST)
            fields[at + R_WAITING] = revised.waiting.address
            fields[at + R_LOST], fields[at + R_GAINED] = (delta.address for delta in deltas)
            fields[at + R_EVENTS], fields[at + R_WEIGHTS], fields[at + R_MET] = (
                int(scratch[i].ctypes.data) for i in range(3)
            )
            fields[at + R_TAGS] = revised.table.tags_address
            at += RELATION_WORDS
        readings_at = len(names) * RELATION_WORDS + len(handed) * VERSION_WORDS
        place = 0
        for one, read in zip(handed, readings, strict=True):
            for i, argument in enumerate(one.running.arguments):
                fields[at + E_CODE + i] = argument
            fields[at + E_HEAD] = names.index(one.version.rule.head.relation)
            fields[at + E_SIGN] = signs[one.sign]
            fields[at + E_DRIVER] = names.index(one.driver)
            fields[at + E_DRIVEN_BY] = signs[one.view]
            fields[at + E_DRIVING] = one.running.driving.address
            fields[at + E_READINGS], fields[at + E_READINGS_AT] = len(read), place
            for j, words in enumerate(read):
                for k, word in enumerate(words):
                    fields[PROPAGATION_WORDS + readings_at + place + 3 * j + k] = word
            place += 3 * len(read)
            at += VERSION_WORDS

    def _readings(self, one: Handed) -> list[tuple[int, int, int]]:
        """What grows while it is read: view, table and index."""
        own = self.revision.own
        return [
            one.running.view_of(i)
            for i, reading in enumerate(one.running.segment.readings)
            if isinstance(reading, Arranged) and reading.relation in own and reading.view not in HELD_APART
        ]

    def run(self) -> tuple[int, int]:
        """The last iteration that it has gone through, 0 for none, and how many tuples changed in that."""
        revision, fields = self.revision, self._fields
        fields[P_ROUNDS] = 0
        for name, revised in revision.own.items():
            revised.settle()
            for view in CHANGING:
                delta = revision.tables.deltas[name, view].table
                delta.clear()
                delta.prepare(MOST)
        while True:
            fields[P_BUDGET] = BUDGET
            outcome = revision.tables.kernel.propagate(self._words.ctypes.data)
            for i, revised in enumerate(revision.own.values()):
                revised.stored.stop = len(revised.table)
                at = PROPAGATION_WORDS + i * RELATION_WORDS + R_NET
                revised.net, fields[at] = revised.net + fields[at], 0
            if outcome in (FINISHED, LARGE):
                break
            revision.iteration = fields[P_ITERATION]
            self._attend_to(outcome)
            revision.watch()
            revision.tables.tick()
        return (fields[P_ITERATION], fields[P_CHANGED]) if self.rounds else (0, 0)

    @property
    def rounds(self) -> int:
        """How many iterations it went through."""
        return self._fields[P_ROUNDS]

    def _attend_to(self, outcome: int) -> None:
        """What the kernel leaves to Python before it goes on."""
        fields = self._fields
        if outcome == NO_ROOM:
            for revised in self.revision.own.values():
                revised.log.room(MOST)
        elif outcome == OVERFULL:
            one = self.handed[fields[P_STEP]]
            self._note(one, fields[P_EMITTED], fields[P_TAKEN])
            if one.running.suspended:
                for count in one.running.chunks():
                    self._note(one, count)
            fields[P_STEP] += 1
        elif outcome == UNREADY:
            self.handed[fields[P_STEP]].running.arrange()
        elif outcome == FAILED:
            raise naming(self.handed[fields[P_STEP]].version.rule)(ZeroDivisionError())
        elif outcome == UNCOUNTABLE:
            raise Uncountable
        else:
            assert outcome != MISCOUNTED, "more derivations were lost than there were"

    def _note(self, one: Handed, count: int, taken: int = 0) -> None:
        buffer = one.running.buffer
        revised = self.revision.own[one.version.rule.head.relation]
        revised.note(buffer.address, count, buffer.weights_address, self.signs[one.sign], taken)


def propagation(revision: LocalRevision, ahead: Ahead, signs: dict[View, int]) -> Propagation | None:
    """Planned versions made ready for the kernel; None where something has to be done outside of it."""
    handed = []
    for planned, sign in ((ahead.lost, View.LOST), (ahead.gained, View.GAINED)):
        for driven, version in planned:
            running = _running(revision, version, driven.view)
            if running is None:
                return None
            handed.append(Handed(version, running, driven.relation, driven.view, sign))
    for search, version in ahead.searches:
        sieves, _ = search.ways[0]
        if [sieve.columns for sieve in sieves] != [tuple(range(revision.own[search.relation].table.arity))]:
            return None
        revision.sift(sieves[0])
        running = _running(revision, version, View.MISSING)
        if running is None:
            return None
        running.driving.prepare(MOST)
        handed.append(Handed(version, running, search.relation, View.MISSING, View.MISSING))
    return Propagation(revision, handed, len(ahead.lost), signs)


def _running(revision: LocalRevision, version: RuleVersion, driving: View) -> Running | None:
    """What runs a version; None where that is more than the kernel, or what drives it does not come first."""
    parts = revision.tables.execution(version).running
    segment = parts[0].segment
    if len(parts) > 1 or segment.given is not None:
        return None
    changing = [
        i for i, reading in enumerate(segment.readings) if isinstance(reading, Arranged) and reading.view is driving
    ]
    if changing != [0] or not parts[0].scans_relation:
        return None
    parts[0].arrange()
    return parts[0]
