"""A state directory: what is read from it, and the ways to change it, each of which ends with a new manifest."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from whence.lang import Program, compile_text
from whence.store import durable, parquet
from whence.store.commit import Writer
from whence.store.directory import EPOCHS, LOCK, MANIFEST, keep_only, load, sweep
from whence.store.durable import digest_of, locked, writing
from whence.store.errors import StoreError
from whence.store.manifest import Epoch, File, Manifest, StoredRelation, Unreadable, schemas_of, text_digest


@dataclass(frozen=True)
class Layer:
    """Files of a relation: tuples in `deleted` go from the layers before it, then those in `held` are added."""

    deleted: tuple[str, ...]
    held: tuple[str, ...]


class Store:
    """The epochs in a directory. Any number of processes may read them while one writes."""

    def __init__(self, root: Path) -> None:
        """Use `create` or `open`."""
        self.root = root
        self._manifest = Manifest({})
        self._described: dict[int, Epoch] = {}
        self._sound: set[File] = set()

    @staticmethod
    def create(path: str | os.PathLike[str]) -> Store:
        """A new store without epochs, in a directory that is empty or not there."""
        root = Path(path)
        with writing(root):
            try:
                durable.make_directory(root)
            except FileExistsError as error:
                raise StoreError(f"{error.filename} is a file; name a directory for the store") from None
            _vacant(root)
            with locked(root / LOCK, root):
                _vacant(root)  # nobody else has created it meanwhile
                (root / EPOCHS).mkdir(exist_ok=True)
                durable.replace(root / MANIFEST, Manifest({}).to_json())
        return Store.open(root)

    @staticmethod
    def open(path: str | os.PathLike[str]) -> Store:
        """The store in a directory; its last epoch is complete, as far as sizes of files tell."""
        store = Store(Path(path))
        store.refresh()
        return store

    def __repr__(self) -> str:
        return f"<whence store {self.root}: {len(self.numbers)} epochs, the last is {self._manifest.latest}>"

    def refresh(self) -> None:
        """Takes notice of epochs that others have committed since."""
        while True:
            manifest = load(self.root)
            self._manifest, self._described = manifest, {}
            try:
                if manifest.latest is not None:
                    for file in _files(self.epoch()):
                        self._present(file)
                return
            except StoreError:
                if load(self.root) == manifest:  # not because of a writer that was here in between
                    raise

    # Reading

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the epochs, oldest first. They grow, but need not follow each other."""
        return tuple(self._manifest.epochs)

    @property
    def epochs(self) -> tuple[Epoch, ...]:
        """All epochs, oldest first."""
        return tuple(map(self.epoch, self.numbers))

    @property
    def latest(self) -> Epoch:
        return self.epoch()

    def epoch(self, number: int | None = None) -> Epoch:
        """An epoch, by default the last."""
        number = self._manifest.latest if number is None else number
        if number is None:
            raise StoreError(f"the store {self.root} has no epoch yet; its first run did not end")
        if number not in self._manifest.epochs:
            there = ", ".join(map(str, self.numbers)) if len(self.numbers) < 20 else f"up to {self.numbers[-1]}"
            raise StoreError(f"the store {self.root} has no epoch {number}; there are: {there or 'none'}")
        if number not in self._described:
            path = f"{EPOCHS}/{number}.json"
            try:
                content = (self.root / path).read_bytes()
            except OSError as error:
                raise self._damaged(path, error.strerror or str(error)) from None
            if text_digest(content) != self._manifest.epochs[number]:
                raise self._damaged(path, "its content is not what was written")
            try:
                self._described[number] = Epoch.from_json(content)
            except Unreadable as error:
                raise self._damaged(path, str(error)) from None
        return self._described[number]

    def relation(self, name: str, epoch: int | None = None) -> StoredRelation:
        described = self.epoch(epoch)
        if name not in described.relations:
            there = ", ".join(described.relations)
            raise StoreError(f"epoch {described.number} has no relation {name!r}; there are: {there}")
        return described.relations[name]

    def program_text(self, epoch: int | None = None) -> str:
        """The text of the program of an epoch; `epoch(…).file` is the name it had."""
        file = self.epoch(epoch).program
        self._intact(file)
        return (self.root / file.path).read_bytes().decode()

    def read(self, relation: str, epoch: int | None = None) -> Any:
        """The tuples of a relation as a `pyarrow.Table`, with iteration and count."""
        stored = self.relation(relation, epoch)
        return pa.Table.from_batches(self._batches(stored), parquet.arrow_schema(stored.schema))

    def batches(self, relation: str, epoch: int | None = None) -> Iterator[Any]:
        """The same as record batches, one after the other."""
        return self._batches(self.relation(relation, epoch))

    def rows_of(self, files: Sequence[File], stored: StoredRelation, *, deletes: bool) -> Iterator[Any]:
        """The rows of some files of a relation: of those that delete, or of those that hold."""
        schema = (parquet.deletion_schema if deletes else parquet.arrow_schema)(stored.schema)
        for file in files:
            if file.deletes == deletes:
                yield from self._rows(file, schema)

    def layers(self, relation: str, epoch: int | None = None) -> tuple[Layer, ...]:
        """The files of a relation, for an engine that reads them itself; the first layer deletes nothing."""
        layers: list[Layer] = []
        for file in self.relation(relation, epoch).files:
            path = str(self._present(file))
            if not layers or (file.deletes and layers[-1].held):
                layers.append(Layer((), ()))
            last = layers[-1]
            layers[-1] = (
                replace(last, deleted=(*last.deleted, path)) if file.deletes else replace(last, held=(*last.held, path))
            )
        return tuple(layers)

    def paths(self, relation: str, epoch: int | None = None) -> list[str]:
        """The files of a relation that was written whole: one or more."""
        layers = self.layers(relation, epoch)
        if any(layer.deleted for layer in layers):
            raise StoreError(f"{relation!r} has deleted tuples in files of their own; read its layers")
        return [path for layer in layers for path in layer.held]

    def check(self) -> None:
        """Reads every file of every epoch, and complains of the first that is not as it was written."""
        self._described, self._sound = {}, set()
        for epoch in self.epochs:
            for file in _files(epoch):
                self._intact(file)

    # Changing

    @contextmanager
    def commit(
        self,
        text: str | None = None,
        file: str = "<program>",
        *,
        program: Program | None = None,
        strategy: str | None = None,
        seconds: float | None = None,
        summary: Mapping[str, Any] | None = None,
    ) -> Iterator[Writer]:
        """A new epoch: `with store.commit(…) as writer: writer.write("path", table)`.

        It is there once the block has ended, and not at all if it ends with an exception. The first epoch needs the
        `text` of its program, later ones only if it has changed; give the compiled `program` too if it is at hand.
        """
        with self._exclusive() as manifest:
            parent = None if manifest.latest is None else self.epoch()
            if text is not None:
                schemas = schemas_of(program or compile_text(text, file))
            elif parent is not None:
                schemas = {name: stored.schema for name, stored in parent.relations.items()}
            else:
                raise StoreError("the first epoch of a store needs the text of its program")
            name = file if parent is None or text is not None else parent.file
            writer = Writer(
                self.root, manifest.next, parent, schemas, self._batches, strategy, seconds, dict(summary or {})
            )
            yield writer
            with writing(self.root):
                epoch = writer.finish(None if text is None else text.encode(), name)
                epochs = {**manifest.epochs, epoch.number: text_digest(epoch.to_json())}
                self._replace(Manifest(epochs, epoch.number + 1))

    def undo(self) -> Epoch:
        """Drops the last epoch. Returns the one before, which is now the last."""
        with self._exclusive() as manifest:
            if len(manifest.epochs) < 2:
                raise StoreError(f"there is no epoch before the last one in the store {self.root}: nothing to undo")
            epochs = {number: digest for number, digest in manifest.epochs.items() if number != manifest.latest}
            with writing(self.root):
                self._replace(replace(manifest, epochs=epochs))
        return self.latest

    def vacuum(self, keep: int = 1) -> tuple[int, ...]:
        """Forgets all epochs but the last few, and deletes the files that only they had. Returns their numbers."""
        if keep < 1:
            raise StoreError("at least one epoch has to be kept")
        with self._exclusive() as manifest:
            kept, forgotten = self.numbers[-keep:], self.numbers[:-keep]
            needed = {f"{EPOCHS}/{number}.json" for number in kept}
            needed |= {file.path for number in kept for file in _files(self.epoch(number))}
            with writing(self.root):
                if forgotten:
                    self._replace(replace(manifest, epochs={number: manifest.epochs[number] for number in kept}))
                keep_only(self.root, needed)
        return forgotten

    @contextmanager
    def _exclusive(self) -> Iterator[Manifest]:
        """The right to change the store, as long as nobody has since it was opened. At the end nothing is left over."""
        with ExitStack() as held:
            with writing(self.root):
                held.enter_context(locked(self.root / LOCK, self.root))
            current = load(self.root)
            if current != self._manifest:
                ours, theirs = self._manifest.latest, current.latest
                moved = f"is at epoch {theirs} now, and was at {ours} when it was opened"
                raise StoreError(f"the store {self.root} {moved}; open it again")
            with writing(self.root):
                sweep(self.root, current)
            try:
                yield current
            finally:
                # Whatever has happened, what the manifest on the disk names is what there is.
                self._manifest = load(self.root)
                with suppress(OSError):  # the next writer sweeps again
                    sweep(self.root, self._manifest)

    def _replace(self, manifest: Manifest) -> None:
        durable.replace(self.root / MANIFEST, manifest.to_json())
        self._manifest = manifest

    # Files

    def _batches(self, stored: StoredRelation) -> Iterator[Any]:
        """The rows of all files; where some delete, newest first, without the tuples that a later file deletes."""
        schema = parquet.arrow_schema(stored.schema)
        deleted = parquet.deletion_schema(stored.schema).empty_table()
        for file in reversed(stored.files) if any(file.deletes for file in stored.files) else stored.files:
            if file.deletes:
                more = pa.Table.from_batches(self._rows(file, deleted.schema), deleted.schema)
                deleted = pa.concat_tables([deleted, more])
            else:
                for batch in self._rows(file, schema):
                    yield parquet.without(batch, deleted, stored.schema)

    def _rows(self, file: File, schema: Any) -> Iterator[Any]:
        self._intact(file)
        try:
            yield from parquet.read(self.root / file.path, schema)
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(file.path, str(error)) from None

    def _present(self, file: File) -> Path:
        path = self.root / file.path
        try:
            size = path.stat().st_size
        except OSError as error:
            raise self._damaged(file.path, error.strerror or str(error)) from None
        if size != file.size:
            raise self._damaged(file.path, f"it has {size} bytes instead of {file.size}")
        return path

    def _intact(self, file: File) -> None:
        if file in self._sound:
            return
        path = self._present(file)
        try:
            found = digest_of(path)
        except OSError as error:
            raise self._damaged(file.path, error.strerror or str(error)) from None
        if found != file.digest:
            raise self._damaged(file.path, "its content is not what was written")
        self._sound.add(file)

    def _damaged(self, path: str, what: str) -> StoreError:
        if load(self.root) != self._manifest:
            return StoreError(f"the store {self.root} has changed since it was opened; open it again")
        return StoreError(f"the store {self.root} is damaged at {path}: {what[:1].lower() + what[1:]}")


def _vacant(root: Path) -> None:
    """Whether a store can be created here. Of one that was about to be there may be a lock and an empty folder."""
    if (root / MANIFEST).exists():
        raise StoreError(f"there is a store in {root} already; open it, or name another directory")
    others = {entry.name for entry in root.iterdir()} - {LOCK, EPOCHS, f"{MANIFEST}.new"}
    if others or ((root / EPOCHS).exists() and any((root / EPOCHS).iterdir())):
        raise StoreError(f"{root} has other files in it; name an empty directory for the store")


def _files(epoch: Epoch) -> Iterator[File]:
    yield epoch.program
    for stored in epoch.relations.values():
        yield from stored.files
