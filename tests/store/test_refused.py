"""What is no store, or a newer one, or damaged, is refused with one sentence that says so, wherever that is found."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from store.tuples import Row, arrow, files_in, found
from whence.store import Store, StoreError

ROWS: list[Row] = [(number, 0, 1) for number in range(1000)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two epochs; the second keeps `edge`."""
    store = Store.create(tmp_path / "state")
    with store.commit(".decl edge(x: number)\n.decl path(x: number)") as writer:
        writer.write("edge", arrow("number", ROWS))
        writer.write("path", [])
    with store.commit() as writer:
        writer.write("path", arrow("number", ROWS))
        writer.keep("edge")
    return store.root


def complaint(act: Callable[[], object]) -> str:
    with pytest.raises(StoreError) as raised:
        act()
    message = str(raised.value)
    assert "\n" not in message
    return message


def test_no_store(tmp_path: Path) -> None:
    assert complaint(lambda: Store.open(tmp_path)) == f"{tmp_path} is not a Whence store: it has no manifest.json"
    nowhere = tmp_path / "nowhere"
    assert complaint(lambda: Store.open(nowhere)) == f"there is no store in {nowhere}: it does not exist"
    file = tmp_path / "file"
    file.write_text("text")
    assert complaint(lambda: Store.open(file)) == f"{file} is not a Whence store: it is a file"
    assert complaint(lambda: Store.create(file)) == f"{file} is a file; name a directory for the store"
    assert complaint(lambda: Store.create(file / "in")) == f"{file} is a file; name a directory for the store"
    assert complaint(lambda: Store.create(tmp_path)).endswith(
        "has other files in it; name an empty directory for the store"
    )


def test_a_store_that_is_there_is_not_created_again(root: Path) -> None:
    expected = f"there is a store in {root} already; open it, or name another directory"
    assert complaint(lambda: Store.create(root)) == expected
    (root / "manifest.json").unlink()
    before = files_in(root)
    assert complaint(lambda: Store.create(root)).endswith("name an empty directory for the store")
    assert files_in(root) == before


def test_a_store_whose_creation_was_cut_short_is_created(tmp_path: Path) -> None:
    root = tmp_path / "several/folders/deep"
    (root / "epochs").mkdir(parents=True)
    (root / "lock").touch()
    (root / "manifest.json.new").write_text("{")
    assert Store.create(root).numbers == ()
    assert files_in(root) == {"lock", "manifest.json"}
    assert Store.create(tmp_path / "more/folders").numbers == ()


MANIFESTS = {
    "": "cannot be opened as a store: its manifest.json is damaged: it is not JSON",
    '{"format": ': "is damaged: it is not JSON",
    "[]": "its manifest.json is not that of a Whence store",
    '{"name": "an extension", "version": 3}': "its manifest.json is not that of a Whence store",
    '{"format": "whence store", "version": "1"}': "its manifest.json is not that of a Whence store",
    '{"format": "whence store", "version": 1}': "its manifest.json is damaged: its digest does not match",
    '{"format": "whence store", "version": 2, "anything": 1}': (
        "was written by a newer Whence: its manifest.json has version 2, this Whence reads up to 1"
    ),
}


@pytest.mark.parametrize("text", MANIFESTS)
def test_another_manifest(text: str, root: Path) -> None:
    (root / "manifest.json").write_text(text)
    assert MANIFESTS[text] in complaint(lambda: Store.open(root))


def test_a_manifest_that_is_not_text(root: Path) -> None:
    (root / "manifest.json").write_bytes(b"\xff\xfe\x00")
    assert "is damaged: it is not JSON" in complaint(lambda: Store.open(root))
    (root / "manifest.json").unlink()
    (root / "manifest.json").mkdir()
    assert complaint(lambda: Store.open(root)) == f"cannot read the store {root}: Is a directory"


def test_a_manifest_that_was_edited(root: Path) -> None:
    manifest = json.loads((root / "manifest.json").read_text())
    manifest["epochs"].pop()
    (root / "manifest.json").write_text(json.dumps(manifest))
    assert "its manifest.json is damaged: its digest does not match" in complaint(lambda: Store.open(root))


PARQUET = "epochs/1/path/part-00000.parquet"


@pytest.mark.parametrize("path", ["epochs/1.json", "epochs/0.dl", PARQUET, "epochs/0/edge/part-00000.parquet"])
def test_a_file_that_is_missing(path: str, root: Path) -> None:
    (root / path).unlink()
    expected = f"the store {root} is damaged at {path}: no such file or directory"
    assert complaint(lambda: Store.open(root)) == expected


def test_a_file_that_is_shorter(root: Path) -> None:
    size = (root / PARQUET).stat().st_size
    os.truncate(root / PARQUET, size - 7)
    expected = f"the store {root} is damaged at {PARQUET}: it has {size - 7} bytes instead of {size}"
    assert complaint(lambda: Store.open(root)) == expected


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 0x40
    path.write_bytes(content)


@pytest.mark.parametrize("place", [0, 50, -1])
def test_a_file_in_which_a_bit_is_another(place: int, root: Path) -> None:
    """Its size is right, so that it opens; nobody reads wrong tuples from it."""
    store = Store.open(root)
    flip(root / PARQUET, place)
    expected = f"the store {root} is damaged at {PARQUET}: its content is not what was written"
    assert complaint(lambda: store.read("path")) == expected
    assert complaint(lambda: list(store.batches("path"))) == expected
    assert complaint(store.check) == expected
    assert complaint(Store.open(root).check) == expected
    assert found(store, "edge") == ROWS


def test_damage_that_comes_after_reading_is_found_by_a_check(root: Path) -> None:
    store = Store.open(root)
    store.check()
    assert found(store, "path") == ROWS
    flip(root / PARQUET, 50)
    assert "its content is not what was written" in complaint(store.check)


@pytest.mark.parametrize("path", ["epochs/0.json", "epochs/0.dl", "epochs/0/path/part-00000.parquet"])
def test_an_old_epoch_that_is_damaged(path: str, root: Path) -> None:
    flip(root / path, 10)
    store = Store.open(root)
    expected = f"the store {root} is damaged at {path}: its content is not what was written"
    assert complaint(store.check) == expected
    assert found(store, "path", 1) == ROWS


def test_a_damaged_relation_is_not_changed(root: Path) -> None:
    store = Store.open(root)
    flip(root / PARQUET, 50)

    def change() -> None:
        with store.commit() as writer:
            writer.change("path", [], arrow("number", ROWS[:500]))
            writer.keep_others()

    assert "its content is not what was written" in complaint(change)
    assert Store.open(root).numbers == (0, 1)


def test_a_store_without_its_folder(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    (tmp_path / "epochs").rmdir()
    expected = f"cannot write to the store {tmp_path}: No such file or directory"
    assert complaint(lambda: store.commit(".decl r(x: number)").__enter__()) == expected


def test_a_store_that_is_gone(root: Path) -> None:
    store = Store.open(root)
    root.rename(root.with_name("elsewhere"))
    assert complaint(lambda: store.read("path")) == f"there is no store in {root}: it does not exist"
    assert "No such file or directory" in complaint(lambda: store.commit().__enter__())


def test_a_directory_that_cannot_be_written(root: Path) -> None:
    (root / "lock").unlink()
    (root / "lock").mkdir()
    store = Store.open(root)
    assert found(store, "path") == ROWS
    assert complaint(lambda: store.commit().__enter__()) == f"cannot write to the store {root}: Is a directory"


def test_a_disk_that_is_full(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    store = Store.open(root)
    before = files_in(root)

    def commit() -> None:
        with store.commit() as writer:
            writer.write("path", [])
            writer.keep_others()

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert complaint(commit) == f"cannot write to the store {root}: No space left on device"
    assert files_in(root) == before
    commit()
    assert found(Store.open(root), "path") == []
