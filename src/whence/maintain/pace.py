"""How a Bootstrap went: the seconds until each of its iterations, by which an Update knows how far it has come.

An Update goes through the same iterations in the same order, so the part of Bootstrap's time that the iterations behind
it took is about the part of its own work that is done.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from time import perf_counter
from typing import Any

from whence.lang.program import Stratum
from whence.tables import Progress

MOST = 32  # points that are kept


class Pace:
    """Seconds of a stratum's Bootstrap by iteration, at some of its iterations."""

    def __init__(self, points: list[tuple[int, float]] | None = None, seconds: float = 0.0) -> None:
        self.points = points or []
        self.seconds = seconds
        self._stride = 1

    def passed(self, iteration: int, seconds: float) -> None:
        """An iteration has ended after so many seconds."""
        if iteration % self._stride:
            return
        self.points.append((iteration, seconds))
        if len(self.points) > 2 * MOST:
            self._stride *= 2
            self.points = [point for point in self.points if point[0] % self._stride == 0]

    def to_json(self) -> dict[str, object]:
        """For a state that is kept."""
        return {"seconds": self.seconds, "points": [list(point) for point in self.points]}

    @staticmethod
    def of_json(told: Mapping[str, Any]) -> Pace:
        return Pace([(iteration, seconds) for iteration, seconds in told["points"]], told["seconds"])

    @property
    def recursive(self) -> bool:
        """Whether there was more than one iteration to be told apart."""
        return len(self.points) > 2

    def part(self, iteration: int) -> float:
        """The part of the whole time that was over when an iteration ended, 0 to 1."""
        if not self.seconds or not self.points:
            return 0.0
        place = bisect_right(self.points, (iteration, float("inf")))
        if place == len(self.points):
            return min(1.0, self.points[-1][1] / self.seconds)
        before, seconds_before = self.points[place - 1] if place else (0, 0.0)
        after, seconds_after = self.points[place]
        seconds = seconds_before + (seconds_after - seconds_before) * (iteration - before) / (after - before)
        return min(1.0, seconds / self.seconds)


class Pacing:
    """Progress that is passed on, and noted as the pace of each stratum."""

    def __init__(self, heard: Progress) -> None:
        self.heard = heard
        self.pace = Pace()
        self._started = perf_counter()

    def stratum(self, number: int, of: int, stratum: Stratum) -> None:
        self.begin()
        self.heard.stratum(number, of, stratum)

    def placed(self, place: str, reason: str) -> None:
        self.heard.placed(place, reason)

    def iteration(self, iteration: int, new: int) -> None:
        self.pace.passed(iteration, perf_counter() - self._started)
        self.heard.iteration(iteration, new)

    def begin(self) -> None:
        self.pace = Pace()
        self._started = perf_counter()

    def end(self) -> Pace:
        self.pace.seconds = perf_counter() - self._started
        return self.pace
