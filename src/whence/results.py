"""The tuples of a relation, as Python, Arrow, pandas or Polars values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from whence.errors import WhenceError
from whence.lang.program import Relation

if TYPE_CHECKING:
    from whence.engines.local.tables import LocalTables

BLOCK = 1 << 16  # tuples that are made Python values at once


class Result:
    """A relation's tuples as they are now: `len`, `in`, iteration, `to_arrow()` and the like."""

    def __init__(self, relation: Relation, tables: LocalTables) -> None:
        self.relation = relation
        self._tables = tables
        self._stored = tables.stored[relation.name]

    def __len__(self) -> int:
        return len(self._stored.table)

    def __contains__(self, row: object) -> bool:
        if not isinstance(row, tuple) or len(row) != self.relation.arity:
            return False
        return self._tables.has(self.relation.name, row)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        size = len(self)
        for start in range(0, size, BLOCK):
            yield from self._block(start, min(start + BLOCK, size))

    def __repr__(self) -> str:
        columns = ", ".join(f"{c.name}: {c.type}" for c in self.relation.columns)
        return f"<{self.relation.name}({columns}): {len(self):,} tuples>"

    def tuples(self, annotated: bool = False) -> Iterator[Any]:
        """The tuples; `annotated`, each as (tuple, iteration that first derives it, number of derivations there)."""
        if not annotated:
            return iter(self)
        if not self._tables.counts:
            raise WhenceError("derivations were not counted: open the session with counts=True")
        iterations = self._tables.iterations(self.relation.name).tolist()
        return zip(self, iterations, self._stored.table.counts.tolist(), strict=True)

    @property
    def nbytes(self) -> int:
        """Bytes that the relation takes, with its hash set and its indexes; symbols are shared and not counted."""
        return self._stored.table.nbytes

    def to_arrow(self) -> Any:
        """A `pyarrow.Table`; symbols are strings, records are texts such as `[1, nil]`."""
        import pyarrow

        from whence.engines.local.arrow import columns_of, schema

        columns = columns_of(self._tables, self.relation, self._stored.table.rows)
        return pyarrow.Table.from_arrays(columns, schema=schema(self.relation))

    def to_pandas(self) -> Any:
        _needed("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        return _needed("polars").from_arrow(self.to_arrow())

    def _columns(self, start: int, stop: int) -> list[list[Any]]:
        rows = self._stored.table.rows[start:stop]
        decode = self._tables.values.decode
        return [decode(rows[:, i], column.type, column.kind) for i, column in enumerate(self.relation.columns)]

    def _block(self, start: int, stop: int) -> Iterator[tuple[Any, ...]]:
        if not self.relation.columns:
            return iter([()] * (stop - start))
        return zip(*self._columns(start, stop), strict=True)


def _needed(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        raise WhenceError(f"this needs {module}: pip install {module}") from None
