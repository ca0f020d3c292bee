"""What the rows of a streaming DataFrame mean: whole files of changes, or tuples of one relation with a sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from whence.changes import Change, merged
from whence.changes.reading import changeable, decoded_change, tuples_of
from whence.errors import WhenceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from whence.lang import Program

SIGNS = {"+": True, "insert": True, "-": False, "delete": False}


@dataclass(frozen=True)
class Files:
    """Rows of Spark's `binaryFile`: each a file of changes as text, taken in the order they were last written."""

    def change(self, batch: DataFrame, program: Program, lenient: bool) -> Change:
        rows = batch.select("path", "modificationTime", "content").collect()
        rows.sort(key=lambda row: (row["modificationTime"], row["path"]))
        named = [(_name(row["path"]), bytes(row["content"])) for row in rows]
        changes = []
        for name, content in named:
            change = decoded_change(content, program, name, lenient)
            program = change.program or program
            changes.append((name, change))
        return merged(changes, lenient)


@dataclass(frozen=True)
class Events:
    """Rows with the columns of a relation, by name, and one more that says `+` or `insert`, `-` or `delete`."""

    relation: str
    op: str = "op"

    def change(self, batch: DataFrame, program: Program, lenient: bool) -> Change:
        if self.relation not in program.relations:
            raise WhenceError(
                f"the program has no relation {self.relation!r}; there are: {', '.join(program.relations)}"
            )
        if self.relation not in changeable(program):
            raise WhenceError(f"{self.relation!r} is derived by rules, so it cannot be changed itself")
        columns = [column.name for column in program.relations[self.relation].columns]
        missing = [name for name in (*columns, self.op) if name not in batch.columns]
        if missing:
            given = ", ".join(batch.columns)
            raise WhenceError(f"the stream for {self.relation!r} has no column {missing[0]!r}; it has: {given}")
        table = batch.select(*(f"`{name}`" for name in (*columns, self.op))).toArrow()
        ops = table.column(len(columns)).to_pylist()
        unknown = next((op for op in ops if op not in SIGNS), "+")
        if unknown not in SIGNS:
            raise WhenceError(f"the column {self.op!r} of the stream has {unknown!r}; it should be + or -")
        sides: list[dict[str, Any]] = []
        for inserts in (True, False):
            chosen = table.filter(pa.array([SIGNS[op] == inserts for op in ops], pa.bool_()))
            tuples = tuples_of(chosen.select(range(len(columns))), self.relation, program) if len(chosen) else ()
            sides.append({self.relation: tuples} if tuples else {})
        insert, delete = sides
        return Change(insert, delete)


def _name(path: str) -> str:
    """A path as its user would write it."""
    for prefix in ("file://", "file:"):
        if path.startswith(prefix):
            return path.removeprefix(prefix)
    return path
