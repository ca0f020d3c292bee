"""Whatever is done to a store, it holds what a dictionary would hold: every epoch, each relation, each tuple."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from store.tuples import Row, arrow, files_in, files_of, found
from whence.store import Store, StoreError, Writer

KINDS = {"edge": "number symbol", "name": "symbol", "flag": ""}
PROGRAM = ".decl edge(x: number, y: symbol)\n.decl name(x: symbol)\n.decl flag()"

numbers, symbols = st.integers(-2, 2), st.sampled_from(["", "a", "ß"])
annotated = st.tuples(st.integers(0, 3), st.integers(1, 3))
Contents = dict[tuple[object, ...], tuple[int, int]]  # of a relation: tuple to iteration and count
contents: dict[str, st.SearchStrategy[Contents]] = {
    "edge": st.dictionaries(st.tuples(numbers, symbols), annotated, max_size=12),
    "name": st.dictionaries(st.tuples(symbols), annotated),
    "flag": st.dictionaries(st.just(()), annotated),
}
State = dict[str, Contents]
# What becomes of a relation, and how it is written; one that is kept stays as it is.
actions = st.fixed_dictionaries(
    {name: st.tuples(st.sampled_from(["write", "change", "change", "keep"]), contents[name]) for name in KINDS}
)


def rows(relation: Contents) -> list[Row]:
    return [(*values, *annotation) for values, annotation in relation.items()]


def carry_out(writer: Writer, name: str, action: str, before: Contents, after: Contents) -> None:
    if action == "write":
        writer.write(name, arrow(KINDS[name], rows(after)))
    elif action == "change":
        inserted = {values: after[values] for values in after if before.get(values) != after[values]}
        deleted = {values: before[values] for values in before if after.get(values) != before[values]}
        writer.change(name, arrow(KINDS[name], rows(inserted)), arrow(KINDS[name], rows(deleted)))
    else:
        writer.keep(name)


class Abandoned(Exception):
    pass


class Histories(RuleBasedStateMachine):
    """The model is a state for each epoch there is, by its number."""

    @initialize(first=st.fixed_dictionaries(contents), share=st.sampled_from([0.25, 100]), files=st.integers(1, 8))
    def create(self, first: State, share: float, files: int) -> None:
        self.settings = mock.patch.multiple("whence.store.commit", CHANGED_SHARE=share, CHANGE_FILES=files)
        self.settings.start()
        self.root = Path(tempfile.mkdtemp())
        self.store = Store.create(self.root)
        with self.store.commit(PROGRAM) as writer:
            for name, relation in first.items():
                writer.write(name, arrow(KINDS[name], rows(relation)))
        self.model: dict[int, State] = {0: first}
        self.next = 1

    @property
    def latest(self) -> State:
        return self.model[max(self.model)]

    @rule(actions=actions)
    def commit(self, actions: dict[str, tuple[str, Contents]]) -> None:
        after = {}
        with self.store.commit() as writer:
            for name, (action, wanted) in actions.items():
                after[name] = self.latest[name] if action == "keep" else wanted
                carry_out(writer, name, action, self.latest[name], after[name])
        self.model[self.next] = after
        self.next += 1

    @rule(actions=actions)
    def abandon(self, actions: dict[str, tuple[str, Contents]]) -> None:
        with suppress(Abandoned), self.store.commit() as writer:
            for name, (action, wanted) in actions.items():
                carry_out(writer, name, action, self.latest[name], wanted)
            raise Abandoned

    @precondition(lambda self: len(self.model) > 1)
    @rule()
    def undo(self) -> None:
        self.store.undo()
        del self.model[max(self.model)]

    @rule(keep=st.integers(1, 4))
    def vacuum(self, keep: int) -> None:
        forgotten = sorted(self.model)[:-keep]
        assert self.store.vacuum(keep) == tuple(forgotten)
        for number in forgotten:
            del self.model[number]

    @rule()
    def reopen(self) -> None:
        stale, self.store = self.store, Store.open(self.root)
        with self.store.commit() as writer:
            writer.keep_others()
        self.model[self.next] = self.latest
        self.next += 1
        with pytest.raises(StoreError):
            stale.undo()

    @invariant()
    def same(self) -> None:
        assert self.store.numbers == tuple(sorted(self.model))
        for number, state in self.model.items():
            for name, relation in state.items():
                assert found(self.store, name, number) == sorted(rows(relation)), f"{name} in epoch {number}"
                assert self.store.relation(name, number).rows == len(relation)
        assert files_in(self.root) == files_of(self.store)

    def teardown(self) -> None:
        self.store.check()
        self.settings.stop()
        shutil.rmtree(self.root)


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=8, stateful_step_count=12, deadline=None)
