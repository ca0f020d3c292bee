"""Times maintenance: what keeping results current costs, by every strategy, beside evaluating anew.

python -m bench.maintain                        all three; about a quarter of an hour on two cores
python -m bench.maintain elastic                thirteen epochs by every strategy
python -m bench.maintain elastic chain crdt-negation      on some of its workloads
python -m bench.maintain closures               ten edges out of a closure and in again, beside the paper's figures
python -m bench.maintain small                  ten tuples of a state of millions, at three sizes
python -m bench.maintain --quick                all of it on tiny inputs, to see that it runs
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from bench import maintain_closures, maintain_elastic, maintain_small
from bench.graphs import chain
from bench.maintain_runs import Outcome, Way
from bench.measure import ROOT, once, write_input
from bench.report import findings_table
from bench.run import machine

MEASUREMENTS: dict[str, Callable[[Way], Outcome]] = {
    "elastic": maintain_elastic.measure,
    "closures": maintain_closures.measure,
    "small": maintain_small.measure,
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "measurement", nargs="?", choices=list(MEASUREMENTS), help="one of them; all three if none is given"
    )
    parser.add_argument("names", nargs="*", metavar="WORKLOAD", help="only these workloads of the measurement")
    parser.add_argument("--quick", action="store_true", help="tiny inputs, one run each")
    parser.add_argument(
        "--runs", type=int, metavar="N", help="runs of each, of which the best counts (3; 1 if --quick)"
    )
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="give up on a run after this (600)")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="cpu on a machine that is busy")
    parser.add_argument("--data", type=Path, default=ROOT / "../shared/data", help="folder with crdt/")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure here as well")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    about = machine()
    print(", ".join(f"{name} {value}" for name, value in about.items()), flush=True)
    outcomes = {}
    with tempfile.TemporaryDirectory(prefix="whence-bench-") as temporary:
        folder = Path(temporary)
        write_input(chain(10), folder / "first")
        once("whence", "closure", folder / "first", ("path",), options.limit)  # compiles the kernels if need be
        for name in [options.measurement] if options.measurement else MEASUREMENTS:
            way = Way(
                folder=folder / name,
                data=options.data,
                names=tuple(options.names),
                quick=options.quick,
                runs=options.runs or (1 if options.quick else 3),
                limit=options.limit,
                clock=options.clock,
            )
            print(f"\n## {name}", flush=True)
            outcomes[name] = MEASUREMENTS[name](way)
            if outcomes[name].findings:
                print(f"\n{findings_table(outcomes[name].findings)}", flush=True)
    problems = [problem for outcome in outcomes.values() for problem in outcome.problems]
    for problem in problems:
        print(f"\n{problem}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        figures = {name: asdict(outcome) for name, outcome in outcomes.items()}
        options.json.write_text(json.dumps({"machine": about, **figures}, indent=1) + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
