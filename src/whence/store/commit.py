"""An epoch in the making: files are written beside what is there, and belong to nothing until the manifest says so."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from whence.store import parquet
from whence.store.durable import digest_of, sync, write_synced, writing
from whence.store.errors import StoreError
from whence.store.manifest import Epoch, File, Schema, StoredRelation, folder_of, text_digest
from whence.store.parquet import Written

# A relation is written whole once its changes would have more tuples than this share of it, or more files than this.
CHANGED_SHARE = 0.25
CHANGE_FILES = 32


@dataclass
class Writer:
    """Takes the relations of a new epoch. Every relation of the program is written, changed or kept.

    `strategy`, `seconds` and `summary` may be set until the epoch is committed.
    """

    root: Path
    number: int
    parent: Epoch | None
    schemas: Mapping[str, Schema]
    read: Callable[[StoredRelation], Iterator[Any]] = field(repr=False)
    strategy: str | None = None
    seconds: float | None = None
    summary: dict[str, Any] = field(default_factory=dict)
    relations: dict[str, StoredRelation] = field(default_factory=dict)

    def write(self, relation: str, data: Any) -> StoredRelation:
        """Writes all tuples of a relation: Arrow data, or an iterable of record batches or tables.

        The columns are those of the relation, in order, then the iteration, then, if derivations were counted,
        their number.
        """
        schema = self._schema(relation)
        with writing(self.root):
            files = parquet.write(self._folder(relation), "part", parquet.arrow_schema(schema), data, relation)
            return self._put(relation, schema, files)

    def staging(self, relation: str) -> Path:
        """A path on the store's own disk, where there is nothing yet, for files that are adopted then."""
        self._schema(relation)
        folder = self.root / "epochs" / f"{self.number}.staging"
        with writing(self.root):
            folder.mkdir(exist_ok=True)
        return folder / folder_of(relation)

    def adopt(self, relation: str, folder: str | os.PathLike[str] | None = None) -> StoredRelation:
        """Moves the Parquet files that were written into a folder, by default `staging`, into the store.

        They must have the fields of the relation's schema; what starts with `_` or `.` is left where it is.
        """
        schema = self._schema(relation)
        source = self.staging(relation) if folder is None else Path(folder)
        if not source.is_dir():
            raise StoreError(f"there is no folder {source} to take the tuples of {relation!r} from")
        found = sorted(path for path in source.glob("*.parquet") if path.name[0] not in "_.")
        inspected = [parquet.inspected(path, schema, relation) for path in found]
        full = [file for file in inspected if file.rows] or inspected[:1]
        if not full:
            return self.write(relation, [])
        with writing(self.root):
            target = self._folder(relation)
            moved = []
            for place, file in enumerate(full):
                path = target / f"part-{place:05}.parquet"
                shutil.move(file.path, path)
                moved.append(replace(file, path=path))
            return self._put(relation, schema, moved)

    def change(self, relation: str, inserted: Any, deleted: Any) -> StoredRelation:
        """Writes what is different from the parent: the tuples deleted, and those inserted, with iteration and count.

        What is deleted must be in the parent, and what is inserted must not, unless it is deleted too: so a tuple
        gets another iteration or count. Costs as much as the change is large; every now and then the relation is
        written whole.
        """
        schema, before = self._schema(relation), self._before(relation)
        with writing(self.root):
            folder = self._folder(relation)
            gone = parquet.deletions(deleted, schema, relation)
            minus = _full(parquet.write(folder, "deleted", parquet.deletion_schema(schema), gone, relation))
            plus = _full(parquet.write(folder, "inserted", parquet.arrow_schema(schema), inserted, relation))
            layer = self._files(minus, deletes=True) + self._files(plus)
            counted = self._counted(plus, relation)
            if counted is not None and before.rows and counted != before.counted:
                raise StoreError(f"{relation!r} has counts before or after the change only; write it whole")
            after = StoredRelation(schema, (*before.files, *layer), before.counted if counted is None else counted)
            changes = [file for file in after.files if not file.path.rpartition("/")[2].startswith("part-")]
            if sum(file.rows for file in changes) > CHANGED_SHARE * before.rows or len(changes) > CHANGE_FILES:
                whole = parquet.write(folder, "part", parquet.arrow_schema(schema), self.read(after), relation)
                for file in (*minus, *plus):
                    file.path.unlink()
                return self._put(relation, schema, whole)
            return self._settle(relation, after)

    def continues(self, relation: str) -> bool:
        """Whether the parent has the relation, with the same columns, so that it can be kept or changed."""
        before = None if self.parent is None else self.parent.relations.get(relation)
        return before is not None and before.schema.columns == self.schemas[relation].columns

    def keep(self, *relations: str) -> None:
        """Takes relations over from the parent; their files are shared."""
        for relation in relations:
            self._schema(relation)
            self._settle(relation, replace(self._before(relation), schema=self.schemas[relation]))

    def keep_others(self) -> None:
        """Keeps every relation that was not written."""
        self.keep(*(relation for relation in self.schemas if relation not in self.relations))

    def finish(self, program: bytes | None, file: str) -> Epoch:
        """Brings all files to the disk and describes the epoch; the manifest may now name it."""
        missing = [relation for relation in self.schemas if relation not in self.relations]
        if missing:
            raise StoreError(
                f"epoch {self.number} cannot be committed without {', '.join(missing)}: write or keep them"
            )
        try:
            json.dumps(self.summary)
        except (TypeError, ValueError) as error:
            raise StoreError(f"the summary of epoch {self.number} cannot be written as JSON: {error}") from None
        epochs = self.root / "epochs"
        if program is None:
            assert self.parent is not None
            text = self.parent.program
        else:
            write_synced(epochs / f"{self.number}.dl", program)
            text = File(f"epochs/{self.number}.dl", len(program), text_digest(program))
        epoch = Epoch(
            self.number,
            None if self.parent is None else self.parent.number,
            datetime.now(UTC),
            self.strategy,
            self.seconds,
            self.summary,
            file,
            text,
            {relation: self.relations[relation] for relation in self.schemas},
        )
        write_synced(epochs / f"{self.number}.json", epoch.to_json())
        folders = {(self.root / f.path).parent for r in self.relations.values() for f in r.files}
        own = epochs / str(self.number)
        for folder in (*(folder for folder in folders if folder.parent == own), own, epochs):
            if folder.exists():
                sync(folder)
        return epoch

    # What all of them do

    def _schema(self, relation: str) -> Schema:
        if relation not in self.schemas:
            raise StoreError(f"the program has no relation {relation!r}; there are: {', '.join(self.schemas)}")
        if relation in self.relations:
            raise StoreError(f"{relation!r} was written to epoch {self.number} before; a relation is written once")
        return self.schemas[relation]

    def _before(self, relation: str) -> StoredRelation:
        before = None if self.parent is None else self.parent.relations.get(relation)
        if before is None:
            raise StoreError(f"{relation!r} is not in the epoch before, so it cannot be kept or changed; write it")
        if before.schema.columns != self.schemas[relation].columns:
            raise StoreError(f"{relation!r} had other columns in the epoch before; write it")
        return before

    def _folder(self, relation: str) -> Path:
        folder = self.root / "epochs" / str(self.number) / folder_of(relation)
        shutil.rmtree(folder, ignore_errors=True)  # of an attempt to write it that failed and was caught
        folder.mkdir(parents=True)
        return folder

    def _put(self, relation: str, schema: Schema, written: Sequence[Written]) -> StoredRelation:
        counted = self._counted(written, relation)
        return self._settle(relation, StoredRelation(schema, self._files(written), counted is not False))

    def _settle(self, relation: str, stored: StoredRelation) -> StoredRelation:
        self.relations[relation] = stored
        return stored

    def _counted(self, written: Sequence[Written], relation: str) -> bool | None:
        counted = None
        for file in written:
            counted = parquet.agreed(counted, file.counted, relation)
        return counted

    def _files(self, written: Sequence[Written], deletes: bool = False) -> tuple[File, ...]:
        files = []
        for one in written:
            sync(one.path)
            path = one.path.relative_to(self.root).as_posix()
            files.append(File(path, one.path.stat().st_size, digest_of(one.path), one.rows, deletes))
        return tuple(files)


def _full(written: Sequence[Written]) -> list[Written]:
    """The files that have rows; others are removed."""
    for file in written:
        if not file.rows:
            file.path.unlink()
    return [file for file in written if file.rows]
