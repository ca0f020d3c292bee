"""Measuring: each run a fresh process, the best of several, every result kept for comparison."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from bench.graphs import Facts
from bench.side import THREADS

Engine = Literal["whence", "duckdb"]
ROOT = Path(__file__).parent.parent


class Failed(Exception):
    """A run that did not end well; the message says how."""


@dataclass(frozen=True)
class Run:
    """One engine on one input: seconds (`cpu`: of all threads, while it ran), bytes, and what each output came to."""

    load: float
    run: float
    cpu: float
    peak: int
    sizes: dict[str, int]
    checksums: dict[str, int]
    nbytes: dict[str, int]


@dataclass(frozen=True)
class Setting:
    """How to measure: how often, and when to give up on a run."""

    runs: int = 3
    limit: float = 600


def tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def environment() -> dict[str, str]:
    """Of a run: what is measured is the checkout that the benchmarks are in, whatever else is installed."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return os.environ | {"NUMBA_NUM_THREADS": str(THREADS), "PYTHONPATH": path}


def timed(command: Sequence[str | Path], limit: float) -> tuple[float, str]:
    """The wall time of a command and what it printed."""
    started = time.perf_counter()
    try:
        ran = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        raise Failed(f"not done after {limit:.0f} s") from None
    seconds = time.perf_counter() - started
    if ran.returncode:
        last = ran.stderr.strip().splitlines()[-1:] or ["no message"]
        raise Failed(f"ended with status {ran.returncode}: {last[0]}")
    return seconds, ran.stdout


def write_input(facts: Facts, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in facts.items():
        np.save(folder / f"{name}.npy", table)


def once(engine: Engine, program: str, folder: Path, outputs: tuple[str, ...], limit: float, *options: str) -> Run:
    command: list[str | Path] = [sys.executable, "-m", "bench.side", engine, program, folder, *outputs, *options]
    _, printed = timed(command, limit)
    return Run(**json.loads(printed))


def best(engine: Engine, program: str, folder: Path, outputs: tuple[str, ...], setting: Setting) -> Run:
    """The fastest of several runs, which must all give the same results. Checksums are taken of the first."""
    first = once(engine, program, folder, outputs, setting.limit)
    runs = [first]
    for _ in range(setting.runs - 1):
        runs.append(once(engine, program, folder, outputs, setting.limit, "--no-checksum"))
        if runs[-1].sizes != first.sizes:
            raise Failed("two runs on one input gave different results")
    return replace(min(runs, key=lambda run: run.run), checksums=first.checksums)
