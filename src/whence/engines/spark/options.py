"""How a session uses Spark: all of it may be left to Whence."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Literal as OneOf

from .cluster import Setting

Place = OneOf["driver", "decomposed", "exchanged"]
PLACES: tuple[Place, ...] = ("driver", "decomposed", "exchanged")
BadRows = OneOf["fail", "skip", "quarantine"]


def _share_of_memory(bytes_a_tuple: int, share: int) -> int:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return memory // share // bytes_a_tuple


@dataclass(frozen=True)
class Options:
    """`driver_rows`: the most tuples that a stratum evaluated in the driver's process reads. `broadcast_rows`: the
    most that are sent to every task. `partitions`: how many parts a relation on Spark has at first. `tail_rows`: the
    most new tuples of a relation that an iteration on Spark takes to the driver's process; with 0, all of an exchanged
    stratum is on Spark."""

    setting: Setting = field(default_factory=Setting)
    placement: Place | None = None
    bad_rows: BadRows = "fail"
    quarantine: str | None = None
    driver_rows: int = field(default_factory=lambda: min(1_000_000, _share_of_memory(100, 16)))
    broadcast_rows: int = field(default_factory=lambda: min(1_000_000, _share_of_memory(100, 64)))
    partitions: int | None = None
    tail_rows: int = 50_000
