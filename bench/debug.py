"""What the debugger costs: fig. 5 of paper 001 on its graph with a cycle, and single steps on points-to.

A path of ten nodes leads into a cycle, 1 → 2 → … → 10 → 11 → … → X → 10. Of the query path(1, Y) three ways are taken:
into every call; into calls down to path(11, Y), and over that; bottom up.
"""

from __future__ import annotations

import random
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import whence
from bench.measure import Setting, tell
from bench.report import Finding
from bench.source_programs import source_program
from whence.step import Debugger

CYCLE = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, y) :- edge(x, z), path(z, y).
"""
POINTS_TO = """
.decl new(variable: number, object: number)
.decl assign(variable: number, source: number)
.decl store(base: number, field: number, source: number)
.decl load(variable: number, base: number, field: number)
.input new, assign, store, load
.decl vpt(variable: number, object: number)
.output vpt
vpt(v, o) :- new(v, o).
vpt(v, o) :- assign(v, w), vpt(w, o).
vpt(v, o) :- load(v, base, f), store(other, f, w), vpt(base, held), vpt(other, held), vpt(w, o).
"""
GIVEN_UP = 20.0  # seconds, for stepping into everything
QUERIES = 40
STEPS = 300  # of each query


def debugging(folder: Path, quick: bool, setting: Setting) -> list[Finding]:
    return [*cycles(quick, setting), *single_steps(quick)]


def cycles(quick: bool, setting: Setting) -> list[Finding]:
    """Fig. 5. Stepping over path(11, Y) takes half of all tuples out, and in the next iteration puts them back: the
    worst that blacklists can do. Its yardstick is bottom-up evaluation."""
    findings = []
    tell("debug: X; seconds (reductions) of into only, over at path(11, Y); its longest step over; bottom-up; ready")
    into_too = True
    for size in (20, 50) if quick else (10, 50, 100, 150, 200, 400, 600, 800, 1000):
        edges = [(n, n + 1) for n in range(1, size)] + [(size, min(10, size))]
        bottom_up, ready, whole, longest = [], [], [], []
        for _ in range(setting.runs):
            session = whence.open(text=CYCLE)
            session.load(edge=edges)
            bottom_up.append(_seconds(session.run))
            debugger = session.debug("path(1, Y)")
            ready.append(_seconds(partial(debugger.machine.prepare, debugger.state)))
            started = time.perf_counter()
            longest.append(_over_at(debugger, 11))
            whole.append(time.perf_counter() - started)
        assert debugger.answer is not None
        assert len(debugger.answer) == size - 1
        line = f"debug: {size:>5}  "
        if into_too:
            alone = session.debug("path(1, Y)")
            taken = _seconds(partial(_into_all, alone))
            into_too = alone.done
            line += f"{taken:.3f} ({alone.state.steps:,})" if alone.done else f"given up after {GIVEN_UP:.0f} s"
        else:
            line += "-"
        shown = "  ".join(f"{min(taken):.3f}" for taken in (longest, bottom_up, ready))
        tell(f"{line}  {min(whole):.3f} ({debugger.state.steps:,})  {shown}")
        if size in (400, 1000):
            label = f"the longest step over in a cycle to {size:,}, with its blacklists, over bottom-up evaluation"
            ratio = min(longest) / min(bottom_up)
            findings.append(Finding(label, ratio, "×", "at most 1.5", ratio <= 1.5))
            label = f"all of the query, over at path(11, Y), in a cycle to {size:,}, over bottom-up evaluation"
            findings.append(Finding(label, min(whole) / min(bottom_up), "×", "", None))
    return findings


def _into_all(debugger: Debugger) -> None:
    end = time.perf_counter() + GIVEN_UP
    machine, state = debugger.machine, debugger.state
    while not state.done and (state.steps % 1000 or time.perf_counter() < end):
        state = machine.step(state)
    debugger.state = state


def _over_at(debugger: Debugger, node: int) -> float:
    """Into calls until the one of a node is next, and over from there on. Returns the longest step over."""
    machine, state = debugger.machine, debugger.state
    below = False
    longest = 0.0
    while not state.done:
        frame = state.frame
        if frame.current is not None and frame.current.atom is not None and frame.atom is None:
            below |= bool(len(frame.supplementary) and (frame.supplementary.rows == node).any())
        started = time.perf_counter()
        state = machine.step(state, below)
        if state.applied.startswith("A-Over"):
            longest = max(longest, time.perf_counter() - started)
    debugger.state = state
    return longest


def single_steps(quick: bool) -> list[Finding]:
    """Steps of queries picked at random on points-to: into every call, then into half of them and over the others."""
    session = whence.open(text=POINTS_TO)
    session.load(**source_program(200 if quick else 40_000))
    session.run()
    tuples = {name: len(session[name]) for name in session}
    tell(f"debug: points-to, {sum(tuples.values()):,} tuples, of which {tuples['vpt']:,} in vpt")
    rows = session.engine.tables.stored["vpt"].rows  # type: ignore[attr-defined]
    choose = random.Random(1)
    queries = [f"vpt({rows[choose.randrange(len(rows))][0]}, O)" for _ in range(4 if quick else QUERIES)]
    debugger = session.debug(queries[0])
    ready = _seconds(lambda: debugger.machine.prepare(debugger.state))
    tell(f"debug: getting ready to step over recursive calls: {ready:.2f} s, once for a debugger")
    findings = []
    into = _timed(session, debugger, queries, lambda: False)
    mixed = _timed(session, debugger, queries, lambda: choose.random() < 0.5)
    for rule, taken in sorted(into.items()):
        tell(f"debug: {rule:<16} {_spread(taken)}")
    steps = [seconds for taken in into.values() for seconds in taken]
    calls = into["A-Into"]
    over = [seconds for rule, taken in mixed.items() if rule.startswith("A-Over") for seconds in taken]
    tell(f"debug: all steps into    {_spread(steps)}")
    tell(f"debug: steps over        {_spread(over)}")
    for label, value, unit, most in [
        ("a step into, median of all reductions", 1000 * statistics.median(steps), "ms", 2),
        ("the same, of A-Into alone", 1000 * statistics.median(calls), "ms", 2),
        ("a step over a recursive call, median", 1000 * statistics.median(over), "ms", 10),
        ("the same, 99th percentile", 1000 * float(np.percentile(over, 99)), "ms", 100),
    ]:
        findings.append(Finding(f"points-to: {label}", value, unit, f"below {most}", value < most))
    return findings


def _timed(
    session: whence.Session, shared: Debugger, queries: list[str], over: Callable[[], bool]
) -> dict[str, list[float]]:
    """Seconds of each reduction, by its rule. The copy for recursive calls is that of one debugger."""
    found: dict[str, list[float]] = defaultdict(list)
    for query in queries:
        debugger = session.debug(query)
        machine, state = debugger.machine, debugger.state
        machine.blacklists = shared.machine.blacklists
        while not state.done and state.steps < STEPS:
            way = over()
            started = time.perf_counter()
            state = machine.step(state, way)
            found[state.applied].append(time.perf_counter() - started)
    return found


def _spread(taken: list[float]) -> str:
    middle, high = 1000 * statistics.median(taken), 1000 * float(np.percentile(taken, 99))
    return (
        f"{len(taken):>7,}  median {middle:.3f} ms, 99th percentile {high:.3f} ms, longest {1000 * max(taken):.1f} ms"
    )


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
