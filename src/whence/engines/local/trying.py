"""Epochs that are looked at and given up again: a change that is only tried, and the epoch before beside the current.

Both use the stamps of rows, as a revision does, and put them back whatever happens; an interrupt waits for that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from whence.interrupts import uninterrupted
from whence.maintain import Controller, Policy
from whence.plan import View

from .kernel.layout import BEFORE, NOW
from .revised import FAR
from .revision import Input, LocalRevision, stamped
from .table import Halves, Rows, Words
from .tables import LocalTables


@dataclass(frozen=True)
class Difference:
    """The tuples of a relation that only the current epoch has, and those that only the one before had."""

    came: Rows
    went: Rows


Differences = Mapping[str, Difference]


def differences_of(revision: LocalRevision, most: int | None = None) -> Differences | None:
    """What a revision changes, by relation; None if that is more than so many tuples."""
    found = {}
    for name in revision.tables.program.relations:
        came, went = revision.rows_of(name, View.GAINED), revision.rows_of(name, View.LOST)
        if len(came) or len(went):
            found[name] = Difference(came, went)
    total = sum(len(one.came) + len(one.went) for one in found.values())
    return None if most is not None and total > most else found


@contextmanager
def tried(
    tables: LocalTables,
    controller: Controller,
    inputs: Mapping[str, Input],
    policy: Policy,
    only: Collection[str] | None = None,
) -> Iterator[LocalRevision]:
    """The tables as a change would leave them: `BEFORE` reads the epoch that is current again in the end.

    Relations that are not in `only` may stay as they are."""
    revision = LocalRevision(tables, dict(inputs))
    try:
        controller.revise(revision, policy, only=only)
        yield revision
    finally:
        surely(revision.abandon)


@contextmanager
def beside(tables: LocalTables, differences: Differences, exact: bool = True) -> Iterator[None]:
    """The epoch before beside the current one: `EITHER` reads both and, if `exact`, `BEFORE` that one alone."""
    shown: list[tuple[str, Words | Halves, Words | Halves]] = []
    try:
        for name, difference in differences.items():
            with uninterrupted:
                stored = stamped(tables, tables.stored[name])
                table = stored.table
                went = np.ascontiguousarray(difference.went).reshape(-1)
                places = np.empty(len(difference.went), np.int64)
                table.insert(went, len(places), FAR, found=places)
                stored.stop = len(table)
                came = np.ascontiguousarray(difference.came).reshape(-1)
                alone = table.locate(came, len(difference.came)) if exact else np.empty(0, np.int64)
                places = places[(table.stamps[places] & (BEFORE | NOW)) == 0]
                shown.append((name, places, alone))
                table.stamps[places] = BEFORE | 1
                table.stamps[alone] &= ~np.int32(BEFORE)
        yield
    finally:

        @uninterrupted
        def hide() -> None:
            for name, places, alone in shown:
                stamps = tables.stored[name].table.stamps
                stamps[places] = 0
                stamps[alone] |= np.int32(BEFORE)
            shown.clear()

        surely(hide)


def surely(done: Callable[[], object]) -> None:
    """Does what holds off interrupts itself, even if one comes before it has begun."""
    interrupt: KeyboardInterrupt | None = None
    finished = False
    while not finished:
        try:
            done()
            finished = True
        except KeyboardInterrupt as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt
