"""Times Whence beside DuckDB and checks that they agree.

python -m bench.run                     everything; about a quarter of an hour on two cores
python -m bench.run dense pointsto      some of it
python -m bench.run --quick             all of it on tiny inputs, to see that it runs
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
import tempfile
from pathlib import Path

from bench import special
from bench.measure import ROOT, Engine, Failed, Run, Setting, best, once, tell, write_input
from bench.recorded import Missing
from bench.report import LEGEND, Finding, Measurement, as_json, findings_table, workload_table
from bench.side import THREADS
from bench.workloads import WORKLOADS, Workload


def machine() -> dict[str, str]:
    packages = {name: importlib.metadata.version(name) for name in ("numba", "numpy", "duckdb") if installed(name)}
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    if load > 0.5:
        tell(f"Other processes are busy (load {load:.1f}), so times will be longer than on an idle machine.")
    return {
        "cores": str(cores),
        "load before": f"{load:.1f}",
        "threads": str(THREADS),
        "python": platform.python_version(),
        **packages,
    }


def compile_kernels(folder: Path, limit: float) -> None:
    """One run that is not counted: after an installation, the first compiles the kernels and keeps them on disk."""
    write_input(WORKLOADS["chain"].make(10, folder), folder)
    once("whence", "closure", folder, ("path",), limit)


def installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def compare(
    workload: Workload, size: int, data: Path, folder: Path, engines: list[Engine], setting: Setting
) -> Measurement:
    facts = workload.make(size, data)
    write_input(facts, folder)
    runs: dict[Engine, Run] = {}
    problems = []
    for engine in engines:
        try:
            runs[engine] = best(engine, workload.program, folder, workload.outputs, setting)
            tell(f"{workload.name} {size:,}: {engine} {runs[engine].run:.3f} s")
        except Failed as failure:
            problems.append(f"{workload.name} {size:,}: {engine} {failure}")
            tell(problems[-1])
    for name in workload.outputs:
        if len({(run.sizes[name], run.checksums[name]) for run in runs.values()}) > 1:
            sizes = ", ".join(f"{engine} {run.sizes[name]:,}" for engine, run in runs.items())
            problems.append(f"{workload.name} {size:,}: the engines differ on {name} ({sizes} tuples)")
            tell(problems[-1])
    return Measurement(
        workload.name,
        size,
        sum(map(len, facts.values())),
        runs.get("whence"),
        runs.get("duckdb"),
        tuple(problems),
    )


def disagreements(measurements: list[Measurement]) -> list[str]:
    """Workloads that say the same in two ways, and did not."""
    by_name = {(found.workload, found.size): found for found in measurements}
    problems = []
    for found in measurements:
        other = by_name.get((WORKLOADS[found.workload].same_as or "", found.size))
        if other and found.whence and other.whence and found.whence.checksums != other.whence.checksums:
            problems.append(f"{found.workload} {found.size:,} and {other.workload} differ")
    return problems


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*WORKLOADS, *special.MEASUREMENTS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; all if none is given")
    parser.add_argument("--quick", action="store_true", help="tiny inputs, one run each")
    parser.add_argument(
        "--sizes", type=sizes, metavar="N,N", help="sizes for the workloads named, instead of their own"
    )
    parser.add_argument(
        "--runs", type=int, metavar="N", help="runs of each, of which the best counts (3; 1 if --quick)"
    )
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="give up on a run after this (600)")
    parser.add_argument("--engine", choices=["whence", "duckdb"], help="only this side")
    parser.add_argument("--data", type=Path, default=ROOT / "../shared/data", help="folder with crdt/ and lubm/")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure here as well")
    parsed = parser.parse_args()
    unknown = sorted(set(parsed.names) - set(names))
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(names)}")
    return parsed


def sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size.replace("_", "")) for size in text.split(","))


def main() -> int:
    options = arguments()
    setting = Setting(options.runs or (1 if options.quick else 3), options.limit)
    names = options.names or [*WORKLOADS, *special.MEASUREMENTS]
    engines: list[Engine] = [options.engine] if options.engine else ["whence", "duckdb"]
    if "duckdb" in engines and not installed("duckdb"):
        tell("DuckDB is not installed, so Whence runs alone; make bench installs it.")
        engines.remove("duckdb")
    about = machine()
    print(", ".join(f"{name} {value}" for name, value in about.items()), LEGEND, sep="\n\n")
    measurements: list[Measurement] = []
    findings: list[Finding] = []
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="whence-bench-") as temporary:
        folder = Path(temporary)
        if "whence" in engines:
            compile_kernels(folder / "first", options.limit)
        for workload in (WORKLOADS[name] for name in WORKLOADS if name in names):
            found = []
            for size in options.sizes or (workload.quick if options.quick else workload.sizes):
                try:
                    at = folder / workload.name / str(size)
                    found.append(compare(workload, size, options.data, at, engines, setting))
                except Missing as missing:
                    tell(f"{workload.name} is skipped: {missing}.")
                    break
            if found:
                print(f"\n{workload.name}: {workload.about}\n\n{workload_table(workload.unit, found)}", flush=True)
                measurements += found
        for name in special.MEASUREMENTS:
            if name in names and "whence" in engines:
                try:
                    findings += special.MEASUREMENTS[name](folder / name, options.quick, setting)
                except Failed as failure:
                    problems.append(f"{name}: {failure}")
                    tell(problems[-1])
    if findings:
        print(f"\n{findings_table(findings)}")
    problems += [problem for found in measurements for problem in found.problems] + disagreements(measurements)
    for problem in problems:
        print(f"\n{problem}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(as_json(about, measurements, findings), indent=1) + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
