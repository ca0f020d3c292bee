"""A new epoch of relations that are in the driver's process or on Spark.

A stratum whose relations are here is revised as the local engine does it. What it reads from Spark is copied here, and
the copy follows. A stratum on Spark is revised over frames: those of its tuples that are touched come here, in a layer
over their frame, and are revised as rows; what rules derive from changes is asked of Spark. Either way what changed is
left as rows in this process, where strata above find it. A stratum that is recomputed on Spark is compared with what it
was by anti-joins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from whence.engines.local.kernel.layout import BEFORE, NOW
from whence.engines.local.revision import SIGNS, Input, LocalRevision
from whence.engines.local.table import Rows
from whence.engines.local.tables import Stored
from whence.lang.program import Stratum
from whence.maintain.transition import Transition
from whence.plan.steps import RuleVersion, View
from whence.plan.update_versions import Sieve
from whence.tables import Tables

from .asking import Asking
from .batches import NUMBER, rows_of, typed
from .columns import COUNT, ITERATION, carried_names
from .failures import told
from .joining import Viewed
from .layers import Layer, frame_of_rows, without
from .placement import HERE_ALREADY, numbers_symbols, reads
from .tables import SparkTables, unrevised
from .transfer import from_spark

CHANGES = (View.LOST, View.GAINED)


class SparkState:
    """What a change is checked against: tuples on Spark are looked up there."""

    def __init__(self, tables: SparkTables) -> None:
        self.tables = tables

    def holding(self, relation: str, rows: Rows) -> Stored:
        if self.tables.lives_here(relation):
            return self.tables.local.stored[relation]
        layer = self.tables.layer(relation)
        layer.touch(rows)
        return layer.stored

    def has_input(self, relation: str) -> bool:
        if self.tables.lives_here(relation):
            return len(self.tables.local.stored[relation].given) > 0
        with told():
            return not self.tables.frame(relation).frame.where(F.col(ITERATION) == 0).isEmpty()

    def given(self, relation: str) -> Rows:
        found = [rows[iterations == 0] for rows, iterations, _ in self.tables.encoded(relation)]
        return np.concatenate([np.empty((0, self.tables.program.relations[relation].arity), np.int64), *found])


class SparkRevision(LocalRevision):
    """`on_spark` says that the stratum under way is; the layers of its relations then have the rows to be revised."""

    def __init__(self, homes: SparkTables, inputs: dict[str, Input], transition: Transition | None = None) -> None:
        super().__init__(homes.local, inputs, transition)
        self.homes = homes
        self.copies = LocalRevision(homes.local, {})  # of relations on Spark
        self.on_spark = False
        self.distinct = self._distinct
        self.looking = 0.0  # seconds that went into statistics
        self._asking: Asking | None = None
        self._frames_before: dict[str, Viewed | None] = {}  # None if it lived here
        self._layers_before: dict[str, tuple[Layer | None, list[DataFrame]]] = {}  # of what was recomputed
        self._sent_before: dict[str, Viewed] = {}  # relations that live here, on Spark as they were
        self._sent_now: dict[str, Viewed] = {}  # and as they are
        homes.make_bases()
        homes.revised = self._now

    @property
    def asking(self) -> Asking:
        if self._asking is None:
            self._asking = Asking(self.homes, self, self._view)
        return self._asking

    @property
    def arranging(self) -> float:
        return self.tables.arranging + self.looking

    # Statistics

    def size(self, relation: str, view: View) -> float:
        if self.on_spark and relation in self.asking.keys:
            return self.asking.keys[relation].rows
        in_layers = view in (View.MISSING, View.CAUSE, *CHANGES)
        if in_layers or self.homes.lives_here(relation):
            return super().size(relation, view)
        return self.homes.rows(relation)

    def _distinct(self, relation: str, columns: tuple[int, ...]) -> float:
        if self.on_spark and relation in self.asking.keys:
            return self.asking.keys[relation].rows
        if not self.on_spark or self.homes.lives_here(relation):
            return self.tables.distinct(relation, columns)
        arity = self.homes.program.relations[relation].arity
        columns = tuple(column for column in columns if column < arity)  # the iteration tells little
        started = perf_counter()
        try:
            return self.homes.distinct_on_spark(relation, columns) if columns else 1.0
        finally:
            self.looking += perf_counter() - started

    # Where a stratum is

    def _is_here(self, stratum: Stratum) -> bool:
        """Its relations are, and what else it reads is, or is not too much to come here."""
        if not all(map(self.homes.lives_here, stratum.relations)):
            return False
        far = [name for name in reads(stratum.rules) if not self.homes.is_readable_here(name)]
        most = HERE_ALREADY * self.homes.options.driver_rows
        return numbers_symbols(stratum) or sum(map(self.homes.rows, far)) <= most

    def _place(self, stratum: Stratum) -> None:
        self.on_spark = not self._is_here(stratum)
        if not self.on_spark:
            for name in reads(stratum.rules) - set(stratum.relations):
                self._copy(name)
            return
        for name in stratum.relations:
            if self.homes.lives_here(name):
                self._frames_before.setdefault(name, None)
                self.homes.move(name)

    def _copy(self, name: str) -> None:
        """A relation on Spark can be read here, with what has changed in it."""
        if self.homes.is_readable_here(name):
            return
        self.homes.copy(name, self._frames_before.get(name) or self.homes.frame(name))
        self._follow(name)

    def _follow(self, name: str) -> None:
        """The copy of a relation changes as that has."""
        gained, lost = self.rows_of(name, View.GAINED), self.rows_of(name, View.LOST)
        if len(gained) or len(lost):
            self.copies.inputs[name] = Input(gained, lost)
            self.copies.apply(Stratum((name,), (), False))

    def stored(self, name: str) -> Stored:
        return super().stored(name) if self.homes.lives_here(name) else self.homes.layer(name).stored

    # Update

    def begin(self, stratum: Stratum) -> None:
        self._place(stratum)
        if self.on_spark:
            for name in stratum.relations:
                given = self.inputs.get(name)
                if given is not None:
                    self.homes.layer(name).touch(np.concatenate([given.inserted, given.deleted]))
        super().begin(stratum)

    def collect(self, name: str, arity: int, versions: Iterable[RuleVersion]) -> None:
        if self.on_spark:
            self.asking.collect(name, versions)
        else:
            super().collect(name, arity, versions)

    def sift(self, sieve: Sieve) -> None:
        if not self.on_spark:
            super().sift(sieve)
            return
        columns = typed(self.homes.program.relations[sieve.relation])
        revised = self.own[sieve.relation]
        rows = revised.table.rows[revised.missing][:, list(sieve.columns)]
        keys = np.unique(rows, axis=0) if sieve.columns else rows[:1]
        self.asking.hold(sieve.name, [columns[column] for column in sieve.columns], keys)

    def derive(self, version: RuleVersion, sign: View) -> None:
        if self.on_spark:
            self.asking.ask(version, sign)
        else:
            super().derive(version, sign)

    def take_effect(self) -> None:
        super().take_effect()
        if self.on_spark:
            self.asking.changed()

    def settle(self) -> int | None:
        if not self.on_spark:
            return super().settle()
        for name, heads in self.asking.answers().items():
            layer, revised = self.homes.layer(name), self.own[name]
            layer.touch(np.concatenate([rows[:, :-1] for rows in heads.values()]))
            for sign, rows in heads.items():
                revised.waiting.add(*revised.table.note(rows.ctypes.data, len(rows), 0, SIGNS[sign]))
        self.watch()
        iteration = super().settle()
        self.asking.changed()
        return iteration

    def end(self) -> tuple[int, int]:
        names = list(self.own)
        gained, lost = super().end()
        self._ended(names)
        return gained, lost

    def _ended(self, names: Iterable[str]) -> None:
        for name in names:
            if self.homes.lives_here(name):
                sent = self.homes.sent(name) if self.changed_rows(name) else None
                if sent is not None:
                    self._sent_before[name] = sent
                continue
            if name in self.homes.layers:
                self._frames_before.setdefault(name, self.homes.frame(name))
                self.homes.become(name, self.homes.layer(name).current())
            if self.homes.follows(name):
                self._follow(name)

    def changed_rows(self, name: str) -> int:
        return sum(self._delta(name, view) for view in CHANGES)

    def _close(self) -> None:
        super()._close()
        self.on_spark = False
        if self._asking is not None:
            self._asking.forget()

    def _view(self, relation: str, view: View) -> Viewed:
        """What a version on Spark reads."""
        declared = self.homes.program.relations[relation]
        own = relation in self.own
        if view in CHANGES:
            changes = self.rows_of(relation, view)
            columns = [*typed(declared), NUMBER] if own else typed(declared)
            return Viewed(self.asking.frame(columns, changes), len(changes))
        if not self.homes.lives_here(relation) and relation not in self._layers_before:
            return self.homes.layer(relation).view(view, own)
        if not self.changed_rows(relation) or view is View.ALL:
            return self.homes.frame(relation)
        before = self._before(relation)
        frame, rows, names = before.frame, before.rows, carried_names(declared.arity)
        if view is View.KEPT and self._delta(relation, View.LOST):
            frame = without(frame, self._annotated(relation, View.LOST), names)
            rows -= self._delta(relation, View.LOST)
        elif view is View.EITHER and self._delta(relation, View.GAINED):
            frame = frame.unionAll(self._annotated(relation, View.GAINED))
            rows += self._delta(relation, View.GAINED)
        return Viewed(frame, rows)

    def _before(self, relation: str) -> Viewed:
        """A relation that lives here, or was recomputed, as it was in the epoch before."""
        if not self.homes.lives_here(relation):
            before = self._frames_before[relation]
            assert before is not None
            return before
        if relation not in self._sent_before:
            table = self.tables.stored[relation].table
            rows = table.rows[(table.stamps & BEFORE) != 0]
            self._sent_before[relation] = Viewed(self._frame_of(relation, rows), len(rows))
        return self._sent_before[relation]

    def _now(self, relation: str) -> Viewed | None:
        """A relation that lives here and has changed, on Spark as it is now."""
        if not self.changed_rows(relation):
            return None
        if relation not in self._sent_now:
            stored = self.tables.stored[relation]
            there = (stored.table.stamps & NOW) != 0
            rows, iterations, counts = stored.table.rows[there], stored.iterations[there], stored.table.counts[there]
            declared = self.homes.program.relations[relation]
            frame = frame_of_rows(self.tables, declared, self.homes.spark, rows, iterations, counts)
            self._sent_now[relation] = Viewed(frame, len(rows))
        return self._sent_now[relation]

    def _annotated(self, relation: str, view: View) -> DataFrame:
        return self._frame_of(relation, self.rows_of(relation, view))

    def _frame_of(self, relation: str, rows: Rows, count: int = 0) -> DataFrame:
        declared = self.homes.program.relations[relation]
        none = np.zeros(len(rows), np.int32)
        return frame_of_rows(self.tables, declared, self.homes.spark, rows, none, none + np.int32(count))

    # From its input

    def recompute(self, stratum: Stratum, evaluate: Callable[[Tables], None], ready: bool) -> tuple[int, int]:
        self._place(stratum)
        if not self.on_spark:
            gained, lost = super().recompute(stratum, evaluate, ready)
            self._ended(stratum.relations)
            return gained, lost
        homes = self.homes
        before = {name: homes.frame(name) for name in stratum.relations}
        for name, viewed in before.items():
            self._frames_before.setdefault(name, viewed)
            given = self._given(name, viewed)
            self._layers_before[name] = homes.layers.pop(name, None), homes.checkpoints.pop(name, [])
            homes.become(name, given)
        homes.stays = True
        try:
            evaluate(homes)
        finally:
            homes.stays = False
        gained = lost = 0
        for name, old in before.items():
            new = homes.frame(name)
            gained += self._differ(name, View.GAINED, self._missing(name, new, old))
            lost += self._differ(name, View.LOST, self._missing(name, old, new))
        homes.forget_statistics(stratum.relations)
        self.on_spark = False
        self._ended(stratum.relations)
        return gained, lost

    def _given(self, name: str, viewed: Viewed) -> Viewed:
        """The input of a relation, changed."""
        names = carried_names(self.homes.program.relations[name].arity)
        frame = viewed.frame.where(F.col(ITERATION) == 0).select(*names, ITERATION, COUNT)
        if name in self.inputs:
            given = self.inputs[name]
            if len(given.deleted):
                frame = without(frame, self._frame_of(name, given.deleted), names)
            if len(given.inserted):
                frame = frame.unionAll(self._frame_of(name, given.inserted, count=1))
        with told():
            rows = frame.count()
        return Viewed(frame, rows)

    def _missing(self, name: str, one: Viewed, other: Viewed) -> Rows:
        """The tuples of one frame that are not in the other."""
        declared = self.homes.program.relations[name]
        names = carried_names(declared.arity)
        if not names:
            return np.empty((max(0, one.rows - other.rows), 0), np.int64)
        frame = one.frame.join(other.frame.select(*names), names, "left_anti").select(*names)
        with told():
            parts = [
                rows_of(self.tables, typed(declared), batch.columns, batch.num_rows)
                for batch in from_spark(frame, one.rows)
            ]
        return np.concatenate([np.empty((0, declared.arity), np.int64), *parts])

    # The epoch

    @property
    def rewritten(self) -> frozenset[str]:
        """The relations that were recomputed on Spark."""
        return frozenset(self._layers_before)

    def commit(self) -> None:
        self.copies.commit()
        super().commit()
        self.homes.revised = unrevised
        self.homes.resend(self._sent_now)
        for _, checkpoints in self._layers_before.values():
            self.homes.release(checkpoints)

    def abandon(self) -> None:
        homes = self.homes
        for name, (layer, checkpoints) in self._layers_before.items():
            homes.release(homes.checkpoints.pop(name, []))
            if checkpoints:
                homes.checkpoints[name] = checkpoints
            homes.layers.pop(name, None)
            if layer is not None:
                homes.layers[name] = layer
        self.copies.abandon()
        super().abandon()
        homes.revised = unrevised
        homes.put_back(self._frames_before, self._sent_before)
