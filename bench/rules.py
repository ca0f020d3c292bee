"""A rule that comes to, and goes from, a program of a hundred rules and millions of tuples, beside a fresh run.

    python -m bench.rules [--quick] [--graphs N] [--clock cpu] [--json FILE]

<<<<<<< HEAD
Twenty modules of five rules each, over small graphs beside each other; each rule that is added derives more than the
one before. In the end the state has to be that of a fresh run, iterations and counts included, else the exit status
is 1.
=======
Twenty modules of five rules each, over small graphs beside each other; most rules that are added derive more than the
one before. In the end the state has to be that of a fresh run, iterations and counts included, else the exit status is
1.
>>>>>>> rules
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import whence
from bench.graphs import Facts
from bench.maintain_small import NODES, components
from bench.report import table

MODULES = 20
GRAPHS, QUICK = 6_400, 40  # of a module
MODULE = """\
.decl edge{k}(x: number, y: number)
.decl barred{k}(x: number)
.input edge{k}, barred{k}
.decl path{k}(x: number, y: number)
path{k}(x, y) :- edge{k}(x, y), !barred{k}(y).
path{k}(x, z) :- path{k}(x, y), edge{k}(y, z), !barred{k}(z).
.decl back{k}(x: number, y: number)
back{k}(x, y) :- path{k}(y, x).
.decl reach{k}(x: number, n: number)
reach{k}(x, n) :- edge{k}(x, _), n = count : {{ path{k}(x, _) }}.
connected(x, y) :- back{k}(x, y).
"""
CONNECTED = ".decl connected(x: number, y: number)\n.output connected\n"
ADDED = {
    "a lookup, new relation": ".decl near(y: number)\nnear(y) :- path3(5, y).",
    "into a recursion, 20 new edges": "path3(x, y) :- short(x, y).",
    "upper relation, edges of a module": "connected(x, y) :- edge4(x, y).",
    "new relation, a join": ".decl two(x: number, z: number)\ntwo(x, z) :- path6(x, y), path6(y, z).",
    "new relation, a negation": ".decl oneway(x: number, y: number)\noneway(x, y) :- path7(x, y), !back7(x, y).",
    "upper relation, a module both ways": "connected(x, y) :- path5(x, y).",
    "everything above two modules": "path8(x, y) :- path9(x, y).",
}


@dataclass(frozen=True)
class Row:
    """Seconds that adding a rule took, for the first time and again, and that taking it away took."""

    rule: str
    derived: int
    first: float
    again: float
    removed: float
    strategies: str


def text_and_facts(graphs: int) -> tuple[str, Facts]:
    facts: Facts = {"short": np.array([[i * NODES, i * NODES + 9] for i in range(20)], np.int64)}
    for k in range(MODULES):
        whole = components(graphs)
        facts |= {f"edge{k}": whole["edge"] + k, f"barred{k}": whole["barred"] + k}
    modules = "".join(MODULE.format(k=k) for k in range(MODULES))
    return CONNECTED + ".decl short(x: number, y: number)\n.input short\n" + modules, facts


CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


def opened(text: str, facts: Facts, clock: Callable[[], float]) -> tuple[whence.Session, float]:
    session = whence.open(text=text)
    session.load(**facts)
    started = clock()
    session.run()
    return session, clock() - started


def measured(session: whence.Session, clock: Callable[[], float]) -> Iterator[Row]:
    for name, text in ADDED.items():
        taken = []
        for _ in range(2):
            started = clock()
            impact = session.add_rule(text)
            taken.append(clock() - started)
            started = clock()
            session.remove_rule(text)
            taken.append(clock() - started)
        derived = sum(map(len, impact.inserted.values()))
        strategies = " ".join(dict.fromkeys(stratum.strategy for stratum in impact.strata))
        yield Row(name, derived, taken[0], taken[2], min(taken[1], taken[3]), strategies)


def differences(session: whence.Session, other: whence.Session) -> list[str]:
    """The relations that two sessions do not have alike."""
    found = []
    for name in session:
        one, two = (s[name].to_arrow(annotated=True) for s in (session, other))
        order = [(column, "ascending") for column in one.column_names]
        if not one.sort_by(order).equals(two.sort_by(order)):
            found.append(name)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="A rule added to and removed from a large program.")
    parser.add_argument("--quick", action="store_true", help="small data")
    parser.add_argument("--graphs", type=int, metavar="N", default=GRAPHS, help=f"of a module (default: {GRAPHS:,})")
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall", help="cpu: processor time, on a busy machine")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    clock = CLOCKS[options.clock]
    text, facts = text_and_facts(QUICK if options.quick else options.graphs)
    session, fresh = opened(text, facts, clock)
    state = sum(len(session[name]) for name in session)
    print(f"{len(session.program.rules)} rules, {state:,} tuples, a fresh run takes {fresh:.2f} s")
    rows = list(measured(session, clock))
    heads = ("rule added", "derived", "first ms", "again ms", "of a fresh run", "µs a tuple", "removed ms", "by")
    print(
        table(
            heads,
            [
                (
                    row.rule,
                    f"{row.derived:,}",
                    f"{1000 * row.first:.1f}",
                    f"{1000 * row.again:.1f}",
                    f"{100 * row.again / fresh:.2f}%",
                    f"{1e6 * row.again / max(1, row.derived):.2f}",
                    f"{1000 * row.removed:.1f}",
                    row.strategies,
                )
                for row in rows
            ],
        )
    )
    session.add_rule("\n".join(ADDED.values()))
    other, _ = opened(session.text[0], facts, clock)
    wrong = differences(session, other)
    if options.json:
        Path(options.json).write_text(json.dumps({"fresh": fresh, "tuples": state, "rules": [asdict(r) for r in rows]}))
    if wrong:
        print(f"these differ from a fresh run: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
