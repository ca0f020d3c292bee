"""Times the dynamic interpreter as the paper does (003, section 5): materialise a part, add the rest, remove it again.

python -m bench.circuit                       everything; some minutes on two cores
python -m bench.circuit rdfs owl              some of it
python -m bench.circuit --quick               on a part of the data, one run each, to see that it runs
python -m bench.circuit --without unindexed   a contestant less

Contestants are the circuit engine, the same without the index operator, and the local engine, elastic and dense.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.circuit_side import CONTESTANTS
from bench.graphs import Facts
from bench.measure import ROOT, Failed, tell, timed
from bench.owl import owl
from bench.recorded import Missing, universities
from bench.report import Finding, findings_table, seconds, table
from bench.run import machine

CLOSURE = """.decl e(x: number, y: number)
.input e
.decl t(x: number, y: number)
t(x, y) :- e(x, y).
t(x, z) :- e(x, y), t(y, z).
"""
RDFS = """.decl t(s: number, p: number, o: number)
.input t
t(y, 4, x) :- t(a, 2, x), t(y, a, z).
t(z, 4, x) :- t(a, 3, x), t(y, a, z).
t(x, 1, z) :- t(x, 1, y), t(y, 1, z).
t(x, 0, z) :- t(x, 0, y), t(y, 0, z).
t(z, 4, y) :- t(x, 0, y), t(z, 4, x).
t(x, b, y) :- t(a, 1, b), t(x, a, y).
"""


@dataclass(frozen=True)
class Workload:
    about: str
    make: Callable[[Path], tuple[str, Facts]]
    results: int  # of all relations that rules derive, given everything


def graph(name: str) -> Callable[[Path], tuple[str, Facts]]:
    def make(data: Path) -> tuple[str, Facts]:
        path = data / "graphs" / name
        if not path.exists():
            raise Missing(f"{path} is missing; name the folder that holds graphs/ with --data")
        edges = np.loadtxt(path, dtype=str, ndmin=2)[:, :2].astype(np.int64)
        return CLOSURE, {"e": np.unique(edges, axis=0)}

    return make


def rdfs(data: Path) -> tuple[str, Facts]:
    return RDFS, {"t": universities(data, 1)["given"]}


WORKLOADS = {
    "small": Workload("transitive closure of the graph of 1,008 edges", graph("graph1000.txt"), 11_532),
    "large": Workload("transitive closure of the graph of 10,999 edges", graph("graph10000.txt"), 262_144),
    "rdfs": Workload("RDFS on LUBM(1), six rules on one relation", rdfs, 126_732),
    "owl": Workload("OWL 2 RL on LUBM(1), a relation for each class and property", owl, 0),
}
SHARES = (50, 99, 100)
QUICK = 0.05  # of the facts
AIM_RDFS, AIM_CLOSURES, AIM_UPDATE, AIM_REMOVAL = 0.2, 0.3, 0.10, 2.0


@dataclass
class Followed:
    """The best seconds of each step, the peak of the first run, and what came out."""

    seconds: list[float]
    peak: int
    states: list[dict[str, Any]]


def split(facts: Facts, share: int, seed: int = 1) -> tuple[Facts, Facts]:
    """A share of each relation's facts, picked at random, and the rest."""
    random = np.random.default_rng(seed)
    first, rest = {}, {}
    for name, rows in facts.items():
        order = random.permutation(len(rows))
        cut = len(rows) * share // 100
        first[name] = np.ascontiguousarray(rows[np.sort(order[:cut])])
        if cut < len(rows):
            rest[name] = np.ascontiguousarray(rows[np.sort(order[cut:])])
    return first, rest


def follow(contestant: str, program: Path, folder: Path, runs: int, limit: float, clock: str) -> Followed:
    found: Followed | None = None
    for run in range(runs):
        options = ["--no-check"] if run else []
        _, printed = timed([sys.executable, "-m", "bench.circuit_side", contestant, program, folder, *options], limit)
        told = json.loads(printed)
        if found is None:
            found = Followed(told[clock], told["peak"], told["states"])
        found.seconds = [min(pair) for pair in zip(found.seconds, told[clock], strict=True)]
    assert found is not None
    return found


def measure(name: str, options: argparse.Namespace, folder: Path, problems: list[str]) -> dict[str, Any]:
    """By share and contestant, what was found."""
    text, facts = WORKLOADS[name].make(options.data)
    if options.quick:
        facts = {relation: rows[: max(2, round(QUICK * len(rows)))] for relation, rows in facts.items()}
    program = folder / f"{name}.dl"
    program.write_text(text)
    figures: dict[str, Any] = {"rules": text.count(":-"), "facts": sum(map(len, facts.values()))}
    for share in SHARES:
        at = folder / f"{name}-{share}"
        at.mkdir()
        for part, tables in zip(("first", "rest"), split(facts, share), strict=True):
            for relation, rows in tables.items():
                np.save(at / f"{part}.{relation}.npy", rows)
        found: dict[str, Followed] = {}
        for contestant in options.contestants:
            try:
                found[contestant] = follow(contestant, program, at, options.runs, options.limit, options.clock)
                told = ", ".join(f"{value:.4f}" for value in found[contestant].seconds)
                tell(f"{name} {share}%: {contestant} {told} s")
            except Failed as failure:
                problems.append(f"{name} {share}%: {contestant} {failure}")
                tell(problems[-1])
        if len({json.dumps(one.states) for one in found.values()}) > 1:
            problems.append(f"{name} {share}%: the contestants differ in their results")
        figures[str(share)] = {contestant: vars(one) for contestant, one in found.items()}
    return figures


def lines_of(figures: dict[str, Any]) -> list[list[str]]:
    lines = []
    for share in SHARES[:2]:
        for contestant, found in figures[str(share)].items():
            first, added, removed = found["seconds"]
            whole = figures["100"].get(contestant, {}).get("seconds", [float("nan")])[0]
            lines.append(
                [
                    f"{share}%",
                    contestant,
                    *(seconds(value) for value in (first, added, removed, whole)),
                    f"{100 * added / first:.1f}%",
                    f"{removed / added:.2f}",
                    f"{found['peak'] / 1e6:,.0f}",
                ]
            )
    return lines


def findings(figures: dict[str, dict[str, Any]]) -> list[Finding]:
    """What was aimed at, of the circuit engine."""

    def whole(name: str) -> float:
        return float(figures[name]["100"]["circuit"]["seconds"][0])

    found = []
    if "rdfs" in figures:
        taken = whole("rdfs")
        found.append(Finding("RDFS", taken, "s", f"below {AIM_RDFS:g}", taken < AIM_RDFS))
    if "small" in figures and "large" in figures:
        taken = whole("small") + whole("large")
        found.append(Finding("both closures", taken, "s", f"below {AIM_CLOSURES:g}", taken < AIM_CLOSURES))
    for name, by_share in figures.items():
        first, added, removed = by_share["99"]["circuit"]["seconds"]
        share = 100 * max(added, removed) / first
        aim = f"below {100 * AIM_UPDATE:g}"
        found.append(Finding(f"{name}: 1% added or removed, of 99%", share, "%", aim, share < 100 * AIM_UPDATE))
        for part in ("50", "99"):
            first, added, removed = by_share[part]["circuit"]["seconds"]
            ratio = removed / added
            aim, holds = f"within {AIM_REMOVAL:g}", 1 / AIM_REMOVAL <= ratio <= AIM_REMOVAL
            found.append(Finding(f"{name}, {part}%: removing over adding", ratio, "×", aim, holds))
    return found


HEADS = ["first", "", "materialise s", "add rest s", "remove rest s", "all at once s", "add/first", "remove/add", "MB"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(WORKLOADS)}; all if none is given")
    parser.add_argument("--quick", action="store_true", help="a part of the data, one run each")
    parser.add_argument("--runs", type=int, metavar="N", help="runs of each; of each step the best counts (3)")
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="give up on a run after this (600)")
    parser.add_argument(
        "--clock", choices=["seconds", "cpu"], default="seconds", help="cpu: processor time, on a machine that is busy"
    )
    parser.add_argument("--without", action="append", default=[], choices=CONTESTANTS, help="leave a contestant out")
    parser.add_argument("--data", type=Path, default=ROOT / "../shared/data", help="folder with graphs/ and lubm/")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure here as well")
    parsed = parser.parse_args()
    unknown = sorted(set(parsed.names) - set(WORKLOADS))
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(WORKLOADS)}")
    parsed.contestants = [name for name in CONTESTANTS if name not in parsed.without]
    parsed.runs = parsed.runs or (1 if parsed.quick else 3)
    return parsed


def main() -> int:
    options = arguments()
    print(", ".join(f"{name} {value}" for name, value in machine().items()), flush=True)
    figures: dict[str, dict[str, Any]] = {}
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="whence-bench-") as temporary:
        for name in options.names or WORKLOADS:
            try:
                figures[name] = measure(name, options, Path(temporary), problems)
            except Missing as missing:
                tell(f"{name} is skipped: {missing}.")
                continue
            about = f"{WORKLOADS[name].about}; {figures[name]['rules']} rules, {figures[name]['facts']:,} facts"
            print(f"\n**{name}**: {about}\n\n{table(HEADS, lines_of(figures[name]))}", flush=True)
            if not options.quick and WORKLOADS[name].results:
                check_results(name, figures[name], problems)
    if "circuit" in options.contestants and not options.quick and not problems:
        print(f"\n{findings_table(findings(figures))}", flush=True)
    for problem in problems:
        print(f"\n{problem}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(figures, indent=1))
    return 1 if problems else 0


def check_results(name: str, figures: dict[str, Any], problems: list[str]) -> None:
    for contestant, found in figures["100"].items():
        size = found["states"][0]["t"][0]
        if size != WORKLOADS[name].results:
            problems.append(f"{name}: {contestant} has {size:,} results; they are {WORKLOADS[name].results:,}")


if __name__ == "__main__":
    sys.exit(main())
