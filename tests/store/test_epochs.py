"""Epochs: changed, kept, undone, vacuumed, opened long after; one writer at a time, any number of readers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from store.children import processes
from store.tuples import Row, arrow, files_in, files_of, found
from whence.lang import ProgramError
from whence.store import Layer, Store, StoreError

PROGRAM = """
.decl edge(x: number, y: symbol)
.input edge
.decl path(x: number, y: symbol)
path(x, y) :- edge(x, y).
"""
KINDS = "number symbol"
ROWS: list[Row] = [(number, f"s{number}", 0, 1) for number in range(20)]


def tuples(*rows: Row) -> object:
    return arrow(KINDS, rows)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Twenty edges; no path."""
    store = Store.create(tmp_path / "state")
    with store.commit(PROGRAM, "reach.dl", strategy="bootstrap", seconds=1.5, summary={"paths": 0}) as writer:
        writer.write("edge", tuples(*ROWS))
        writer.write("path", tuples())
    return store


def test_an_epoch_tells_how_it_came_to_be(store: Store) -> None:
    with store.commit(strategy="update") as writer:
        writer.keep("edge", "path")
        writer.seconds, writer.summary["inserted"] = 0.5, 3
    first, second = Store.open(store.root).epochs
    assert (first.number, first.parent, first.strategy, first.seconds) == (0, None, "bootstrap", 1.5)
    assert (second.number, second.parent, second.strategy, second.seconds) == (1, 0, "update", 0.5)
    assert (first.summary, second.summary) == ({"paths": 0}, {"inserted": 3})
    assert first.committed < second.committed
    assert first.file == second.file == "reach.dl"
    assert store.program_text(1) == PROGRAM
    schemas = {name: stored.schema for name, stored in second.relations.items()}
    assert (schemas["edge"].input, schemas["path"].input) == (True, False)
    assert repr(store) == f"<whence store {store.root}: 2 epochs, the last is 1>"


def test_a_program_that_changes(store: Store) -> None:
    text = PROGRAM.replace("path(", "way(") + ".decl edge2(x: float)\n// 日\r\n"
    with store.commit(text, "later.dl") as writer:
        writer.keep("edge")
        writer.write("way", tuples(ROWS[0]))
        with pytest.raises(StoreError, match="no relation 'path'; there are: edge, way, edge2"):
            writer.keep("path")
        with pytest.raises(StoreError, match="'edge2' is not in the epoch before"):
            writer.keep_others()
        writer.write("edge2", [])
    assert (store.program_text(0), store.program_text()) == (PROGRAM, text)
    assert (store.latest.file, found(store, "way"), found(store, "edge")) == ("later.dl", ROWS[:1], sorted(ROWS))
    with pytest.raises(StoreError, match="epoch 1 has no relation 'path'; there are: edge, way, edge2"):
        store.read("path")
    other, refused = text.replace("y: symbol", "z: symbol"), "'edge' had other columns in the epoch before"
    with pytest.raises(StoreError, match=refused), store.commit(other) as writer:
        writer.keep("edge")


def test_a_file_name_that_is_not_text(store: Store) -> None:
    name = os.fsdecode(b"caf\xe9.dl")
    with store.commit(PROGRAM, name) as writer:
        writer.keep_others()
    assert Store.open(store.root).latest.file == name


# Changes


def test_changes_cost_as_much_as_they_are_large(store: Store) -> None:
    with store.commit() as writer:
        writer.change("edge", tuples((100, "new", 0, 1)), tuples(ROWS[3], ROWS[4]))
        writer.keep_others()
    names = [file.path.split("/", 2)[2] for file in store.relation("edge").files]
    assert names == ["edge/part-00000.parquet", "edge/deleted-00000.parquet", "edge/inserted-00000.parquet"]
    assert store.relation("edge").rows == 19
    assert found(store, "edge") == [*ROWS[:3], *ROWS[5:], (100, "new", 0, 1)]
    assert found(store, "edge", 0) == ROWS
    part, deleted, inserted = (str(store.root / file.path) for file in store.relation("edge").files)
    assert store.layers("edge") == (Layer((), (part,)), Layer((deleted,), (inserted,)))
    assert store.paths("edge", 0) == [part]
    with pytest.raises(StoreError, match="'edge' has deleted tuples in files of their own; read its layers"):
        store.paths("edge")


def test_a_tuple_comes_back_with_another_iteration_or_count(store: Store) -> None:
    again: list[Row] = [(3, "s3", 7, 1), (3, "s3", 7, 9)]
    before = ROWS[3]
    for row in again:
        with store.commit() as writer:
            writer.change("edge", tuples(row), tuples(before))
            writer.keep_others()
        before = row
    with store.commit() as writer:
        writer.change("edge", tuples(), tuples(before))
        writer.keep_others()
    with store.commit() as writer:
        writer.change("edge", tuples(ROWS[3]), tuples())
        writer.keep_others()
    others = [*ROWS[:3], *ROWS[4:]]
    histories = [ROWS, sorted([*others, again[0]]), sorted([*others, again[1]]), others, ROWS]
    assert [found(store, "edge", number) for number in store.numbers] == histories


def test_an_empty_change_writes_nothing(store: Store) -> None:
    with store.commit() as writer:
        writer.change("edge", tuples(), [])
        writer.change("path", [], tuples())
    assert store.relation("edge") == store.relation("edge", 0)
    assert not list(store.root.glob("epochs/1/*/*"))


def test_large_or_many_changes_are_written_whole(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.commit() as writer:
        writer.change("edge", tuples((50, "x", 1, 1)), tuples(*ROWS[:10]))
        writer.change("path", tuples(*ROWS), tuples())
    assert [len(store.paths(name)) for name in ("edge", "path")] == [1, 1]
    assert (found(store, "edge"), found(store, "path")) == ([*ROWS[10:], (50, "x", 1, 1)], ROWS)
    assert files_in(store.root) == files_of(store)
    monkeypatch.setattr("whence.store.commit.CHANGED_SHARE", 100)
    monkeypatch.setattr("whence.store.commit.CHANGE_FILES", 5)
    sizes = []
    for row in ROWS[:8]:
        with store.commit() as writer:
            writer.change("path", tuples(), tuples(row))
            writer.keep_others()
        sizes.append(len(store.relation("path").files))
    assert sizes == [2, 3, 4, 5, 6, 1, 2, 3]
    assert found(store, "path") == ROWS[8:]


# What a writer has to do


def test_a_relation_is_written_once_and_none_is_left_out(store: Store) -> None:
    missing = "cannot be committed without path: write or keep them"
    with pytest.raises(StoreError, match=missing), store.commit() as writer:
        writer.write("edge", tuples())
    with store.commit() as writer:
        writer.write("edge", tuples())
        with pytest.raises(StoreError, match="'edge' was written to epoch 1 before; a relation is written once"):
            writer.keep("edge")
        writer.keep_others()
    assert store.numbers == (0, 1)
    assert found(store, "edge") == []


def test_an_epoch_that_fails_leaves_nothing(store: Store) -> None:
    before = files_in(store.root)

    def fail() -> None:
        with store.commit() as writer:
            writer.write("edge", tuples())
            writer.staging("path").mkdir()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    unwritable = "the summary of epoch 1 cannot be written as JSON"
    with pytest.raises(StoreError, match=unwritable), store.commit(summary={"set": {1}}) as writer:
        writer.keep_others()
    with pytest.raises(ProgramError), store.commit(".decl"):
        raise AssertionError("the program is wrong")
    assert files_in(store.root) == before
    assert found(store, "edge") == ROWS
    assert Store.open(store.root).numbers == (0,)


def test_a_relation_that_failed_can_be_written_again(store: Store) -> None:
    with store.commit() as writer:
        with pytest.raises(ZeroDivisionError):
            writer.write("edge", (tuples(ROWS[place], ROWS[1 // place]) for place in (1, 0)))
        writer.write("edge", tuples(ROWS[5]))
        writer.keep_others()
    assert found(store, "edge") == [ROWS[5]]
    assert files_in(store.root) == files_of(store)


def test_the_first_epoch_needs_a_program(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    with pytest.raises(StoreError, match="the first epoch of a store needs the text of its program"), store.commit():
        raise AssertionError("there is no program")
    with pytest.raises(StoreError, match="has no epoch yet; its first run did not end"):
        store.read("edge")


# Going back


def test_undo(store: Store) -> None:
    with store.commit() as writer:
        writer.write("edge", tuples())
        writer.keep("path")
    assert store.undo().number == 0
    assert (store.numbers, found(store, "edge")) == ((0,), ROWS)
    assert files_in(store.root) == files_of(store)
    with store.commit() as writer:
        writer.write("edge", tuples(ROWS[1]))
        writer.keep("path")
    assert (store.numbers, store.latest.parent) == ((0, 2), 0), "the number of an epoch that was undone is used again"
    store.undo()
    with pytest.raises(StoreError, match=r"there is no epoch before the last one .*: nothing to undo"):
        store.undo()
    with pytest.raises(StoreError, match="has no epoch 2; there are: 0"):
        store.read("edge", 2)


def test_vacuum(store: Store) -> None:
    contents = [ROWS]
    for number in range(1, 6):
        row = (number + 100, "new", 0, 1)
        with store.commit(PROGRAM if number == 3 else None) as writer:
            writer.change("edge", tuples(row), tuples(ROWS[number]))
            writer.keep_others()
        contents.append(sorted({*contents[-1], row} - {ROWS[number]}))
    with pytest.raises(StoreError, match="at least one epoch has to be kept"):
        store.vacuum(0)
    assert store.vacuum(10) == ()
    assert store.vacuum(2) == (0, 1, 2, 3)
    assert files_in(store.root) == files_of(store)
    assert [found(store, "edge", number) for number in store.numbers] == contents[4:]
    store.undo()
    assert found(store, "edge") == contents[4]
    with store.commit() as writer:
        writer.write("edge", tuples())
        writer.write("path", tuples())
    store = Store.open(store.root)
    assert store.vacuum() == (4,)
    assert files_in(store.root) == files_of(store)
    assert {path.name for path in (store.root / "epochs").iterdir()} == {"3.dl", "6", "6.json"}
    assert (store.program_text(), found(store, "edge")) == (PROGRAM, [])
    store.check()


# Others


def commit_elsewhere(root: Path, undo: bool = False) -> None:
    store = Store.open(root)
    if undo:
        store.undo()
    with store.commit() as writer:
        writer.write("edge", tuples(ROWS[0]))
        writer.keep_others()


def in_another_process(root: Path, undo: bool = False) -> None:
    process = processes.Process(target=commit_elsewhere, args=(root, undo))
    process.start()
    process.join()
    assert process.exitcode == 0


def test_a_second_writer_is_refused(store: Store) -> None:
    other = Store.open(store.root)
    busy = f"process {os.getpid()} is writing to the store {store.root}; try again when it is done"
    with store.commit() as writer:
        for change in (other.undo, other.vacuum, other.commit().__enter__, store.commit().__enter__):
            with pytest.raises(StoreError, match=busy):
                change()
        assert found(other, "edge") == ROWS
        writer.write("edge", tuples())
        writer.keep_others()
    assert found(Store.open(store.root), "edge") == []


def test_opened_before_another_process_committed(store: Store) -> None:
    in_another_process(store.root)
    assert (store.numbers, found(store, "edge")) == ((0,), ROWS)
    moved = "is at epoch 1 now, and was at 0 when it was opened; open it again"
    with pytest.raises(StoreError, match=moved), store.commit():
        raise AssertionError("this is not the last epoch any more")
    store.refresh()
    assert (store.numbers, found(store, "edge")) == ((0, 1), ROWS[:1])
    with store.commit() as writer:
        writer.keep_others()
    in_another_process(store.root, undo=True)
    assert found(store, "edge", 0) == ROWS
    Store.open(store.root).vacuum()
    with pytest.raises(StoreError, match="has changed since it was opened; open it again"):
        store.read("edge", 0)
