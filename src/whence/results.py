"""The tuples of a relation, as Python, Arrow, pandas, Polars or Spark values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from whence.errors import WhenceError
from whence.lang.program import Relation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from whence.engines.local.table import Rows, Words
    from whence.engines.local.values import Value, Values


class Holder(Protocol):
    """Where the tuples of all relations are, whichever engine holds them."""

    @property
    def values(self) -> Values: ...

    @property
    def counts(self) -> bool: ...

    def rows(self, relation: str) -> int: ...

    def has(self, relation: str, row: tuple[Value, ...]) -> bool: ...

    def encoded(self, relation: str) -> Iterator[tuple[Rows, Words, Words]]: ...

    def nbytes(self, relation: str) -> int: ...

    def to_arrow(self, relation: str, annotated: bool) -> Any: ...

    def to_spark(self, relation: str, annotated: bool) -> DataFrame: ...


class Result:
    """A relation's tuples as they are now: `len`, `in`, iteration, `to_arrow()` and the like."""

    def __init__(self, relation: Relation, holder: Holder) -> None:
        self.relation = relation
        self._holder = holder

    def __len__(self) -> int:
        return self._holder.rows(self.relation.name)

    def __contains__(self, row: object) -> bool:
        if not isinstance(row, tuple) or len(row) != self.relation.arity:
            return False
        return self._holder.has(self.relation.name, row)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for rows, _, _ in self._holder.encoded(self.relation.name):
            yield from self._decoded(rows)

    def __repr__(self) -> str:
        columns = ", ".join(f"{c.name}: {c.type}" for c in self.relation.columns)
        return f"<{self.relation.name}({columns}): {len(self):,} tuples>"

    def tuples(self, annotated: bool = False) -> Iterator[Any]:
        """The tuples; `annotated`, each as (tuple, iteration that first derives it, number of derivations there)."""
        if not annotated:
            return iter(self)
        self._must_be_counted()
        return (
            annotated_tuple
            for rows, iterations, counts in self._holder.encoded(self.relation.name)
            for annotated_tuple in zip(self._decoded(rows), iterations.tolist(), counts.tolist(), strict=True)
        )

    @property
    def nbytes(self) -> int:
        """Bytes that the relation takes in this process, with its hash set and its indexes; symbols are shared and not
        counted."""
        return self._holder.nbytes(self.relation.name)

    def to_arrow(self, annotated: bool = False) -> Any:
        """A `pyarrow.Table`; symbols are strings, records are texts such as `[1, nil]`. `annotated` adds the columns
        `iteration` and `count`."""
        if annotated:
            self._must_be_counted()
        return self._holder.to_arrow(self.relation.name, annotated)

    def to_pandas(self, annotated: bool = False) -> Any:
        _needed("pandas")
        return self.to_arrow(annotated).to_pandas()

    def to_polars(self, annotated: bool = False) -> Any:
        return _needed("polars").from_arrow(self.to_arrow(annotated))

    def to_spark(self, annotated: bool = False) -> DataFrame:
        """A DataFrame with the relation's column names; what is on Spark already is not collected."""
        if annotated:
            self._must_be_counted()
        return self._holder.to_spark(self.relation.name, annotated)

    def _must_be_counted(self) -> None:
        if not self._holder.counts:
            missing = unannotated(self._holder)
            if missing:
                raise WhenceError(missing)
            raise WhenceError("derivations were not counted: open the session with counts=True")

    def _decoded(self, rows: Rows) -> Iterator[tuple[Any, ...]]:
        from whence.engines.local.values import EncodedTuples

        return iter(EncodedTuples(self._holder.values, self.relation.columns, rows))


def unannotated(holder: Holder) -> str:
    """Where an engine never has iterations and counts, the sentence that says so."""
    return str(getattr(holder, "missing", ""))


def in_order(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """A key that sorts tuples by their values; nil comes before all other records."""
    return tuple((() if v is None else (1, *in_order(v)) if isinstance(v, tuple) else v) for v in values)


def _needed(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        raise WhenceError(f"this needs {module}: pip install {module}") from None
