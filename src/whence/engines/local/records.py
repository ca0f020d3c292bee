"""Records: every distinct record once, with a code that stands for it in rows. nil is 0.

Records of one number of fields share a table; a record's code is its row there plus one.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from .table import Rows, Table, Words


class RecordTables:
    def __init__(self, kernel: SimpleNamespace) -> None:
        self.kernel = kernel
        self._tables: dict[int, Table] = {}

    def table(self, arity: int) -> Table:
        table = self._tables.get(arity)
        if table is None:
            table = self._tables[arity] = Table(self.kernel, arity, counted=False)
        return table

    def pack(self, arity: int, flat: Words) -> Words:
        """The codes of records whose fields lie one after the other in `flat`. Without fields, there is one."""
        count = len(flat) // arity if arity else 1
        found = np.empty(count, np.int64)
        self.table(arity).insert(np.ascontiguousarray(flat), count, found=found)
        return found + 1

    def fields(self, arity: int, codes: Words) -> Rows:
        """The fields of records, a row each; no code may be that of nil."""
        rows: Rows = self.table(arity).rows[codes - 1]
        return rows

    @property
    def nbytes(self) -> int:
        return sum(table.nbytes for table in self._tables.values())
