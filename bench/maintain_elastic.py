"""The paper's elastic workload (002 section 5.6.2): thirteen epochs by every strategy, each in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.changes import Change, elastic_workload
from bench.graphs import Facts, chain, dense, sparse
from bench.maintain_runs import Followed, Outcome, Way, compare
from bench.maintain_side import STRATEGIES
from bench.measure import tell
from bench.recorded import Missing, trace
from bench.report import Finding, table
from bench.source_programs import source_program

SINGLE = ("update", "dense", "bootstrap")
SMALL = 10
WORST = 1.2  # times the best single strategy, in any epoch
MEMORY = 0.6  # of dense
MANY_ITERATIONS = ("chain", "sparse", "crdt-negation", "crdt-aggregates")


@dataclass(frozen=True)
class Workload:
    program: str
    about: str
    make: Callable[[Path, bool], Facts]
    large: int
    quick_large: int
    again: bool = False  # small insertions bring back what was deleted just before


WORKLOADS = {
    "crdt-negation": Workload(
        "crdt_negation",
        "order of a replicated text, largest sibling by negation",
        lambda data, quick: trace(data, 2_000 if quick else 182_315),
        100,
        50,
    ),
    "crdt-aggregates": Workload(
        "crdt_aggregates",
        "the same, largest sibling by max",
        lambda data, quick: trace(data, 2_000 if quick else 182_315),
        100,
        50,
    ),
    "pointsto": Workload(
        "pointsto",
        "points-to analysis of a generated program",
        lambda data, quick: source_program(100 if quick else 4_000),
        1_000,
        50,
    ),
    "dense": Workload(
        "closure_right",
        "closure, ten edges a node",
        lambda data, quick: dense(100 if quick else 1_000),
        1_000,
        50,
    ),
    "sparse": Workload(
        "closure_right",
        "closure, 1.1 edges a node",
        lambda data, quick: sparse(400 if quick else 10_000),
        1_000,
        50,
    ),
    "chain": Workload(
        "closure_right",
        "closure of one path, which is cut and mended",
        lambda data, quick: chain(200 if quick else 2_000),
        100,
        20,
        again=True,
    ),
}


def measure(way: Way) -> Outcome:
    outcome = Outcome()
    for name in way.chosen(list(WORKLOADS)):
        workload = WORKLOADS[name]
        try:
            facts = workload.make(way.data, way.quick)
        except Missing as missing:
            tell(f"{name} is skipped: {missing}.")
            continue
        large = workload.quick_large if way.quick else workload.large
        history = elastic_workload(facts, SMALL, large, seed=4, again=workload.again)
        found = compare(name, workload.program, history, STRATEGIES, way, outcome.problems)
        outcome.figures[name] = {strategy: asdict(followed) for strategy, followed in found.items()}
        if set(found) == set(STRATEGIES):
            title = f"{name}: {workload.about}; {sum(map(len, facts.values())):,} input tuples"
            print(f"\n{title}\n\n{epochs_table(found, list(history.changes))}", flush=True)
            if not way.quick:
                outcome.findings += findings(name, found)
    return outcome


def epochs_table(found: dict[str, Followed], changes: list[Change]) -> str:
    """A line an epoch, then the total and the memory; `/best` is elastic over the best single strategy."""
    elastic = found["elastic"]
    lines = []
    for epoch, told in enumerate(elastic.epochs):
        best = min(found[strategy].seconds[epoch] for strategy in SINGLE)
        lines.append(
            [
                str(epoch),
                "all" if epoch == 0 else signed(changes[epoch - 1]),
                f"{told['inserted'] + told['deleted']:,}" if epoch else "",
                *(milliseconds(found[strategy].seconds[epoch]) for strategy in STRATEGIES),
                f"{elastic.seconds[epoch] / best:.2f}",
                chosen(told),
            ]
        )
    totals = [found[strategy].total for strategy in STRATEGIES]
    best_total = min(found[strategy].total for strategy in SINGLE)
    lines.append(["total", "", "", *map(milliseconds, totals), f"{elastic.total / best_total:.2f}", ""])
    for label, of in [("peak MB", lambda f: f.peak), ("held MB", lambda f: f.held), ("state MB", lambda f: f.nbytes)]:
        against = of(elastic) / max(1, of(found["dense"]))
        cells = [f"{of(found[strategy]) / 1e6:,.0f}" for strategy in STRATEGIES]
        lines.append([label, "", "", *cells, f"{against:.2f}", "of dense"])
    heads = ["epoch", "change", "impact", *(f"{strategy} ms" for strategy in STRATEGIES), "/best", "elastic chose"]
    return table(heads, lines)


def signed(change: Change) -> str:
    return f"{'+' if change.insert else '-'}{len(change):,}"


def milliseconds(value: float) -> str:
    return f"{1000 * value:,.1f}" if value < 0.1 else f"{1000 * value:,.0f}"


def chosen(told: dict[str, object]) -> str:
    """By stratum: how many were updated, recomputed, or recomputed after an Update that was given up."""
    strata = told["strata"]
    assert isinstance(strata, list)
    updated = sum(strategy == "update" for strategy, _, _ in strata)
    given_up = sum("given up" in reason for _, reason, _ in strata)
    recomputed = len(strata) - updated - given_up
    parts = [(updated, "update"), (recomputed, "bootstrap"), (given_up, "gave up")]
    return ", ".join(f"{count} {what}" if len(strata) > 1 else what for count, what in parts if count)


def findings(name: str, found: dict[str, Followed]) -> list[Finding]:
    elastic = found["elastic"]
    ratios = [
        elastic.seconds[epoch] / min(found[strategy].seconds[epoch] for strategy in SINGLE)
        for epoch in range(len(elastic.seconds))
    ]
    total = elastic.total / min(found[strategy].total for strategy in SINGLE)
    made = [
        Finding(f"{name}: elastic in total, of the best single strategy", total, "×", "at most 1", total <= 1),
        Finding(
            f"{name}: elastic in its worst epoch ({ratios.index(max(ratios))}), of the best single strategy",
            *(max(ratios), "×", f"at most {WORST}", max(ratios) <= WORST),
        ),
    ]
    memory = elastic.peak / max(1, found["dense"].peak)
    aimed = name in MANY_ITERATIONS
    aim = f"below {MEMORY}" if aimed else ""
    made.append(
        Finding(f"{name}: peak memory of elastic, of dense", memory, "×", aim, memory < MEMORY if aimed else None)
    )
    return made
