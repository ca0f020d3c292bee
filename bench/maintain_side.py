"""One strategy through one history of changes, in a process of its own so that its peak memory is its own.

    python -m bench.maintain_side elastic closure_right HISTORY

HISTORY is a folder as `bench.changes.write_history` leaves it. `scratch` evaluates the last input and nothing else.
Prints one line of JSON: seconds and processor seconds of every epoch, what was chosen and how much changed, bytes, and
the size and a checksum of every relation at the end, iterations and counts included.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import whence
from bench.changes import read_changes, read_facts
from bench.graphs import Table
from bench.side import checksum
from bench.workloads import PROGRAMS

STRATEGIES = ("elastic", "update", "dense", "bootstrap")
SCRATCH = "scratch"


class Memory:
    """What this process holds beyond what it held when this was made, in bytes."""

    def __init__(self) -> None:
        gc.collect()
        self.before = _status("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew

    def peak(self) -> int:
        return _status("VmHWM") - self.before

    def now(self) -> int:
        return _status("VmRSS") - self.before


def _status(field: str) -> int:
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found, f"the kernel does not say {field}"
    return int(found[1]) * 1024


class Clock:
    """Laps, by the clock and in processor time."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.cpu: list[float] = []
        self.start()

    def start(self) -> None:
        self._started, self._worked = time.perf_counter(), time.process_time()

    def lap(self) -> None:
        self.cpu.append(time.process_time() - self._worked)
        self.seconds.append(time.perf_counter() - self._started)


def state(session: whence.Session, relation: str) -> Iterator[Table]:
    """Rows with iterations and counts, encoded as the engine has them."""
    for rows, iterations, counts in session.engine.tables.encoded(relation):  # type: ignore[attr-defined]
        yield np.column_stack([rows, iterations, counts])


def follow(strategy: str, program: str, history: Path) -> dict[str, Any]:
    scratch = strategy == SCRATCH
    session = whence.open(PROGRAMS / f"{program}.dl", strategy="elastic" if scratch else strategy)
    changes = [] if scratch else read_changes(history)
    session.load(**read_facts(history / ("last" if scratch else "first")))
    memory = Memory()
    clock = Clock()
    session.run()
    clock.lap()
    peaks = [memory.peak()]
    bootstrapped = sum(session[name].nbytes for name in session)
    told: list[dict[str, Any]] = [{"strategy": "bootstrap", "inserted": 0, "deleted": 0, "strata": []}]
    for change in changes:
        clock.start()
        impact = session.update(change.insert, change.delete)
        clock.lap()
        peaks.append(memory.peak())
        told.append(
            {
                "strategy": impact.strategy,
                "inserted": sum(map(len, impact.inserted.values())),
                "deleted": sum(map(len, impact.deleted.values())),
                "strata": [[report.strategy, report.reason, report.seconds] for report in impact.strata],
            }
        )
    return {
        "seconds": clock.seconds,
        "cpu": clock.cpu,
        "epochs": told,
        "peaks": peaks,
        "held": memory.now(),
        "bootstrapped": bootstrapped,
        "nbytes": sum(session[name].nbytes for name in session),
        "sizes": {name: len(session[name]) for name in session},
        "checksums": {name: checksum(state(session, name)) for name in session},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("strategy", choices=[*STRATEGIES, SCRATCH])
    parser.add_argument("program")
    parser.add_argument("history", type=Path)
    arguments = parser.parse_args()
    print(json.dumps(follow(arguments.strategy, arguments.program, arguments.history)))


if __name__ == "__main__":
    main()
