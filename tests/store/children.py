"""Processes that change a store until they are killed. What an epoch holds follows from its number."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from whence.store import Store, Writer

How = Literal["write", "adopt"]
PROGRAM = """
.decl large(x: number, y: symbol)
.decl other(x: float)
.decl grown(x: number)
.decl same(x: number)
.decl flag()
"""
GROWN = 1000

processes = multiprocessing.get_context("forkserver")
# So that it takes little time to start one; Arrow would import pandas too.
processes.set_forkserver_preload(["pandas", "pyarrow.dataset", "pyarrow.parquet", "pytest", "whence.store"])


def annotated(**columns: Any) -> pa.Table:
    rows = len(next(iter(columns.values()), [None]))
    return pa.table({**columns, "iteration": pa.array(np.ones(rows, np.int32)), "count": np.ones(rows, np.int64)})


def contents(number: int, rows: int) -> dict[str, pa.Table]:
    """What is in an epoch; `rows` is the size of its large relation."""
    numbers = np.arange(number, number + rows)
    symbols = pa.array([f"symbol {number} {place}" for place in range(50)])
    return {
        "large": annotated(x=numbers * 7919, y=symbols.take(pa.array(numbers % 50))),
        "other": annotated(x=numbers[: rows // 4] / 3),
        "grown": annotated(x=np.arange(number, number + GROWN)),
        "same": annotated(x=np.arange(10)),
        "flag": annotated()[: (number + 1) % 2],
    }


def write_epoch(store: Store, how: How, rows: int) -> None:
    """The next epoch: some relations written whole or adopted, some changed or kept."""
    with store.commit(None if store.numbers else PROGRAM) as writer:
        tables = contents(writer.number, rows)
        put_whole(writer, how, "large", tables["large"], None)
        put_whole(writer, how, "other", tables["other"], store.root.with_name("elsewhere"))
        writer.write("flag", tables["flag"])
        if writer.parent is None:
            writer.write("grown", tables["grown"])
            writer.write("same", tables["same"])
        else:
            changed = writer.number - writer.parent.number
            before = contents(writer.parent.number, 0)["grown"]
            writer.change("grown", tables["grown"][-changed:], before[:changed])
            writer.keep_others()


def put_whole(writer: Writer, how: How, relation: str, table: pa.Table, folder: Path | None) -> None:
    if how == "write":
        writer.write(relation, table)
        return
    target = writer.staging(relation) if folder is None else folder
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    part = len(table) // 3 + 1
    for place, start in enumerate(range(0, len(table), part)):
        pq.write_table(table[start : start + part], target / f"part-{place}.snappy.parquet")
    writer.adopt(relation, folder)


def commit_forever(root: Path, how: How, rows: int, reports: Connection) -> None:
    store = Store.open(root)
    while True:
        write_epoch(store, how, rows)
        reports.send(store.latest.number)


# What Python does to files; the Parquet files themselves are written by other means, between two of these.
STEPS = frozenset(["open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "shutil.move"])


def end_at_step(act: Callable[[Path], None], root: Path, step: int) -> None:
    """Kills itself as it is about to take a step."""
    seen = 0

    def count(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal seen
        if event in STEPS and (event != "open" or str(arguments[0]).startswith(str(root))):
            seen += 1
            if seen == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    act(root)


def create(root: Path) -> None:
    Store.create(root)


def commit(root: Path) -> None:
    write_epoch(Store.open(root), "write", 10)


def adopt(root: Path) -> None:
    write_epoch(Store.open(root), "adopt", 10)


def undo(root: Path) -> None:
    Store.open(root).undo()


def vacuum(root: Path) -> None:
    Store.open(root).vacuum()
