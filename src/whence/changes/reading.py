"""Changes from a text file, or from a folder with `edge.insert.facts` and `edge.delete.facts`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from whence.changes.change import Change, change_of
from whence.errors import WhenceError
from whence.lang.diagnostics import nearest
from whence.lang.program import Const, Program, Record, Term
from whence.lang.signed import signed_text

SIDES = {"insert": True, "delete": False}
ENDINGS = ("facts", "parquet", "jsonl", "ndjson")
_FILE = re.compile(rf"(.+)\.({'|'.join(SIDES)})\.({'|'.join(ENDINGS)})")


def read_change(path: str | os.PathLike[str], program: Program, lenient: bool = False) -> Change:
    """The change in a file or folder. If `lenient`, rules to be added that are there, and the like, are ignored."""
    if os.path.isdir(path):
        return _from_folder(Path(path), program)
    file = os.fspath(path)
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise WhenceError(f"{file}: there is no such file or folder of changes") from None
    except OSError as error:
        raise WhenceError(f"{file}: the changes cannot be read: {error.strerror or error}") from None
    return decoded_change(content, program, file, lenient)


def decoded_change(content: bytes, program: Program, file: str, lenient: bool = False) -> Change:
    """The change in the bytes of a text file."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{content[error.start]:02x} is not UTF-8"
        raise WhenceError(f"{file}:{line}: {found}; save the changes as UTF-8") from None
    return parse_change(text, program, file, lenient)


def parse_change(text: str, program: Program, file: str = "<changes>", lenient: bool = False, sign: str = "") -> Change:
    """The change that a text such as `+ edge(1, 2). - edge(2, 3).` stands for; errors call it `file`. What has no sign
    of its own has `sign`."""
    found = signed_text(text, file, program, changeable, lenient, sign)
    facts = [(s.inserts, s.fact.atom.relation, tuple(map(_value, s.fact.atom.args))) for s in found.facts]
    return change_of(facts, found.program, found.ignored)


def changeable(program: Program) -> frozenset[str]:
    """The relations that can be changed: those that are read, that have facts, or that no rule derives."""
    derived = {rule.head.relation for rule in program.rules}
    given = {directive.relation for directive in program.directives_of("input")}
    given |= {fact.atom.relation for fact in program.facts}
    return frozenset(name for name in program.relations if name in given or name not in derived)


def _value(term: Term) -> Any:
    if isinstance(term, Record):
        return tuple(map(_value, term.fields))
    assert isinstance(term, Const), "what has to be computed was refused"
    return term.value


# Folders


def _from_folder(folder: Path, program: Program) -> Change:
    """What does not belong to a change is an error: a file with a misspelt name would silently change nothing."""
    try:
        names = sorted(name for name in os.listdir(folder) if name[0] not in "._")
    except OSError as error:
        raise WhenceError(f"{folder}: the folder of changes cannot be read: {error.strerror or error}") from None
    files: dict[tuple[str, str], Path] = {}
    for name in names:
        match = _FILE.fullmatch(name)
        if match is None:
            known = "EDGE.insert.facts and EDGE.delete.facts, for a relation EDGE"
            raise WhenceError(f"{folder / name} is no file of changes: these are called {known}")
        relation, side, _ = match.groups()
        _check(folder / name, relation, program)
        if (relation, side) in files:
            raise WhenceError(f"{folder / name}: {files[relation, side].name} is there too; keep one of them")
        files[relation, side] = folder / name
    if not files:
        raise WhenceError(f"{folder}: there are no changes in this folder, such as edge.insert.facts")
    sides: dict[str, dict[str, tuple[tuple[Any, ...], ...]]] = {side: {} for side in SIDES}
    for (relation, side), path in files.items():
        tuples = tuples_of(path, relation, program)
        if tuples:
            sides[side][relation] = tuples
    return Change(sides["insert"], sides["delete"])


def _check(path: Path, relation: str, program: Program) -> None:
    if relation not in program.relations:
        near = nearest(relation, program.relations)
        hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(program.relations)}"
        raise WhenceError(f"{path}: the program has no relation {relation!r}; {hint}")
    if relation not in changeable(program):
        advice = "change the relations it is derived from"
        raise WhenceError(f"{path}: {relation!r} is derived by rules, so it cannot be changed itself; {advice}")


def tuples_of(source: Any, relation: str, program: Program) -> tuple[tuple[Any, ...], ...]:
    """The tuples of whatever can be loaded into a relation, each once."""
    from whence.engines.local.loading import encoded
    from whence.engines.local.tables import LocalTables
    from whence.results import Result

    declared = program.relations[relation]
    only: Mapping[str, Any] = {relation: declared}
    tables = LocalTables(replace(program, relations=only, rules=(), facts=(), strata=(), directives=()), counts=False)
    tables.insert(relation, *encoded(declared, source, tables))
    return tuple(Result(declared, tables))
