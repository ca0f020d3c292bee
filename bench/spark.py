"""Where strata run best: in process, on Spark's driver, decomposed, exchanged, and a plain loop of PySpark joins.

python -m bench.spark                   everything; about a quarter of an hour on two cores
python -m bench.spark closure --quick   one of them on a tiny input
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.graphs import Facts, sparse
from bench.measure import Failed, tell, timed, write_input
from bench.report import table
from bench.source_programs import source_program

WAYS = ("local", "driver", "decomposed", "exchanged", "loop")


@dataclass(frozen=True)
class Case:
    """A program at one size, and the ways that finish in reasonable time at that size."""

    program: str
    size: int
    outputs: tuple[str, ...]
    ways: tuple[str, ...]

    def facts(self) -> Facts:
        return sparse(self.size) if self.program == "closure" else source_program(self.size)


def cases(quick: bool) -> list[Case]:
    points_to = ("vpt", "alias", "safevar")
    if quick:
        return [Case("closure", 200, ("path",), WAYS), Case("pointsto", 100, points_to, WAYS[:2])]
    return [
        Case("closure", 2_000, ("path",), WAYS),
        Case("closure", 20_000, ("path",), WAYS[:3]),
        Case("closure", 46_000, ("path",), WAYS[:3]),
        Case("pointsto", 2_000, points_to, ("local", "driver", "exchanged")),
        Case("pointsto", 8_000, points_to, WAYS[:2]),
        Case("pointsto", 16_000, points_to, WAYS[:2]),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="closure or pointsto; both if none is given")
    parser.add_argument("--quick", action="store_true", help="tiny inputs")
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="give up on a run after this (600)")
    options = parser.parse_args()
    lines, problems = [], []
    with tempfile.TemporaryDirectory(prefix="whence-bench-") as temporary:
        for case in cases(options.quick):
            if options.programs and case.program not in options.programs:
                continue
            folder = Path(temporary) / f"{case.program}-{case.size}"
            write_input(case.facts(), folder)
            sizes: dict[str, int] | None = None
            local = 0.0
            for way in case.ways:
                command = [sys.executable, "-m", "bench.spark_side", way, case.program, folder, *case.outputs]
                try:
                    found = json.loads(timed(command, options.limit)[1].splitlines()[-1])
                except Failed as failure:
                    problems.append(f"{case.program} {case.size:,} {way}: {failure}")
                    tell(problems[-1])
                    continue
                tell(f"{case.program} {case.size:,} {way}: {found['run']:.2f} s")
                sizes = sizes or found["sizes"]
                local = local or found["run"]
                if found["sizes"] != sizes:
                    problems.append(f"{case.program} {case.size:,} {way}: {found['sizes']} instead of {sizes}")
                lines.append(
                    [
                        f"{case.program} {case.size:,}",
                        way,
                        f"{sum(found['sizes'].values()):,}",
                        f"{found['run']:.2f}",
                        f"{found['run'] / local:.2f}",
                        "" if found["frame"] is None else f"{found['frame']:.2f}",
                        str(found["iterations"]),
                        f"{found['iteration']:.3f}",
                        f"{found['peak'] / 1e6:,.0f}",
                    ]
                )
    heads = ["", "way", "results", "run s", "run/local", "as frames s", "iterations", "median s", "MB"]
    print(table(heads, lines))
    for problem in problems:
        print(f"\n{problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
