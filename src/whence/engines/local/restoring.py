"""Relations of a stored epoch put back into the local engine's tables: nothing is evaluated."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from whence.errors import WhenceError
from whence.lang.program import Relation

from .arrow import rows_of
from .tables import LocalTables
from .values import ValueMismatch


def restore(tables: LocalTables, relation: Relation, batches: Iterable[Any]) -> None:
    """In place of what a relation holds: record batches with its columns, then iteration and count."""
    rows, iterations, counts = [], [], []
    try:
        for batch in batches:
            *own, iteration, count = batch.columns
            rows.append(rows_of(tables, relation, own))
            iterations.append(iteration.to_numpy().astype(np.int64))
            counts.append(count.fill_null(1).to_numpy())
    except ValueMismatch as error:
        raise WhenceError(f"the state of {relation.name} does not fit its declaration: {error}") from None
    together = [np.concatenate(parts) if parts else np.empty(0, np.int64) for parts in (rows, iterations, counts)]
    tables.forget(relation.name)
    tables.restore(relation.name, together[0], len(together[1]), together[1], together[2])
