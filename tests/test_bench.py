"""The benchmarks run, on inputs of a moment, and both engines agree on every result."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def bench(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench.run", *arguments]
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
