"""The benchmarks run, on inputs of a moment, and both engines agree on every result."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from bench import maintain_runs
from bench.changes import History, elastic_workload
from bench.maintain_runs import Followed, Way

ROOT = Path(__file__).parent.parent


def bench(*arguments: str | Path, module: str = "run") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"bench.{module}", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_whence_and_duckdb_agree(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    ran = bench("dense", "pointsto", "--quick", "--sizes", "100", "--json", tmp_path / "figures.json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert [found["workload"] for found in figures["measurements"]] == ["dense", "pointsto"]
    for found in figures["measurements"]:
        for said in ("sizes", "checksums"):
            assert found["whence"][said] == found["duckdb"][said], found["workload"]
    assert figures["measurements"][0]["whence"]["sizes"] == {"path": 10_000}


def test_both_forms_of_the_editing_trace_agree(tmp_path: Path) -> None:
    """The text is 9, its child 7, then (5, 1), (5, 0) and 3; (5, 1) is removed, which leaves three steps."""
    (tmp_path / "crdt").mkdir()
    (tmp_path / "crdt" / "insert.txt").write_text("3 0 0 0\n5 0 0 0\n5 1 0 0\n9 0 0 0\n7 0 9 0\n")
    (tmp_path / "crdt" / "remove.txt").write_text("5 1\n")
    ran = bench(
        *("crdt-negation", "crdt-aggregates", "--sizes", "5", "--runs", "1", "--engine", "whence"),
        *("--data", tmp_path, "--json", tmp_path / "figures.json"),
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    negation, aggregates = json.loads((tmp_path / "figures.json").read_text())["measurements"]
    assert negation["whence"]["sizes"] == {"next_visible": 3}
    assert negation["whence"]["checksums"] == aggregates["whence"]["checksums"]


def test_missing_data_is_skipped_with_a_sentence(tmp_path: Path) -> None:
    ran = bench("rdfs", "--quick", "--engine", "whence", "--data", tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "rdfs is skipped" in ran.stderr
    assert "--data" in ran.stderr


def test_an_unknown_benchmark_is_named() -> None:
    ran = bench("desne")
    assert ran.returncode == 2
    assert "desne" in ran.stderr
    assert "dense" in ran.stderr


def test_every_strategy_ends_as_evaluating_the_last_input_does(tmp_path: Path) -> None:
    """Thirteen epochs; the exit status says whether tuples, iterations and counts agree at the end."""
    ran = bench("elastic", "pointsto", "--quick", "--json", tmp_path / "figures.json", module="maintain")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found = json.loads((tmp_path / "figures.json").read_text())["elastic"]["figures"]["pointsto"]
    assert list(found) == ["elastic", "update", "dense", "bootstrap"]
    for strategy, followed in found.items():
        assert len(followed["seconds"]) == 13, strategy
        assert followed["checksums"] == found["elastic"]["checksums"], strategy
    assert {told["strategy"] for told in found["update"]["epochs"][1:]} == {"update"}
    assert {told["strategy"] for told in found["dense"]["epochs"][1:]} == {"dense"}


def test_a_history_of_changes_fits_its_input() -> None:
    """Every deletion is of tuples that are there, every insertion of tuples that are not, also when they come again."""
    edges = np.array([[x, y] for x in range(40) for y in range(5)])
    facts = {"edge": edges, "node": np.arange(40).reshape(-1, 1)}
    for history in (elastic_workload(facts, 4, 30, seed=1), elastic_workload(facts, 4, 30, seed=1, again=True)):
        now = {name: set(map(tuple, rows.tolist())) for name, rows in history.first.items()}
        sizes = []
        for change in history.changes:
            sizes.append(len(change))
            for name, rows in change.delete.items():
                gone = set(map(tuple, rows.tolist()))
                assert gone <= now[name]
                now[name] -= gone
            for name, rows in change.insert.items():
                come = set(map(tuple, rows.tolist()))
                assert not come & now[name]
                now[name] |= come
        assert sizes == [4] * 6 + [30] + [4] * 4 + [30]
        assert now == {name: set(map(tuple, rows.tolist())) for name, rows in history.last.items()}


def test_a_strategy_that_ends_elsewhere_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def follow(strategy: str, program: str, folder: Path, way: Way) -> Followed:
        return Followed(strategy, (1.0,), ({},), 1, 1, 1, 1, 1, {"path": 3}, {"path": 7 if strategy == "dense" else 8})

    monkeypatch.setattr(maintain_runs, "follow", follow)
    problems: list[str] = []
    history = History({"edge": np.array([[1, 2]])}, ())
    maintain_runs.compare("chain", "closure", history, ["update", "dense"], Way(tmp_path, tmp_path), problems)
    assert problems == ["chain: dense leaves path with other tuples, iterations or counts"]


def test_rules_that_come_and_go_leave_the_state_of_a_fresh_run() -> None:
    ran = bench("--quick", module="rules")
    assert ran.returncode == 0, ran.stderr
    assert "100 rules" in ran.stdout


def test_the_circuit_engine_agrees_with_the_local_one(tmp_path: Path) -> None:
    """A tiny ontology: a transitive property, an intersection, a restriction, an inverse."""
    (tmp_path / "lubm").mkdir()
    ontology = ["50 4 33", "51 4 33", "52 4 33", "53 4 35", "60 4 11", "61 4 32", "62 4 32", "51 0 50", "61 2 50"]
    ontology += ["53 15 50", "53 20 60", "52 17 70", "70 7 51", "70 6 71", "71 7 53", "71 6 9", "62 12 61", "61 1 60"]
    (tmp_path / "lubm" / "lubm1tbox.ntenc").write_text("".join(f"{triple}\n" for triple in ontology))
    facts = [f"{i} 4 51\n{i} 60 {i + 1}\n{i} 61 {i + 2}\n" for i in range(200, 240)]
    (tmp_path / "lubm" / "lubm1abox.ntenc").write_text("".join(facts))
    ran = bench("owl", "--quick", "--data", tmp_path, "--without", "dense", "--without", "unindexed", module="circuit")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "10 rules" in ran.stdout
    assert [line.split()[3] for line in ran.stdout.splitlines() if "%" in line] == ["circuit", "elastic"] * 2


@pytest.mark.slow
def test_repairs_are_never_larger_than_what_delta_debugging_finds() -> None:
    ran = bench("--quick", module="repair")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "larger in 0" in ran.stdout
