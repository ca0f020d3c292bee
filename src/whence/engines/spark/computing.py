"""Steps that are no joins (filters, bindings, records, functors, aggregates), done by the kernel inside tasks.

Each function here makes one that Spark calls in a task with Arrow batches, in carried form, and that gives such
batches back. So arithmetic, strings and records mean on Spark what they mean in process, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow

from whence.engines.local.assemble import assemble
from whence.engines.local.execute import Execution, naming
from whence.engines.local.fold import Accumulator
from whence.engines.local.primitives import primitives
from whence.engines.local.strings import ConversionError
from whence.engines.local.table import Rows, Table, Words
from whence.engines.local.tables import LocalTables
from whence.lang.program import Aggregate, Rule, Type, Var
from whence.plan.steps import Bind, Filter, Project, Unpack

from .batches import ARROW, NUMBER, Typed, arrays_of, rows_of, without_rules
from .hearing import Warn

Computed = Bind | Filter | Unpack
Task = Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]


def computing(
    steps: Sequence[Computed],
    given: Sequence[tuple[Var, Typed]],
    wanted: Sequence[tuple[Var, Typed]],
    types: Mapping[str, Type],
    rule: Rule,
    warn: Warn,
) -> Task:
    """Rows of the `given` variables and a stamp to rows of the `wanted` ones and that stamp, after the steps."""
    stamp = Var("i ", "number")
    before = (*(variable for variable, _ in given), stamp)
    typed_before = [*(of for _, of in given), NUMBER]
    typed_after = [*(of for _, of in wanted), NUMBER]
    project = Project((*(variable for variable, _ in wanted), stamp))
    schema = _schema(typed_after)

    def compute(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        tables = LocalTables(without_rules(types), warn=warn)
        execution = Execution(assemble(primitives([*steps, project]), before, counted=False), tables)
        for batch in batches:
            rows = rows_of(tables, typed_before, batch.columns, batch.num_rows)
            if not batch.num_rows:
                continue
            try:
                for buffer, count in execution.results(rows):
                    columns = arrays_of(tables, typed_after, buffer.matrix(count))
                    yield pyarrow.record_batch(columns, schema=schema)
            except (ZeroDivisionError, ConversionError) as error:
                raise naming(rule)(error) from None

    return compute


def folding(aggregate: Aggregate, outer: Sequence[Typed], types: Mapping[str, Type]) -> Task:
    """Rows of outer values and a target to one row of outer values and result for each group.

    All rows of a group are in one task. A group without a result has no row.
    """
    kind = aggregate.target.kind if aggregate.target else "number"
    width = len(outer)
    schema = _schema([*outer, NUMBER])

    def fold(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        tables = LocalTables(without_rules(types))
        distinct = Table(tables.kernel, width, counted=False)
        parts: list[tuple[Words, Words | None]] = []
        for batch in batches:
            if not batch.num_rows:
                continue
            rows = rows_of(tables, outer, batch.columns[:width], batch.num_rows)
            groups = np.empty(len(rows), np.int64)
            distinct.insert(rows.reshape(-1), len(rows), found=groups)
            parts.append((groups, batch.column(width).to_numpy() if aggregate.target else None))
        accumulator = Accumulator(aggregate.op, kind, len(distinct))
        for groups, targets in parts:
            accumulator.add(groups, targets, None)
        values, defined = accumulator.finish()
        keys: Rows = distinct.rows[defined]
        yield pyarrow.record_batch([*arrays_of(tables, outer, keys), pyarrow.array(values[defined])], schema=schema)

    return fold


def _schema(columns: Sequence[Typed]) -> pyarrow.Schema:
    return pyarrow.schema([(f"x{i}", ARROW[kind]) for i, (kind, _) in enumerate(columns)])
