"""Rows that do not fit: the first of them as an error, or all of them in a file of their own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from whence.engines.local.forms import RowError
from whence.engines.local.reading import FactsError
from whence.errors import WhenceError

from .sifting import BLOCK, COLUMN, FILE, HINT, MESSAGE, ROW, ROWS, TEXT

Offsets = dict[tuple[str, int], int]  # by file and block: the rows of the file before it


@dataclass(frozen=True)
class Naming:
    """How rows of a source are called: the name of a file, `line` or `row`, and how many stand before the first."""

    file: Callable[[str], str]
    unit: str
    before: int = 0


def first_error(found: DataFrame, naming: Naming) -> FactsError:
    """The first row that is wrong, by file and place in it."""
    rows = found.collect()
    offsets = _offsets((row[FILE], row[BLOCK], row[ROWS]) for row in rows if row[ROWS] is not None)
    wrong = [row for row in rows if row[ROWS] is None]
    if not wrong:
        return FactsError(naming.file(""), 0, 0, "rows that were wrong are right now: it changed while it was read")
    first = min(wrong, key=lambda row: (row[FILE], offsets[row[FILE], row[BLOCK]] + row[ROW]))
    place = offsets[first[FILE], first[BLOCK]] + first[ROW] + 1 + naming.before
    name = naming.file(first[FILE])
    if naming.unit == "line":
        return FactsError(name, place, first[COLUMN], first[MESSAGE], first[HINT])
    return RowError(name, place, first[MESSAGE], first[HINT])


def write_quarantine(found: DataFrame, naming: Naming, path: Path, append: bool) -> None:
    """All rows that are wrong, as JSON lines: file, line or row, text or values, reason. A file is replaced at once."""
    found = found.persist()
    try:
        counts = found.where(F.col(ROWS).isNotNull()).groupBy(FILE, BLOCK).agg(F.sum(ROWS).alias(ROWS)).collect()
        offsets = _offsets((row[FILE], row[BLOCK], row[ROWS]) for row in counts)
        wrong = found.where(F.col(ROWS).isNull()).orderBy(FILE, BLOCK, ROW)
        unfinished = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(unfinished, "w", encoding="utf-8") as stream:
                if append and path.exists():
                    stream.write(path.read_text(encoding="utf-8"))
                for row in wrong.toLocalIterator():
                    place = offsets[row[FILE], row[BLOCK]] + row[ROW] + 1 + naming.before
                    stream.write(json.dumps(_entry(row, place, naming), ensure_ascii=False) + "\n")
            os.replace(unfinished, path)
        except OSError as error:
            raise WhenceError(f"{path}: bad rows cannot be written there: {error.strerror or error}") from None
        finally:
            unfinished.unlink(missing_ok=True)
    finally:
        found.unpersist()


def no_quarantine(path: Path) -> None:
    """Nothing is wrong this time: what an earlier run left would mislead."""
    path.unlink(missing_ok=True)


def _entry(row: Any, place: int, naming: Naming) -> dict[str, Any]:
    given = ("text", row[TEXT]) if naming.unit == "line" else ("values", json.loads(row[TEXT]))
    return {
        "file": naming.file(row[FILE]),
        naming.unit: place,
        given[0]: given[1],
        "reason": row[MESSAGE],
    }


def _offsets(counted: Any) -> Offsets:
    totals: Offsets = {}
    for file, block, rows in counted:
        totals[file, block] = totals.get((file, block), 0) + rows
    offsets: Offsets = {}
    before: dict[str, int] = {}
    for file, block in sorted(totals):
        offsets[file, block] = before.get(file, 0)
        before[file] = offsets[file, block] + totals[file, block]
    return offsets
