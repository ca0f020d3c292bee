"""An elastic Update under way: how far it has come, and when it is to be given up.

The paper gives an Update up when it has cost more than a share of Bootstrap (000, section 4), so that one that fails
costs little. But one that needs a little more than the share then costs as much as Bootstrap and the share together. So
the share counts only where nothing tells how far the Update has come. In the first batch of changes, the tuples that
drive its versions tell; in the iterations after it, the pace of the last Bootstrap. There an Update is given up when
what is left of it would take longer than a Bootstrap of the state as it has become.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

from whence.maintain.pace import Pace
from whence.tables import Revision

ALWAYS = 0.01  # seconds that an Update may take in any case
PROBE = 0.05  # the share of Bootstrap that it takes to see how an Update goes
EARLY = 0.02  # what is less than this part of the work tells nothing of the rest
COARSE = 1.25  # how much longer than Bootstrap it may seem to take in the first batch, where that is told badly
DOUBT = 0.5  # of Bootstrap, that the rest may take where more than Bootstrap was expected of the whole
HOPELESS = 4.0  # Bootstraps: where so much was expected, the share counts whatever tells
EVENTS = 0.6  # the part of the work that is taken to be done once all events of the first batch wait


class GaveUp(Exception):
    """The Update has cost more than it may."""


@dataclass
class Course:
    """Where an Update is in its first batch: how many tuples are to drive versions, and how many have."""

    driving: float = 0.0
    driven: float = 0.0
    under_way: float = 0.0  # tuples that drive the version under way

    def drive(self, tuples: float) -> None:
        """The next version begins."""
        self.driven += self.under_way
        self.under_way = tuples


class Attempt:
    """`watch` raises GaveUp. `whole` is what Bootstrap took last, for a stratum of so many `tuples`; `expected` is what
    the Update is expected to take, as a part of that."""

    def __init__(
        self, revision: Revision, whole: float, tuples: float, share: float, pace: Pace, expected: float = 0.0
    ) -> None:
        self.revision = revision
        self.whole = whole
        self.tuples = tuples
        self.share = share
        self.pace = pace
        self.expected = expected
        self.course = Course()
        self._started = perf_counter()
        self._arranging = revision.arranging
        self._first_batch: float | None = None  # seconds

    @property
    def seconds(self) -> float:
        """Since it began, without the arrangements that it made, which serve others after it."""
        return perf_counter() - self._started - (self.revision.arranging - self._arranging)

    @property
    def bootstrap(self) -> float:
        """Seconds that a Bootstrap would take now, in proportion to the tuples that there are by now."""
        if not self.tuples:
            return self.whole
        return self.whole * max(0.0, 1 + self.revision.net / self.tuples)

    @property
    def _in_first_batch(self) -> bool:
        return self._first_batch is None or not self.pace.recursive

    def watch(self) -> None:
        seconds = self.seconds
        if self.revision.iteration and self._first_batch is None:
            self._first_batch = seconds
        if seconds < max(ALWAYS, PROBE * self.whole):
            return
        left = self.left()
        if left is None or self.expected > HOPELESS:
            most, cost = self.share * self.whole, seconds
        else:
            doubted = self.expected > 1 and self.pace.recursive
            sure = DOUBT if doubted else COARSE if self._in_first_batch else 1.0
            most, cost = sure * self.bootstrap, left
        if cost > most:
            raise GaveUp

    def left(self) -> float | None:
        """The seconds that it is expected to take from now on; None if nothing tells."""
        seconds = self.seconds
        if self._in_first_batch:
            driven = self.course.driven + self.course.under_way * self.revision.through
            done = EVENTS * min(1.0, driven / max(1.0, self.course.driving))
        else:
            assert self._first_batch is not None
            done, seconds = self.pace.part(self.revision.iteration - 1), seconds - self._first_batch
        return None if done < EARLY or done == 1 else seconds * (1 - done) / done
