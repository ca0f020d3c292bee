"""Times repairs beside delta debugging, in the setting of 002, section 6.5: points-to, 50 tuples in and 50 out.

python -m bench.repair                          28 cases on a state of millions of tuples; some minutes
python -m bench.repair --methods 16000 --changes 3
python -m bench.repair --quick                  four on a tiny input, to see that it runs

For each change there are four sets of 3 to 10 faults, picked at random from what came and what went. Delta debugging
(002, Alg. 3) asks the same incremental engine, by an Update of the whole program that is given up again; it knows
nothing of the rules. Both look for what to leave out of the change; what they find is checked.
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
from bench.changes import Parts, held_back
from bench.run import machine
from bench.source_programs import source_program
from whence.changes import tuple_text
from whence.maintain import Impact
from whence.repair.trial import Laboratory, Wishes, delta_debugging

PROGRAM = Path(__file__).parent / "programs" / "pointsto.dl"
DERIVED = ("vpt", "alias", "safevar")
KINDS = ("unwanted", "missing", "both", "both")
AIM = 27.0
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


@dataclass(frozen=True)
class Case:
    change: int
    unwanted: int
    missing: int
    size: int
    smallest: bool
    seconds: float
    updates: int
    localisation: int
    localising: float
    debugged: int
    tests: int
    debugging: float

    @property
    def faster(self) -> float:
        return self.debugging / self.seconds


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", type=int, default=8_000, help="size of the analysed program (8000)")
    parser.add_argument("--changes", type=int, default=7, help="random changes, four cases each (7)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall", help="cpu on a machine that is busy")
    parser.add_argument("--quick", action="store_true", help="a tiny input, one change")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure here as well")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    about = machine()
    print(", ".join(f"{name} {value}" for name, value in about.items()), flush=True)
    methods, changes = (40, 1) if options.quick else (options.methods, options.changes)
    cases = list(measured(methods, changes, options.seed, CLOCKS[options.clock]))
    print("\n".join(table(cases)))
    if options.json:
        found = {
            "machine": about,
            "clock": options.clock,
            "methods": methods,
            "cases": [asdict(case) for case in cases],
        }
        options.json.write_text(json.dumps(found, indent=1))
    return 0 if all(case.size <= case.debugged for case in cases) else 1


def measured(methods: int, changes: int, seed: int, clock: Callable[[], float]) -> Iterator[Case]:
    facts = source_program(methods)
    parts = Parts(facts, seed)
    pairs = [(parts.take(50), parts.take(50)) for _ in range(changes)]
    session = whence.open(PROGRAM)
    session.load(**held_back(facts, [inserted for inserted, _ in pairs]))
    session.run()
    tell(f"{sum(len(session[name]) for name in session):,} tuples")
    random = np.random.default_rng(seed)
    for number, (inserted, deleted) in enumerate(pairs, 1):
        impact = session.update(insert=inserted, delete=deleted)
        if number == 1:  # what is loaded or arranged once is not counted
            session.repair(*faults(session, impact, "both", random))
        for kind in KINDS:
            case = compared(session, *faults(session, impact, kind, random), number, clock)
            if case is not None:
                tell(f"{case}")
                yield case
        session.undo()


def faults(
    session: whence.Session, impact: Impact, kind: str, random: np.random.Generator
) -> tuple[list[str], list[str]]:
    """3 to 10 tuples of the derived relations that came or went, or as many as there are."""
    count = int(random.integers(3, 11))
    unwanted: list[str] = []
    missing: list[str] = []
    for i in range(count):
        came = kind == "unwanted" or (kind == "both" and i % 2 == 0)
        side = impact.inserted if came else impact.deleted
        names = [name for name in DERIVED if len(side.get(name, ()))]
        if names:
            name = names[int(random.integers(len(names)))]
            rows = list(side[name])
            text = tuple_text(session.program.relations[name], rows[int(random.integers(len(rows)))], {})
            (unwanted if came else missing).append(text)
    return list(dict.fromkeys(unwanted)), list(dict.fromkeys(missing))


def compared(
    session: whence.Session, unwanted: list[str], missing: list[str], change: int, clock: Callable[[], float]
) -> Case | None:
    if not unwanted and not missing:
        return None
    started = clock()
    repair = session.repair(unwanted, missing)
    found = clock()
    laboratory = repair.laboratory
    updates = laboratory.tried
    localisation = repair.localisation
    localised = clock()
    wishes = Wishes(frozenset(repair.faults.unwanted), frozenset(repair.faults.missing))
    blind = Laboratory(laboratory.epochs, laboratory.controller)
    began = clock()
    debugged = delta_debugging(blind.epochs.parts, lambda parts: blind.holds_without(frozenset(parts), wishes))
    ended = clock()
    assert blind.holds_without(repair.suggestion.parts, wishes)
    return Case(
        change,
        len(unwanted),
        len(missing),
        len(repair.suggestion),
        repair.suggestion.smallest,
        found - started,
        updates,
        len(localisation),
        localised - found,
        len(debugged),
        blind.tried - 1,
        ended - began,
    )


def table(cases: list[Case]) -> Iterator[str]:
    titles = "change unwanted missing size updates ms localised ms debugged tests s faster"
    yield "\n| " + " | ".join(titles.split()) + " |"
    yield "|" + " ---: |" * len(titles.split())
    for one in cases:
        row = [one.change, one.unwanted, one.missing, f"{one.size}{'' if one.smallest else '?'}", one.updates]
        row += [f"{1000 * one.seconds:.0f}", one.localisation, f"{1000 * one.localising:.0f}"]
        row += [one.debugged, one.tests, f"{one.debugging:.2f}", f"{one.faster:.1f}"]
        yield "| " + " | ".join(map(str, row)) + " |"
    faster = [case.faster for case in cases]
    mean = float(np.exp(np.mean(np.log(faster))))
    smaller, larger = (sum(sign * (case.debugged - case.size) > 0 for case in cases) for sign in (1, -1))
    yield (
        f"\n{len(cases)} cases: geometric mean {mean:.1f} times as fast (aim {AIM}), at least {min(faster):.1f}, "
        f"at most {max(faster):.1f}; smaller in {smaller}, larger in {larger}; "
        f"proved smallest in {sum(case.smallest for case in cases)}"
    )


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
