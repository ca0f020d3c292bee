"""Running strategies through a history of changes, each run a process; the best of several, epoch by epoch."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.changes import History, write_history
from bench.maintain_side import SCRATCH
from bench.measure import Failed, tell, timed
from bench.report import Finding


@dataclass(frozen=True)
class Way:
    """How and what to measure."""

    folder: Path
    data: Path
    names: tuple[str, ...] = ()
    quick: bool = False
    runs: int = 3
    limit: float = 600
    clock: str = "wall"

    def chosen(self, names: Sequence[str]) -> list[str]:
        unknown = sorted(set(self.names) - set(names))
        if unknown:
            raise SystemExit(f"there is no workload {unknown[0]!r}; there are {', '.join(names)}")
        return [name for name in names if not self.names or name in self.names]


@dataclass(frozen=True)
class Followed:
    """One strategy through a history: seconds an epoch, the first is the Bootstrap; bytes beyond the loaded input."""

    strategy: str
    seconds: tuple[float, ...]
    epochs: tuple[dict[str, Any], ...]
    peak: int  # at any time
    first_peak: int  # of the Bootstrap
    held: int  # at the end
    bootstrapped: int  # what relations said they held after the Bootstrap
    nbytes: int  # and at the end
    sizes: dict[str, int]
    checksums: dict[str, int]

    @property
    def total(self) -> float:
        return sum(self.seconds)


@dataclass
class Outcome:
    """What a measurement found, and what went wrong."""

    figures: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def follow(strategy: str, program: str, folder: Path, way: Way) -> Followed:
    """The best of several runs in every epoch; answers, choices and memory are those of the run with the best total."""
    command: list[str | Path] = [sys.executable, "-m", "bench.maintain_side", strategy, program, folder]
    runs = [json.loads(timed(command, way.limit)[1]) for _ in range(1 if strategy == SCRATCH else way.runs)]
    times = [run["cpu" if way.clock == "cpu" else "seconds"] for run in runs]
    best = min(range(len(runs)), key=lambda i: sum(times[i]))
    found = runs[best]
    if any(run["checksums"] != found["checksums"] for run in runs):
        raise Failed("two runs on one history gave different results")
    return Followed(
        strategy,
        tuple(map(min, *times)) if len(times) > 1 else tuple(times[0]),
        tuple(found["epochs"]),
        max(found["peaks"]),
        found["peaks"][0],
        found["held"],
        found["bootstrapped"],
        found["nbytes"],
        found["sizes"],
        found["checksums"],
    )


def compare(
    name: str, program: str, history: History, strategies: Sequence[str], way: Way, problems: list[str]
) -> dict[str, Followed]:
    """All strategies through a history. They must end as evaluating the last input does, counts and all."""
    folder = way.folder / name
    write_history(history, folder)
    found: dict[str, Followed] = {}
    for strategy in [*strategies, SCRATCH]:
        try:
            found[strategy] = follow(strategy, program, folder, way)
            tell(f"{name}: {strategy} {found[strategy].total:.3f} s, peak {found[strategy].peak / 1e6:,.0f} MB")
        except Failed as failure:
            problems.append(f"{name}: {strategy} {failure}")
            tell(problems[-1])
    wanted = found.pop(SCRATCH, None)
    for strategy, followed in found.items():
        for relation in wanted.sizes if wanted else ():
            assert wanted is not None
            if followed.sizes[relation] != wanted.sizes[relation]:
                sizes = f"{followed.sizes[relation]:,} tuples, not {wanted.sizes[relation]:,}"
                problems.append(f"{name}: {strategy} leaves {relation} with {sizes}")
            elif followed.checksums[relation] != wanted.checksums[relation]:
                problems.append(f"{name}: {strategy} leaves {relation} with other tuples, iterations or counts")
    return found
