"""Writes the input of `supply.dl`: an invented ecosystem of packages, as Parquet, the same every time.

    python generate.py FOLDER [--packages 30000]

Libraries depend on older libraries, popular ones more often; a few old ones depend on new ones, which makes circles.
Applications depend on libraries, and nothing depends on them.
"""

from __future__ import annotations

import argparse
import itertools
import random
from collections import Counter
from pathlib import Path

import pyarrow
import pyarrow.parquet

FIRST, SECOND, THIRD, SERVICES, PARTS, TEAMS = (
    line.split()
    for line in (
        "async core deep easy fast flat lazy lean live mini mono neat next open plain pure rapid safe slim tiny",
        "auth bytes cache color config date event file form graph html http image json lock log mail math path pool "
        "proxy query queue route rpc schema shell socket spec stream table task text time token tree",
        "kit lib plus client parser utils tools server wrap base stack plugin bridge codec driver engine hub",
        "billing cart catalog chat checkout claims crm fleet fraud ledger orders payroll pricing returns search",
        "admin api app batch feed gateway portal worker",
        "Atlas Borealis Cobalt Delta Ember Fjord Garnet Harbor",
    )
)


def libraries(count: int, chance: random.Random) -> list[str]:
    short = [f"{a}-{b}" for a in FIRST for b in SECOND]
    long = [f"{name}-{c}" for name in short for c in THIRD]
    chance.shuffle(short)
    chance.shuffle(long)
    again = (f"{name}{number}" for number in itertools.count(2) for name in long)
    return list(itertools.islice(itertools.chain(short, long, again), count))


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes the packages of an invented ecosystem as Parquet.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--packages", type=int, default=30_000, metavar="N", help="a third are applications")
    options = parser.parse_args()
    if options.packages < 1000:
        parser.error("--packages: an ecosystem has at least 1000")
    chance = random.Random(1)
    names = libraries(2 * options.packages // 3, chance)
    applications = [
        (f"{chance.choice(SERVICES)}-{chance.choice(PARTS)}-{i}", chance.choice(TEAMS))
        for i in range(options.packages - len(names))
    ]

    depends = dependencies(names, [name for name, _ in applications], chance)
    popular = Counter(on for _, on in depends)
    ranked = sorted(names, key=lambda name: (-popular[name], name))
    vulnerable = sorted(chance.sample(ranked[len(ranked) // 4 :], 24))
    # What makes it hard: some libraries that are popular, and have no advisory, pull in several that have one.
    for library in chance.sample(ranked[len(ranked) // 200 : len(ranked) // 40], 8):
        depends |= {(library, on) for on in chance.sample(vulnerable, 3)}
    advisory = [(package, f"ADV-{2024 + i % 2}-{1000 + 37 * i}") for i, package in enumerate(vulnerable)]
    stated = {(package, a) for _, a in advisory for package in chance.sample(ranked, len(ranked) // 6)}
    stated -= set(advisory)

    options.folder.mkdir(parents=True, exist_ok=True)
    write(options.folder / "depends.parquet", ["package", "on"], sorted(depends))
    write(options.folder / "application.parquet", ["application", "team"], applications)
    write(options.folder / "advisory.parquet", ["package", "advisory"], advisory)
    write(options.folder / "not_affected.parquet", ["package", "advisory"], sorted(stated))


def dependencies(names: list[str], applications: list[str], chance: random.Random) -> set[tuple[str, str]]:
    depends: set[tuple[str, str]] = set()
    drawn = [0]  # a library once for itself and once for all that depend on it: the popular become more so
    for i in range(1, len(names)):
        for _ in range(chance.randrange(5)):
            on = chance.choice(drawn) if chance.random() < 0.6 else chance.randrange(i)
            depends.add((names[i], names[on]))
            drawn.append(on)
        drawn.append(i)
    for _ in range(len(names) // 500):
        old, new = sorted(chance.sample(range(len(names)), 2))
        depends.add((names[old], names[new]))
    for name in applications:
        for _ in range(chance.randrange(2, 13)):
            depends.add((name, names[chance.choice(drawn)]))
    return depends


def write(path: Path, columns: list[str], rows: list[tuple[str, str]]) -> None:
    table = pyarrow.table(dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True)))
    pyarrow.parquet.write_table(table, path)
    print(f"{len(rows):>9,} rows  {path}")


if __name__ == "__main__":
    main()
