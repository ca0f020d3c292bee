"""The pipeline of `examples/supply`, by `spark-submit`, finds what a search of the graph in plain Python finds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pyarrow.parquet
import pytest

SUPPLY = Path(__file__).parent.parent / "examples" / "supply"
BIN = Path(sys.executable).parent
Exposed = dict[str, set[str]]  # by advisory: the packages that it reaches


@pytest.mark.xdist_group("spark")
def test_the_pipeline_by_spark_submit(tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    run(sys.executable, SUPPLY / "generate.py", source, "--packages", 1500)
    said = run(BIN / "spark-submit", "--master", "local[2]", SUPPLY / "pipeline.py", source, target)
    expected = Ecosystem(source)
    package, freed = expected.best_upgrade()
    assert freed, "the data should have an upgrade that frees something"
    assert f"Upgrading {package} frees {len(freed):,} applications" in said
    owned = Counter(expected.teams[name] for name in expected.affected)
    of_those = Counter(expected.teams[name] for name in freed)
    wanted = {team: (owned[team], of_those[team]) for team in owned}
    assert {row["team"]: (row["affected"], row["freed"]) for row in rows(target / "teams.parquet")} == wanted


def test_the_program_in_process(tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    run(sys.executable, SUPPLY / "generate.py", source, "--packages", 1500)
    run(BIN / "whence", "run", SUPPLY / "supply.dl", "-F", source, "-D", target, "--engine", "local")
    expected = Ecosystem(source)
    affected = {(row["application"], row["advisory"]) for row in rows(target / "affected.parquet")}
    assert affected == {(p, a) for a, reached in expected.exposed.items() for p in reached & expected.teams.keys()}
    frees: dict[str, set[str]] = defaultdict(set)
    for row in rows(target / "frees.parquet"):
        frees[row["upgrade"]].add(row["application"])
    upgrades = {row["package"]: row["frees"] for row in rows(target / "upgrade.parquet")}
    assert upgrades == {package: len(expected.freed_by(package)) for package in expected.candidates()}
    assert frees == {package: freed for package in upgrades if (freed := expected.freed_by(package))}


class Ecosystem:
    """The generated input, searched breadth first, once for each advisory."""

    def __init__(self, folder: Path) -> None:
        self.teams = {row["application"]: row["team"] for row in rows(folder / "application.parquet")}
        self.advisories = [(row["package"], row["advisory"]) for row in rows(folder / "advisory.parquet")]
        self.stopped = {(row["package"], row["advisory"]) for row in rows(folder / "not_affected.parquet")}
        self.users: dict[str, set[str]] = defaultdict(set)
        for row in rows(folder / "depends.parquet"):
            self.users[row["on"]].add(row["package"])
        self.exposed = self.search()
        self.affected = set().union(*self.exposed.values()) & self.teams.keys()

    def search(self, upgraded: str | None = None) -> Exposed:
        return {advisory: self._reached(package, advisory, upgraded) for package, advisory in self.advisories}

    def _reached(self, package: str, advisory: str, upgraded: str | None) -> set[str]:
        found: set[str] = set()
        wave = {package}
        while wave:
            wave = {p for p in wave if p != upgraded and (p, advisory) not in self.stopped} - found
            found |= wave
            wave = {user for p in wave for user in self.users[p]}
        return found

    def candidates(self) -> set[str]:
        enough = len(self.teams) / 20
        widespread = {p for p, a in self.advisories if len(self.exposed[a] & self.teams.keys()) >= enough}
        exposed = set().union(*self.exposed.values())
        pulling = {user for package in widespread for user in self.users[package] & exposed}
        return widespread | {package for package in pulling if len(self.users[package]) >= 20}

    def freed_by(self, upgraded: str) -> set[str]:
        return self.affected - set().union(*self.search(upgraded).values())

    def best_upgrade(self) -> tuple[str, set[str]]:
        freed = {package: self.freed_by(package) for package in sorted(self.candidates())}
        return max(freed.items(), key=lambda item: len(item[1]))


def rows(path: Path) -> list[dict[str, str]]:
    return pyarrow.parquet.read_table(path).to_pylist()


def run(*command: object) -> str:
    path = os.pathsep.join([str(BIN), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYSPARK_PYTHON": sys.executable}
    ran = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, f"{command[0]}: {ran.stdout}{ran.stderr}"
    return ran.stdout
