"""What `.input`, `.output` and `.printsize` say: which files hold which relations, and in what form."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from whence.errors import WhenceError
from whence.lang.program import Directive

from .facts import read_facts, write_facts
from .forms import ONLY_SPARK, filename_of, form_of, is_text
from .replacing import Replacing, replacing
from .tables import LocalTables

STANDARD_OUTPUT = "-"  # in place of a folder, as Soufflé has it


def read_input(directive: Directive, folder: Path, tables: LocalTables) -> None:
    relation = tables.program.relations[directive.relation]
    given = directive.parameters
    if not is_text(directive):
        _check(directive)
        from .formats import read_format

        tables.insert(relation.name, *read_format(directive, folder, tables))
        return
    standard = given.get("IO") == "stdin"
    path = folder / filename_of(directive)
    source: Path | BinaryIO = sys.stdin.buffer if standard else path
    rows, count = read_facts(
        source,
        "standard input" if standard else str(path),
        relation,
        tables.program.types,
        tables.symbols,
        tables.records,
        delimiter=given.get("delimiter", "\t"),
        headers=given.get("headers") == "true",
        columns=given.get("columns"),
    )
    tables.insert(relation.name, rows, count)


def write_outputs(
    directives: Iterable[Directive], folder: Path, tables: LocalTables, size: Callable[[str], int]
) -> None:
    """Files first, all or none of them; then what goes to standard output, in the order of the directives.

    `size` is how many tuples a relation has.
    """
    printed = []
    try:
        with replacing() as files:
            for directive in directives:
                if directive.kind == "printsize" or (directive.kind == "output" and _is_printed(directive, folder)):
                    printed.append(directive)
                elif directive.kind == "output":
                    _write(directive, folder, tables, files)
    except OSError as error:
        raise WhenceError(f"{error.filename or folder}: the results cannot be written: {error.strerror}") from None
    for directive in printed:
        _print(directive, tables, size)


def _is_printed(directive: Directive, folder: Path) -> bool:
    return form_of(directive).startswith("stdout") or str(folder) == STANDARD_OUTPUT


def _check(directive: Directive) -> None:
    if form_of(directive) in ONLY_SPARK:
        raise WhenceError(f"{directive.origin}: IO={form_of(directive)} needs --engine spark")


def _write(directive: Directive, folder: Path, tables: LocalTables, files: Replacing) -> None:
    relation = tables.program.relations[directive.relation]
    given = directive.parameters
    _check(directive)
    path = folder / filename_of(directive)
    os.makedirs(path.parent, exist_ok=True)
    if not is_text(directive):
        from .formats import write_format

        with files.open(path) as stream:
            return write_format(directive, relation, tables, stream)
    write_facts(
        path,
        relation,
        tables.program.types,
        tables.stored[relation.name].rows,
        tables.symbols,
        tables.records,
        delimiter=given.get("delimiter", "\t"),
        headers=given.get("headers") == "true",
        files=files,
    )


def _print(directive: Directive, tables: LocalTables, size: Callable[[str], int]) -> None:
    relation = tables.program.relations[directive.relation]
    given = directive.parameters
    if directive.kind == "printsize" or given.get("IO") == "stdoutprintsize":
        sys.stdout.write(f"{relation.name}\t{size(relation.name)}\n")
        return
    delimiter = given.get("delimiter", "\t")
    header = f"{delimiter.join(column.name for column in relation.columns)}\n" if given.get("headers") == "true" else ""
    sys.stdout.write(f"---------------\n{relation.name}\n{header}===============\n")
    sys.stdout.flush()
    write_facts(
        sys.stdout.buffer,
        relation,
        tables.program.types,
        tables.stored[relation.name].rows,
        tables.symbols,
        tables.records,
        delimiter=delimiter,
    )
    sys.stdout.write("===============\n")
    sys.stdout.flush()
