"""Parquet and JSON lines in process: single files, or the folders of them that Spark writes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow
import pyarrow.parquet

from whence.lang.program import Directive, Relation

from .arrow import columns_of, rows_of, schema
from .facts import _opened
from .fitting import NATURAL, sieve_columns
from .forms import RowError, filename_of, form_of, matched
from .json_lines import sieve_json
from .reading import BYTE_ORDER_MARK, FactsError
from .sieve import Sieved
from .table import Words
from .tables import LocalTables

BATCH = 1 << 16  # rows that are checked at once
HOLDS = "holds"  # the column of a relation without columns, as Parquet has no tuple without


def read_format(directive: Directive, folder: Path, tables: LocalTables) -> tuple[Words, int]:
    """The rows of a file or a folder of files, encoded, one after the other, and how many they are."""
    relation = tables.program.relations[directive.relation]
    path = folder / filename_of(directive)
    batches = _parquet if form_of(directive) == "parquet" else _json_lines
    every = [sieved for file in _files(path, relation) for sieved in batches(file, relation, tables)]
    rows = [_encoded(sieved, relation, tables) for sieved in every]  # once it is known that all are right
    return np.concatenate([np.empty(0, np.int64), *rows]), sum(sieved.count for sieved in every)


def write_format(directive: Directive, relation: Relation, tables: LocalTables, stream: BinaryIO) -> None:
    rows = tables.stored[relation.name].rows
    columns = columns_of(tables, relation, rows)
    if form_of(directive) == "parquet":
        table = (
            pyarrow.table(columns, schema=schema(relation)) if columns else pyarrow.table({HOLDS: [True] * len(rows)})
        )
        pyarrow.parquet.write_table(table, stream)
        return
    names = [column.name for column in relation.columns]
    values = zip(*(column.to_pylist() for column in columns), strict=True) if columns else [()] * len(rows)
    for row in values:
        line = dict(zip(names, map(_json_value, row), strict=True))
        stream.write((json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n").encode())


def _files(path: Path, relation: Relation) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.is_file() and file.name[0] not in "_.")
    with _opened(path, str(path), relation):  # says what is wrong if it cannot be read
        return [path]


def _parquet(path: Path, relation: Relation, tables: LocalTables) -> Iterator[Sieved]:
    try:
        file = pyarrow.parquet.ParquetFile(path)
        places = matched(file.schema_arrow.names, relation, str(path))
        before = 0
        for batch in file.iter_batches(batch_size=BATCH):
            columns = [batch.column(i) for i in places]
            sieved = sieve_columns(relation, tables.program.types, columns, batch.num_rows)
            for misfit in sieved.misfits:
                raise RowError(str(path), before + misfit.row + 1, misfit.message, misfit.hint)
            yield sieved
            before += batch.num_rows
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise FactsError(str(path), 0, 0, f"the file cannot be read as Parquet: {reason}") from None


def _json_lines(path: Path, relation: Relation, tables: LocalTables) -> Iterator[Sieved]:
    with _opened(path, str(path), relation) as stream:
        before = 0
        while lines := [line for _, line in zip(range(BATCH), stream, strict=False)]:
            if not before:
                lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
            sieved = sieve_json([line.removesuffix(b"\n") for line in lines], relation, tables.program.types)
            for misfit in sieved.misfits:
                raise FactsError(str(path), before + misfit.row + 1, misfit.column, misfit.message, misfit.hint)
            yield sieved
            before += len(lines)


def _encoded(sieved: Sieved, relation: Relation, tables: LocalTables) -> Any:
    natural = [
        array.view(NATURAL[column.kind]) if column.kind in NATURAL else array
        for array, column in zip(sieved.columns, relation.columns, strict=True)
    ]
    return rows_of(tables, relation, natural) if natural else np.empty(0, np.int64)


def _json_value(value: Any) -> Any:
    """JSON has no such numbers; Spark writes them like this too."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
