"""Results to what `.output` names. Text is written by the local engine's writer, everything else by Spark's."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from whence.engines.local.directives import STANDARD_OUTPUT
from whence.engines.local.facts import write_facts
from whence.engines.local.forms import filename_of, form_of
from whence.engines.local.forms import is_text as is_text
from whence.engines.local.kernel.library import load
from whence.engines.local.records import RecordTables
from whence.engines.local.replacing import Replacing
from whence.engines.local.symbol_columns import codes_of
from whence.engines.local.symbols import SymbolTable
from whence.engines.local.table import Rows
from whence.errors import WhenceError
from whence.lang.program import Column, Directive, Program, Relation

from .columns import carried_names, natural
from .folders import Staging
from .paths import Place, place
from .reasons import explained, without_secrets
from .sources import jdbc_options
from .transfer import from_spark

HOLDS = "holds"  # the column of a relation without columns, where it cannot do without one


def staged_first(directive: Directive) -> int:
    """An order in which what can still be taken back comes before what cannot."""
    form = form_of(directive)
    return 2 if form.startswith("stdout") else 1 if form in ("jdbc", "table") else 0


def write_output(
    directive: Directive,
    relation: Relation,
    program: Program,
    frame: DataFrame,
    folder: Path | str,
    staging: Staging,
) -> None:
    """Write a carried frame of distinct tuples. Files and folders are staged; databases and tables have no such thing,
    what was in them is replaced at once."""
    form = form_of(directive)
    where = place(folder, filename_of(directive))
    if is_text(directive):
        _text(directive, relation, program, frame, folder, staging)
        return
    given = directive.parameters
    tuples = natural(relation, frame) if relation.arity else frame.limit(1).select(F.lit(True).alias(HOLDS))
    match form:
        case "parquet":
            _folder(where, tuples.write.parquet, tuples, relation, staging)
        case "jsonlines" if relation.arity:
            _folder(where, tuples.write.json, tuples, relation, staging)
        case "jsonlines":
            _folder(where, tuples.select(F.lit("{}")).write.text, tuples, relation, staging)
        case "jdbc":
            options = jdbc_options(directive)
            name = f"{options['dbtable']} at {without_secrets(options['url'])}"
            with explained(name, f"{relation.name} cannot be written to the database"):
                tuples.write.format("jdbc").options(**options).mode("overwrite").save()
        case "table":
            table = given.get("table", relation.name)
            with explained(table, f"{relation.name} cannot be written to the table"):
                tuples.write.mode("overwrite").saveAsTable(table)
        case _:
            raise WhenceError(f"{directive.origin}: {relation.name} cannot be written to IO={form}")


def _folder(
    where: Place, write: Callable[[str], None], tuples: DataFrame, relation: Relation, staging: Staging
) -> None:
    with explained(where.shown, f"{relation.name} cannot be written there"):
        write(staging.folder(tuples.sparkSession, where.uri))


# Text


def _text(
    directive: Directive,
    relation: Relation,
    program: Program,
    frame: DataFrame,
    folder: Path | str,
    staging: Staging,
) -> None:
    given = directive.parameters
    where = place(folder, filename_of(directive))
    delimiter, headers = given.get("delimiter", "\t"), given.get("headers") == "true"
    with explained(where.shown, f"{relation.name} cannot be written there"):
        if form_of(directive) == "stdoutprintsize":
            sys.stdout.write(f"{relation.name}\t{frame.count()}\n")
            return
        rows, symbols = _collected(relation, frame)
    # A record's text is all that is needed of it, and sorts as the record does.
    flat = replace(relation, columns=tuple(map(_flat, relation.columns)))

    def write(target: Path | BinaryIO, headers: bool, files: Replacing | None = None) -> None:
        records = RecordTables(symbols.kernel)
        write_facts(
            target, flat, program.types, rows, symbols, records, delimiter=delimiter, headers=headers, files=files
        )

    if form_of(directive) == "stdout" or str(folder) == STANDARD_OUTPUT:
        names = delimiter.join(column.name for column in relation.columns) + "\n" if headers else ""
        sys.stdout.write(f"---------------\n{relation.name}\n{names}===============\n")
        sys.stdout.flush()
        write(sys.stdout.buffer, False)
        sys.stdout.write("===============\n")
        sys.stdout.flush()
    elif where.local is not None:
        try:
            where.local.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"{where.shown}: {relation.name} cannot be written there: {error.strerror or error}"
            raise WhenceError(message) from None
        write(where.local, headers, staging.plain)
    else:
        with tempfile.TemporaryDirectory() as near, explained(where.shown, f"{relation.name} cannot be written there"):
            here = Path(near) / "lines"
            write(here, headers)
            staging.file(frame.sparkSession, where.uri, here)


def _collected(relation: Relation, frame: DataFrame) -> tuple[Rows, SymbolTable]:
    """The rows in this process; symbols and the texts of records are codes of the table."""
    symbols = SymbolTable(load())
    count = frame.count() if relation.arity else min(frame.limit(1).count(), 1)
    rows: Rows = np.empty((count, relation.arity), np.int64)
    if not relation.arity or not count:
        return rows, symbols
    row = 0
    for batch in from_spark(frame.select(*carried_names(relation.arity)), count):
        end = row + batch.num_rows
        for i, column in enumerate(relation.columns):
            array = batch.column(i)
            is_string = column.kind in ("symbol", "record")
            rows[row:end, i] = codes_of(symbols, array) if is_string else array.to_numpy()
        row = end
    return rows, symbols


def _flat(column: Column) -> Column:
    return Column(column.name, "symbol", "symbol") if column.kind == "record" else column
