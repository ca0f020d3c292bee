"""Ten random edges out of a closure and in again, beside what the paper's own implementation takes on such a machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from bench.changes import there_and_back
from bench.graphs import Facts, chain, dense, sparse
from bench.maintain_runs import Followed, Outcome, Way, compare
from bench.report import Finding, seconds, table

EDGES = 10
FASTER = 5
SMALLER = 3
OURS = ("elastic", "update")


@dataclass(frozen=True)
class Paper:
    """The paper's implementation, compiled Soufflé: seconds, and bytes after the Bootstrap."""

    bootstrap: float
    memory: float
    remove: float
    insert: float


@dataclass(frozen=True)
class Closure:
    make: Callable[[int], Facts]
    nodes: int
    quick: int
    paper: Paper


CLOSURES = {
    "dense": Closure(dense, 1_000, 100, Paper(2.5, 139e6, 0.7, 0.2)),
    "chain": Closure(chain, 2_000, 100, Paper(2.2, 250e6, 6.2, 9.6)),
    "sparse": Closure(sparse, 20_000, 400, Paper(41, 2.2e9, 12, 2)),
}


def measure(way: Way) -> Outcome:
    outcome = Outcome()
    lines = []
    for name in way.chosen(list(CLOSURES)):
        closure = CLOSURES[name]
        facts = closure.make(closure.quick if way.quick else closure.nodes)
        history = there_and_back(facts, "edge", EDGES, rounds=2, seed=6)
        found = compare(name, "closure_right", history, OURS, way, outcome.problems)
        outcome.figures[name] = {strategy: asdict(followed) for strategy, followed in found.items()}
        for strategy, followed in found.items():
            for label, paper, ours, unit in cells(closure.paper, followed):
                aim = SMALLER if unit == "MB" else FASTER
                lines.append([name, strategy, label, f"{paper:g}", shown(ours, unit), unit, f"{paper / ours:.1f}"])
                if not way.quick:
                    finding = f"{name}, {strategy}: {label}, the paper's over ours"
                    outcome.findings.append(Finding(finding, paper / ours, "×", f"at least {aim}", paper / ours >= aim))
    heads = ["closure", "strategy", "", "paper", "Whence", "", "paper/Whence"]
    if way.quick:
        print("\nOn tiny graphs, so the paper's figures say nothing here.")
    print(f"\n{table(heads, lines)}", flush=True)
    return outcome


def cells(paper: Paper, ours: Followed) -> list[tuple[str, float, float, str]]:
    """What is compared: what, the paper's figure, ours, the unit."""
    bootstrap, removed, inserted, removed_next, inserted_next = ours.seconds
    return [
        ("bootstrap", paper.bootstrap, bootstrap, "s"),
        ("bootstrap, peak memory", paper.memory / 1e6, ours.first_peak / 1e6, "MB"),
        (f"removing {EDGES} edges", paper.remove, removed, "s"),
        (f"inserting {EDGES} edges", paper.insert, inserted, "s"),
        (f"removing {EDGES} others", paper.remove, removed_next, "s"),
        (f"inserting {EDGES} others", paper.insert, inserted_next, "s"),
        ("all epochs, peak memory", paper.memory / 1e6, ours.peak / 1e6, "MB"),
    ]


def shown(value: float, unit: str) -> str:
    return f"{value:,.0f}" if unit == "MB" else seconds(value)
