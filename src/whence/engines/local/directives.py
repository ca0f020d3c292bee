"""What `.input`, `.output` and `.printsize` say: which files hold which relations, and in what form."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import BinaryIO

from whence.errors import WhenceError
from whence.lang.program import Directive, Program

from .facts import read_facts, write_facts
from .tables import LocalTables

STANDARD_OUTPUT = "-"  # in place of a folder, as Soufflé has it


def read_input(directive: Directive, folder: Path, tables: LocalTables) -> None:
    relation = tables.program.relations[directive.relation]
    given = directive.parameters
    standard = given.get("IO") == "stdin"
    path = folder / given.get("filename", f"{relation.name}.facts")
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


def write_outputs(program: Program, folder: Path, tables: LocalTables) -> None:
    for directive in program.directives:
        if directive.kind == "output":
            _write(directive, folder, tables)
        elif directive.kind == "printsize":
            sys.stdout.write(f"{directive.relation}\t{len(tables.stored[directive.relation].table)}\n")


def _write(directive: Directive, folder: Path, tables: LocalTables) -> None:
    relation = tables.program.relations[directive.relation]
    given = directive.parameters
    rows = tables.stored[relation.name].table.rows
    rest = (relation, tables.program.types, rows, tables.symbols, tables.records)
    delimiter, headers = given.get("delimiter", "\t"), given.get("headers") == "true"
    if given.get("IO") == "stdout" or str(folder) == STANDARD_OUTPUT:
        sys.stdout.write(f"---------------\n{relation.name}\n===============\n")
        sys.stdout.flush()
        write_facts(sys.stdout.buffer, *rest, delimiter=delimiter, headers=headers)
        sys.stdout.write("===============\n")
        sys.stdout.flush()
        return
    path = folder / given.get("filename", f"{relation.name}.csv")
    try:
        os.makedirs(path.parent, exist_ok=True)
        write_facts(path, *rest, delimiter=delimiter, headers=headers)
    except OSError as error:
        raise WhenceError(f"{path}: {relation.name} cannot be written there: {error.strerror or error}") from None
