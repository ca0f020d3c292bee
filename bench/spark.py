"""Where strata run best: in process, on Spark's driver, decomposed, exchanged, and a plain loop of PySpark joins.

python -m bench.spark                   everything; about half an hour on two cores
python -m bench.spark closure --quick   one of them on a tiny input
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.graphs import Facts, crowd, sparse
from bench.measure import Failed, tell, timed, write_input
from bench.report import table
from bench.source_programs import source_program

LOCAL, DRIVER, DECOMPOSED, EXCHANGED, JOINS, LOOP = WAYS = (
    "local", "driver", "decomposed", "exchanged", "joins", "loop",
)  # fmt: skip
MAKE: dict[str, Callable[[int], Facts]] = {"closure": sparse, "crowd": crowd, "pointsto": source_program}
PROGRAMS = {"closure": "closure", "crowd": "closure", "pointsto": "pointsto"}
OUTPUTS = {"closure": ("path",), "pointsto": ("vpt", "alias", "safevar")}
LONG = 30  # seconds
HEADS = ["", "way", "results", "run s", "run/local", "as frames s", "iterations", "median s", "MB"]


@dataclass(frozen=True)
class Case:
    """A workload at one size, and the ways that finish in reasonable time at that size."""

    workload: str
    size: int
    ways: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.workload} {self.size:,}"


def cases(quick: bool) -> list[Case]:
    if quick:
        return [Case("closure", 200, WAYS), Case("crowd", 40, WAYS), Case("pointsto", 100, WAYS[:5])]
    return [
        Case("closure", 2_000, WAYS),
        Case("closure", 20_000, WAYS),
        Case("closure", 46_000, (LOCAL, DRIVER, DECOMPOSED)),
        Case("crowd", 1_500, WAYS),
        Case("pointsto", 2_000, (LOCAL, DRIVER, EXCHANGED, JOINS)),
        Case("pointsto", 8_000, (LOCAL, DRIVER, EXCHANGED)),
        Case("pointsto", 16_000, (LOCAL, DRIVER, EXCHANGED)),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"{', '.join(MAKE)}; all if none is given")
    parser.add_argument("--quick", action="store_true", help="tiny inputs")
    parser.add_argument("--ways", default=",".join(WAYS), metavar="WAY,WAY", help=f"of {', '.join(WAYS)} (all)")
    parser.add_argument(
        "--runs", type=int, default=1, metavar="N", help="runs of each, of which the fastest counts (1)"
    )
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="give up on a run after this (600)")
    parser.add_argument("--under", default="", metavar="COMMAND", help="what runs each run, such as flock FILE")
    options = parser.parse_args()
    lines, problems = [], []
    with tempfile.TemporaryDirectory(prefix="whence-bench-") as temporary:
        for case in cases(options.quick):
            if options.workloads and case.workload not in options.workloads:
                continue
            folder = Path(temporary) / f"{case.workload}-{case.size}"
            write_input(MAKE[case.workload](case.size), folder)
            sizes: dict[str, int] | None = None
            local = 0.0
            for way in case.ways:
                if way not in options.ways.split(","):
                    continue
                try:
                    found = best(case, way, folder, options.limit, options.runs, options.under)
                except Failed as failure:
                    problems.append(f"{case.name} {way}: {failure}")
                    tell(problems[-1])
                    continue
                tell(f"{case.name} {way}: {found['run']:.2f} s{'' if found['done'] else ', given up'}")
                if found["done"]:
                    sizes = sizes or found["sizes"]
                    local = local or found["run"]
                    if found["sizes"] != sizes:
                        problems.append(f"{case.name} {way}: {found['sizes']} instead of {sizes}")
                lines.append(line(case, way, found, local))
    print(table(HEADS, lines))
    for problem in problems:
        print(f"\n{problem}")
    return 1 if problems else 0


def best(case: Case, way: str, folder: Path, limit: float, runs: int, under: str) -> dict[str, Any]:
    """The fastest of several runs. One that takes long is not repeated."""
    program = PROGRAMS[case.workload]
    side = [sys.executable, "-m", "bench.spark_side", way, program, folder, str(limit), *OUTPUTS[program]]
    found: list[dict[str, Any]] = []
    for _ in range(runs):
        found.append(json.loads(timed([*shlex.split(under), *side], 10 * limit)[1].splitlines()[-1]))
        if not found[-1]["done"] or found[-1]["run"] > LONG:
            break
    return min(found, key=lambda one: float(one["run"]))


def line(case: Case, way: str, found: dict[str, Any], local: float) -> list[str]:
    done = found["done"]
    return [
        case.name,
        way,
        f"{sum(found['sizes'].values()):,}" if done else "given up",
        f"{found['run']:.2f}",
        f"{found['run'] / local:.2f}" if done and local else "",
        "" if found["frame"] is None else f"{found['frame']:.2f}",
        str(found["iterations"]),
        f"{found['iteration']:.3f}",
        f"{found['peak'] / 1e6:,.0f}",
    ]


if __name__ == "__main__":
    sys.exit(main())
