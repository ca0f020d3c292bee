"""Ten tuples of a state of millions: what a small change costs, as a share of Bootstrap, as the state grows.

The input is small graphs beside each other, so that a change reaches as much in a large state as in a small one.
"""

from __future__ import annotations

from dataclasses import asdict
from statistics import median

import numpy as np

from bench.changes import Change, History, Parts, held_back
from bench.graphs import Facts, Table, pairs
from bench.maintain_runs import Followed, Outcome, Way, compare
from bench.report import Finding, seconds, table

NODES = 12  # a graph
GRAPHS = (32_000, 64_000, 128_000)
QUICK = (200, 400, 800)
CHANGED = 10
SHARE = 0.01  # of Bootstrap
IMPACT = 1_000
GROWTH = 1.5  # of the median when the state is four times as large: nothing but caches that hold less of it
STRATEGIES = ("elastic", "update")


def components(graphs: int) -> Facts:
    """Paths with shortcuts, and some nodes that are barred."""
    random = np.random.default_rng(7)
    node = np.arange(graphs * NODES)
    place = node % NODES
    path = pairs(node, node + 1)[place < NODES - 1]
    ahead = 2 + random.integers(0, 3, len(node))
    short = (random.random(len(node)) < 0.2) & (place + ahead < NODES)
    barred: Table = node[random.random(len(node)) < 0.1].reshape(-1, 1)
    return {"edge": np.concatenate([path, pairs(node, node + ahead)[short]]), "barred": barred}


def small_changes(facts: Facts, epochs: int, seed: int) -> History:
    """Deletions and insertions by turns, of tuples that are changed once."""
    parts = Parts(facts, seed)
    rows = [parts.take(CHANGED) for _ in range(epochs)]
    changes = [Change(part, {}) if i % 2 else Change({}, part) for i, part in enumerate(rows)]
    return History(held_back(facts, rows[1::2]), tuple(changes))


def measure(way: Way) -> Outcome:
    outcome = Outcome()
    lines = []
    medians: dict[str, list[float]] = {strategy: [] for strategy in STRATEGIES}
    for graphs in QUICK if way.quick else GRAPHS:
        history = small_changes(components(graphs), 10 if way.quick else 60, seed=8)
        name = f"{graphs:,} graphs"
        found = compare(name, "components", history, STRATEGIES, way, outcome.problems)
        outcome.figures[name] = {strategy: asdict(followed) for strategy, followed in found.items()}
        for strategy, followed in found.items():
            lines.append(line(name, followed))
            middle = median(followed.seconds[3:])
            medians[strategy].append(middle)
            if not way.quick:
                share, impact = 100 * middle / followed.seconds[0], max(map(touched, followed.epochs[1:]))
                size = f"{sum(followed.sizes.values()):,} tuples, {strategy}"
                outcome.findings += [
                    Finding(f"{size}: median of Bootstrap", share, "%", f"below {100 * SHARE:g}", share < 100 * SHARE),
                    Finding(f"{size}: largest impact", impact, "tuples", f"below {IMPACT:,}", impact < IMPACT),
                ]
    heads = ["", "strategy", "state", "bootstrap s", "first -10 ms", "first +10 ms"]
    heads += ["median -10 ms", "median +10 ms", "worst ms", "median/bootstrap", "impact, median", "largest", "chose"]
    print(f"\n{table(heads, lines)}", flush=True)
    for strategy, middles in medians.items():
        if len(middles) == len(GRAPHS) and not way.quick:
            growth = middles[-1] / middles[0]
            aim = f"below {GROWTH:g}"
            finding = f"{strategy}: median at four times the state, of that at once"
            outcome.findings.append(Finding(finding, growth, "×", aim, growth < GROWTH))
    return outcome


def line(name: str, followed: Followed) -> list[str]:
    """The first deletion and the first insertion, which make arrangements, are kept apart."""
    bootstrap, first_deletion, first_insertion, *later = followed.seconds
    impacts = list(map(touched, followed.epochs[1:]))
    return [
        name,
        followed.strategy,
        f"{sum(followed.sizes.values()):,}",
        seconds(bootstrap),
        *(f"{1000 * value:,.1f}" for value in (first_deletion, first_insertion)),
        *(f"{1000 * value:,.2f}" for value in (median(later[0::2]), median(later[1::2]), max(later))),
        f"{100 * median(later) / bootstrap:.2f}%",
        f"{median(impacts):,.0f}",
        f"{max(impacts):,}",
        chosen(followed),
    ]


def touched(told: dict[str, int]) -> int:
    return told["inserted"] + told["deleted"]


def chosen(followed: Followed) -> str:
    strategies = [told["strategy"] for told in followed.epochs[1:]]
    return ", ".join(f"{strategies.count(strategy)} {strategy}" for strategy in dict.fromkeys(strategies))
