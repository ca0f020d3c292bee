"""Where rewrites go: on to the next prefix (gatekeep), or to a head (ground) (paper, 4.2 and eq. 3).

Both are joins of rewrites with what the rules are made of, bilinear and incremental in both clocks. What has come of a
prefix in the past is asked of `distinct`, and only when a rule comes or goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from whence.circuit.trace import Trace
from whence.circuit.zset import ZSet
from whence.engines.local.strings import ConversionError
from whence.engines.local.table import Rows, Words

from .bundle import Bundle
from .kit import Kit
from .parts import DistinctParts, LaterParts
from .prefixes import EMPTY
from .terms import Encoding, Then


class Gatekeep:
    """Rewrites join the directions that lead on from their provenance; what they carry on is that of the next prefix.

    The rewrites come delayed by a tick from `distinct`, which knows those of the past."""

    def __init__(self, kit: Kit, rewrites: DistinctParts) -> None:
        self.kit = kit
        self.rewrites = rewrites
        self.begun = Trace(0, timed=True)  # the empty rewrite, which is not delayed
        self.directions: dict[int, dict[tuple[int, int], int]] = {}  # by prefix: next prefix and time, weight
        self.ways: dict[int, int] = {}  # by prefix: how many directions lead to it
        self.later = LaterParts()

    def step(self, now: int, rewrites: Bundle, directions: ZSet) -> Bundle:
        begun = rewrites[EMPTY]
        if begun is not None:
            self.begun.add(begun, now)
        for provenance, part in rewrites:
            for (following, time), weight in self.directions.get(provenance, {}).items():
                for rows, weights in part.pieces:
                    self._give(following, rows, weights * weight, np.full(len(rows), max(now, time)), now)
        for (before, following), weight in directions:
            for rows, weights in self._past(before).pieces:
                times = np.maximum(rows[:, -1], now)
                self._give(following, np.ascontiguousarray(rows[:, :-1]), weights * weight, times, now)
            self.ways[following] = self.ways.get(following, 0) + weight
            known = self.directions.setdefault(before, {})
            known[following, now] = known.get((following, now), 0) + weight
            if not known[following, now]:
                del known[following, now]
        return self.later.pop(now)

    def _past(self, provenance: int) -> ZSet:
        """What has come of a prefix so far, with the time at which it came."""
        if provenance == EMPTY:
            return self.begun.zset()
        given = self.rewrites.given(provenance)
        return given.map(_one_later, given.arity) if given.pieces else given

    def _give(self, following: int, rows: Rows, weights: Words, times: Words, now: int) -> None:
        later = times if (times != now).any() else None
        self.later.add(following, rows, weights, later, now)

    def waiting(self, now: int) -> int | None:
        return self.later.waiting(now)

    def rewind(self) -> None: ...


def _one_later(rows: Rows) -> Rows:
    later = rows.copy()
    later[:, -1] += 1
    return later


class Ground:
    """Rewrites join the grounding signals of their provenance: applied to the head they are facts."""

    def __init__(self, kit: Kit, rewrites: DistinctParts, numbers: Callable[[str], int], encoding: Encoding) -> None:
        self.kit = kit
        self.rewrites = rewrites
        self.numbers = numbers
        self.encoding = encoding
        self.signals: dict[int, dict[tuple[int, int], int]] = {}  # by prefix: head and time, weight
        self.heads: dict[tuple[int, int], Then] = {}
        self.later = LaterParts()

    def step(self, now: int, rewrites: Bundle, signals: ZSet) -> Bundle:
        for provenance, part in rewrites:
            for (head, time), weight in self.signals.get(provenance, {}).items():
                for rows, weights in part.pieces:
                    self._give(provenance, head, rows, weights * weight, np.full(len(rows), max(now, time)), now)
        for (provenance, head), weight in signals:
            for rows, weights in self.rewrites.given(provenance).pieces:
                times = np.maximum(rows[:, -1], now)
                self._give(provenance, head, np.ascontiguousarray(rows[:, :-1]), weights * weight, times, now)
            known = self.signals.setdefault(provenance, {})
            known[head, now] = known.get((head, now), 0) + weight
            if not known[head, now]:
                del known[head, now]
        return self.later.pop(now)

    def _give(self, provenance: int, head: int, rows: Rows, weights: Words, times: Words, now: int) -> None:
        atom = self.kit.heads[head]
        if (provenance, head) not in self.heads:
            variables = self.kit.prefixes.kept(provenance)
            self.heads[provenance, head] = Then(variables, (), atom.args, self.encoding)
        with naming_rule(self.kit, provenance):
            made, _ = self.heads[provenance, head](rows)
        later = times if (times != now).any() else None
        self.later.add(self.numbers(atom.relation), made, weights, later, now)

    def waiting(self, now: int) -> int | None:
        return self.later.waiting(now)

    def rewind(self) -> None: ...


@contextmanager
def naming_rule(kit: Kit, provenance: int) -> Iterator[None]:
    """A rule that cannot be evaluated on its data is named in the error, in the user's words."""
    try:
        yield
    except (ZeroDivisionError, ConversionError) as error:
        from whence.engines.local.execute import naming

        raise naming(kit.rule_with(provenance))(error) from None
