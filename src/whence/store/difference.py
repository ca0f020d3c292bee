"""What an epoch changed: the tuples of a relation that its parent did not have, and those that only its parent had."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from whence.store import parquet
from whence.store.manifest import StoredRelation
from whence.store.store import Store


def difference(store: Store, relation: str, epoch: int | None = None) -> tuple[Any, Any]:
    """Tables of the tuples inserted and deleted, with their columns only. The relation is one of the epoch's or of its
    parent's program.

    Costs as much as the change is large, unless the relation was written whole: then both epochs are read.
    """
    described = store.epoch(epoch)
    after = described.relations.get(relation)
    before = None if described.parent is None else store.epoch(described.parent).relations.get(relation)
    if after is None:
        gone = store.relation(relation, described.parent)
        return _nothing(gone), _table(gone, store.batches(relation, described.parent))
    if before is not None and after.files == before.files:
        return _nothing(after), _nothing(after)
    if before is not None and after.files[: len(before.files)] == before.files:
        layers = after.files[len(before.files) :]
        new = _table(after, store.rows_of(layers, after, deletes=False))
        gone = _table(after, store.rows_of(layers, after, deletes=True))
    else:
        new = _table(after, store.batches(relation, described.number))
        gone = _nothing(after) if before is None else _table(after, store.batches(relation, described.parent))
    # A tuple on both sides got another iteration or count, and is still there.
    return _without(new, gone, after), _without(gone, new, after)


def _table(stored: StoredRelation, batches: Iterator[Any]) -> Any:
    """The tuples alone; their iteration is kept, so that a relation without columns has rows."""
    schema = parquet.deletion_schema(stored.schema)
    return pa.Table.from_batches([batch.select(schema.names) for batch in batches], schema)


def _nothing(stored: StoredRelation) -> Any:
    return parquet.deletion_schema(stored.schema).empty_table()


def _without(table: Any, other: Any, stored: StoredRelation) -> Any:
    batches = [parquet.without(batch, other, stored.schema) for batch in table.to_batches()]
    return pa.Table.from_batches(batches, table.schema)
