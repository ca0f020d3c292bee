"""One contestant through one history, in a process of its own so that its peak memory is its own.

    python -m bench.circuit_side circuit PROGRAM.dl FOLDER

FOLDER has a NumPy file for each relation, `first.…` what is materialised and `rest.…` what is added and removed again.
Prints one line of JSON: seconds and processor seconds of each step, bytes, and the size and a checksum of all
relations after each.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

import whence
from bench.graphs import Facts
from bench.maintain_side import Clock, Memory
from bench.side import checksum
from whence.engines.circuit.engine import CircuitEngine
from whence.lang import load

CONTESTANTS = ("circuit", "unindexed", "elastic", "dense")


def opened(contestant: str, program: Path) -> whence.Session:
    if contestant == "unindexed":
        compiled = load(program)
        return whence.Session(compiled, CircuitEngine(compiled, lambda message: None, None, indexed=False))
    if contestant == "circuit":
        return whence.open(program, engine="circuit")
    return whence.open(program, strategy=contestant)


def follow(contestant: str, program: Path, folder: Path, check: bool) -> dict[str, Any]:
    _warm(contestant, program)
    session = opened(contestant, program)
    first, rest = facts(folder, "first"), facts(folder, "rest")
    memory = Memory()
    session.load(**first)
    clock, states = Clock(), []
    steps = [session.run, lambda: session.update(insert=rest), lambda: session.update(delete=rest)]
    for step in steps if rest else steps[:1]:
        clock.start()
        step()
        clock.lap()
        if check:
            states.append({name: summed(session, name) for name in session})
    return {"seconds": clock.seconds, "cpu": clock.cpu, "peak": memory.peak(), "states": states}


def _warm(contestant: str, program: Path) -> None:
    """What a process does once, such as loading the kernel, is not measured."""
    session = opened(contestant, program)
    session.run()


def summed(session: whence.Session, name: str) -> tuple[int, int]:
    tables = session.engine.tables
    return len(session[name]), checksum(rows for rows, _, _ in tables.encoded(name))


def facts(folder: Path, part: str) -> Facts:
    return {path.name.split(".")[1]: np.load(path) for path in sorted(folder.glob(f"{part}.*.npy"))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contestant", choices=CONTESTANTS)
    parser.add_argument("program", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--no-check", action="store_true")
    arguments = parser.parse_args()
    print(json.dumps(follow(arguments.contestant, arguments.program, arguments.folder, not arguments.no_check)))


if __name__ == "__main__":
    main()
