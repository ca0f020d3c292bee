"""Ten random edges out of a closure and in again, beside what the paper's implementation takes on such a machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from bench.changes import there_and_back
from bench.graphs import Facts, chain, dense, sparse
from bench.maintain_runs import Followed, Outcome, Way, compare
from bench.measure import tell
from bench.report import Finding, table

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
        paper = paper_cells(closure.paper)
        lines.append([name, "the paper's", *map(shown, paper)])
        for strategy, followed in found.items():
            ours = cells(followed)
            ratios = [theirs / mine for theirs, mine in zip(paper, ours, strict=True)]
            chosen = "; ".join(told["strategy"] for told in followed.epochs[1:])
            lines.append([name, strategy, *map(shown, ours)])
            lines.append([name, "the paper's, of that", *(f"{ratio:.1f}×" for ratio in ratios)])
            tell(f"{name}: {strategy} chose {chosen}")
            if not way.quick:
                outcome.findings += findings(f"{name}, {strategy}", ratios)
    if way.quick:
        print("\nOn tiny graphs, so the paper's figures say nothing here.")
    print(f"\n{table(['', '', *HEADS], lines)}", flush=True)
    return outcome


HEADS = (
    *("bootstrap s", "bootstrap MB", "-10 s", "+10 s"),
    *("other -10 s", "other +10 s", "all epochs MB"),
)


def paper_cells(paper: Paper) -> list[float]:
    memory = paper.memory / 1e6
    return [paper.bootstrap, memory, paper.remove, paper.insert, paper.remove, paper.insert, memory]


def cells(ours: Followed) -> list[float]:
    """The first change makes the arrangements that later ones read, so a second pair of changes is shown as well."""
    bootstrap, *changes = ours.seconds
    return [bootstrap, ours.first_peak / 1e6, *changes, ours.peak / 1e6]


def findings(name: str, ratios: list[float]) -> list[Finding]:
    """The slowest cell, and the memory, which is that of all epochs."""
    slowest = min(ratio for head, ratio in zip(HEADS, ratios, strict=True) if head.endswith(" s"))
    return [
        Finding(
            f"{name}: the paper's seconds over ours, worst cell", slowest, "×", f"at least {FASTER}", slowest >= FASTER
        ),
        Finding(f"{name}: the paper's memory over ours", ratios[-1], "×", f"at least {SMALLER}", ratios[-1] >= SMALLER),
    ]


def shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value >= 10 else f"{value:.3g}"
