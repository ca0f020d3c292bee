"""What explanations cost: a level of a proof, a large proof, the annotations of a metric beside plain evaluation."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import whence
from bench.graphs import Facts
from bench.measure import Setting, tell
from bench.report import Finding
from bench.source_programs import source_program
from whence.explain import Explainer, state_of
from whence.explain.annotate import ByMetric
from whence.explain.proof import nodes
from whence.explain.search import Key

PROGRAMS = Path(__file__).parent / "programs"
SAMPLE = 300
TREE = """
.decl leaf(x: number)
.decl pair(x: number, one: number, other: number)
.decl holds(x: number)
holds(x) :- leaf(x).
holds(x) :- pair(x, one, other), holds(one), holds(other).
"""


def explaining(folder: Path, quick: bool, setting: Setting) -> list[Finding]:
    return [*levels(quick), *large_proofs(quick), *heights(quick, setting)]


def levels(quick: bool) -> list[Finding]:
    """Proofs of tuples that are picked at random, a level and twenty levels of each (002, fig. 4.16a)."""
    session = whence.open(PROGRAMS / "pointsto.dl")
    session.load(**source_program(200 if quick else 16_000))
    session.run()
    tell(f"explain: {sum(len(session[name]) for name in session):,} tuples")
    findings = []
    for relation in ("vpt", "alias"):
        explainer = Explainer(state_of(session.engine.tables))
        keys = picked(session, relation)
        explainer.proof(keys[0], depth=1)  # indexes are made once
        one = [seconds_of(explainer, key, 1)[0] for key in keys]
        deep = [seconds_of(explainer, key, 20) for key in keys]
        each = [1000 * seconds / count for seconds, count in deep]
        for label, value in [
            (f"a level of a proof in `{relation}`, median", 1000 * statistics.median(one)),
            (f"a node of twenty levels of a proof in `{relation}`, median", statistics.median(each)),
        ]:
            tell(f"explain: {label}: {value:.3f} ms")
            findings.append(Finding(label, value, "ms", "below 1", value < 1))
    return findings


def large_proofs(quick: bool) -> list[Finding]:
    """Proofs that are trees without anything shared: eight times the nodes should take eight times as long."""
    largest = 8 if quick else 13
    session = whence.open(text=TREE)
    session.load(
        pair=[(x, 2 * x, 2 * x + 1) for x in range(1, 1 << largest)],
        leaf=[(x,) for x in range(1 << largest, 2 << largest)],
    )
    session.run()
    explainer = Explainer(state_of(session.engine.tables))
    each: list[float] = []
    for levels_below in range(largest % 3 + 3, largest + 1, 3):
        root = explainer.key("holds", (1 << (largest - levels_below),))
        seconds, count = min(seconds_of(explainer, root, 100) for _ in range(3))
        each.append(1e6 * seconds / count)
        tell(f"explain: a proof of {count:,} nodes: {seconds:.3f} s, {each[-1]:.1f} µs a node")
    ratio = each[-1] / each[-2]
    return [
        Finding(f"a node of a proof of {count:,} nodes", each[-1], "µs", "below 1000", each[-1] < 1000),
        Finding("the same over that of a proof of an eighth of the nodes", ratio, "×", "below 1.5", ratio < 1.5),
    ]


def heights(quick: bool, setting: Setting) -> list[Finding]:
    """The annotations of a metric as a second evaluation: time and memory of both over those of the first."""
    findings = []
    facts = with_classes(200 if quick else 8_000)
    for metric in ("height", "size"):
        ratios = []
        for _ in range(setting.runs):
            session = whence.open(PROGRAMS / "pointsto_classes.dl")
            session.load(**facts)
            started = time.perf_counter()
            session.run()
            plain = time.perf_counter() - started
            before = sum(session[name].nbytes for name in session)
            key = picked(session, "alias")[0]
            started = time.perf_counter()
            explainer = Explainer(state_of(session.engine.tables), metric)
            explainer.proof(key)
            ratios.append(1 + (time.perf_counter() - started) / plain)
        order = explainer.search.order
        assert isinstance(order, ByMetric)
        memory = (sum(session[name].nbytes for name in session) + order.nbytes) / before
        tell(f"explain: metric {metric}: {min(ratios):.2f} × the time, {memory:.2f} × the memory of plain evaluation")
        first = f"`--metric {metric}` and its first proof, with evaluation over evaluation"
        findings += [
            Finding(f"{first}, time", min(ratios), "×", "below 1.31", min(ratios) < 1.31),
            Finding(f"{first}, memory", memory, "×", "below 1.76", memory < 1.76),
        ]
    return findings


def with_classes(size: int) -> Facts:
    facts = dict(source_program(size))
    facts["assigned"] = facts.pop("assign")
    sources = np.unique(facts["assigned"][:, 1])
    places = np.random.default_rng(0).choice(len(sources) - 1, len(sources) // 20, replace=False)
    facts["instanceof"] = np.column_stack([sources[places], sources[places + 1]])
    return facts


def picked(session: whence.Session, relation: str) -> Sequence[Key]:
    rows = session.engine.tables.stored[relation].rows  # type: ignore[attr-defined]
    choose = random.Random(1)
    return [(relation, tuple(rows[choose.randrange(len(rows))].tolist())) for _ in range(SAMPLE)]


def seconds_of(explainer: Explainer, key: Key, depth: int) -> tuple[float, int]:
    started = time.perf_counter()
    proof = explainer.proof(key, depth)
    return time.perf_counter() - started, nodes(proof)
