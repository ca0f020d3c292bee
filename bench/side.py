"""One run of one engine, in a process of its own so that its peak memory is its own.

    python -m bench.side whence closure INPUT path

INPUT is a folder with a NumPy file for every input relation. Prints one line of JSON: seconds, bytes, and the size and
a checksum of every result.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from bench.graphs import Facts, Table

THREADS = 2


def peak_memory() -> int:
    """The most memory this process ever held, in bytes.

    Not from getrusage: its maximum starts at what the process that forked this one held.
    """
    status = Path("/proc/self/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found, "the kernel does not say VmHWM"
    return int(found[1]) * 1024


def checksum(blocks: Iterable[Table]) -> int:
    """A number that differs when the sets of tuples differ, whatever the order of the tuples."""
    total = 0
    for block in blocks:
        mixed = np.zeros(len(block), np.uint64)
        for word in np.ascontiguousarray(block.T).view(np.uint64):
            mixed = (mixed ^ word) * np.uint64(0x9E3779B97F4A7C15)
            mixed = mixed ^ (mixed >> np.uint64(29))
        total += int(mixed.sum(dtype=np.uint64))
    return total % (1 << 64)


def in_blocks(rows: Iterable[tuple[int, ...]]) -> Iterator[Table]:
    rows = iter(rows)
    while block := list(islice(rows, 1 << 18)):
        yield np.array(block, np.int64)


Report = dict[str, object]


def run_whence(program: str, facts: Facts, outputs: list[str], counts: bool, check: bool) -> Report:
    import whence
    from bench.workloads import PROGRAMS

    session = whence.open(PROGRAMS / f"{program}.dl", engine="local", counts=counts)
    started = time.perf_counter()
    session.load(**facts)
    loaded, worked = time.perf_counter(), time.process_time()
    session.run()
    finished = time.perf_counter()
    return {
        "load": loaded - started,
        "run": finished - loaded,
        "cpu": time.process_time() - worked,
        "peak": peak_memory(),
        "nbytes": {name: session[name].nbytes for name in outputs},
        "sizes": {name: len(session[name]) for name in outputs},
        "checksums": {name: checksum(in_blocks(session[name])) for name in outputs if check},
    }


def run_duckdb(program: str, facts: Facts, outputs: list[str], check: bool) -> Report:
    from bench import duck

    started = time.perf_counter()
    connection = duck.connect(facts, THREADS)
    loaded, worked = time.perf_counter(), time.process_time()
    duck.PROGRAMS[program](connection)
    finished = time.perf_counter()
    return {
        "load": loaded - started,
        "run": finished - loaded,
        "cpu": time.process_time() - worked,
        "peak": peak_memory(),
        "nbytes": {},
        "sizes": {name: duck.size(connection, name) for name in outputs},
        "checksums": {name: checksum([duck.read(connection, name)]) for name in outputs if check},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=["whence", "duckdb"])
    parser.add_argument("program")
    parser.add_argument("input", type=Path)
    parser.add_argument("outputs", nargs="+")
    parser.add_argument("--no-counts", action="store_true", help="Whence without numbers of derivations")
    parser.add_argument("--no-checksum", action="store_true", help="only the sizes of the results")
    arguments = parser.parse_args()
    facts = {file.stem: np.load(file) for file in sorted(arguments.input.glob("*.npy"))}
    check = not arguments.no_checksum
    if arguments.engine == "whence":
        report = run_whence(arguments.program, facts, arguments.outputs, not arguments.no_counts, check)
    else:
        report = run_duckdb(arguments.program, facts, arguments.outputs, check)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
