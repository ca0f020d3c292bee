"""What a store says of itself: the manifest names its epochs, each epoch the files of its relations.

    manifest.json             the epochs there are; the only file that is ever replaced
    epochs/7.json, 7.dl       what epoch 7 holds, and its program if it is not that of its parent
    epochs/7/path/*.parquet   the relations that epoch 7 wrote; others are in the folders of earlier epochs

Every file is named with its size and digest, so that damage is noticed. All of it is JSON with plain names, because
people look into it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from whence.lang.program import Kind, Program

FORMAT = "whence store"
VERSION = 1
ITERATION, COUNT = "iteration", "count"


class Unreadable(Exception):
    """Text that is no manifest or epoch; the message ends the sentence "the file …"."""


class Newer(Unreadable):
    """Text of a later version of the format."""


@dataclass(frozen=True)
class File:
    """A file by its path in the store. One that `deletes` takes its tuples away from what the files before it hold."""

    path: str
    size: int
    digest: str
    rows: int = 0
    deletes: bool = False


@dataclass(frozen=True)
class StoredColumn:
    """A column of a relation; `field` is its name in the Parquet files."""

    name: str
    type: str
    kind: Kind
    field: str


@dataclass(frozen=True)
class Schema:
    """The columns of a relation, as its program declares them; `input` if it has an `.input` or no rule."""

    columns: tuple[StoredColumn, ...]
    input: bool

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of all columns in the Parquet files."""
        return (*(column.field for column in self.columns), ITERATION, COUNT)


@dataclass(frozen=True)
class StoredRelation:
    """The tuples of a relation in one epoch. `counted` if their derivations were counted."""

    schema: Schema
    files: tuple[File, ...]
    counted: bool

    @property
    def rows(self) -> int:
        return sum(-file.rows if file.deletes else file.rows for file in self.files)

    @property
    def size(self) -> int:
        """Bytes of its files, those it shares with other epochs included."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True)
class Epoch:
    """A state of a program's relations that was committed, and how it came to be."""

    number: int
    parent: int | None
    committed: datetime
    strategy: str | None
    seconds: float | None
    summary: Mapping[str, Any]
    file: str
    program: File
    relations: Mapping[str, StoredRelation]

    def to_json(self) -> bytes:
        return _dump(asdict(self) | {"committed": self.committed.isoformat()})

    @staticmethod
    def from_json(content: bytes) -> Epoch:
        try:
            found = json.loads(content)
            relations = {name: _relation(entry) for name, entry in found["relations"].items()}
            committed = datetime.fromisoformat(found["committed"])
            return Epoch(
                **found | {"committed": committed, "program": File(**found["program"]), "relations": relations}
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise Unreadable("does not describe an epoch") from error


def _relation(entry: Any) -> StoredRelation:
    schema = entry["schema"]
    columns = tuple(StoredColumn(**column) for column in schema["columns"])
    return StoredRelation(
        Schema(columns, schema["input"]), tuple(File(**file) for file in entry["files"]), entry["counted"]
    )


@dataclass(frozen=True)
class Manifest:
    """The epochs there are, by number, each with the digest of its description, oldest first.

    `next` is the number of the next epoch: a number is never used again, not even that of an epoch that was undone.
    """

    epochs: Mapping[int, str]
    next: int = 0

    @property
    def latest(self) -> int | None:
        return next(reversed(list(self.epochs)), None)

    def to_json(self) -> bytes:
        content = {
            "next": self.next,
            "epochs": [{"number": number, "digest": digest} for number, digest in self.epochs.items()],
        }
        return _dump({"format": FORMAT, "version": VERSION, "digest": text_digest(_dump(content)), **content})

    @staticmethod
    def from_json(content: bytes) -> Manifest:
        try:
            found = json.loads(content)
        except ValueError as error:
            raise Unreadable("is damaged: it is not JSON") from error
        if not isinstance(found, dict) or found.get("format") != FORMAT or not isinstance(found.get("version"), int):
            raise Unreadable("is not that of a Whence store")
        if found["version"] > VERSION:
            raise Newer(f"has version {found['version']}, this Whence reads up to {VERSION}")
        body = {key: found[key] for key in found if key not in ("format", "version", "digest")}
        if text_digest(_dump(body)) != found.get("digest"):
            raise Unreadable("is damaged: its digest does not match")
        try:
            epochs = {entry["number"]: entry["digest"] for entry in found["epochs"]}
            return Manifest(epochs, found["next"])
        except (TypeError, KeyError) as error:
            raise Unreadable("is damaged: something is missing in it") from error


def _dump(content: object) -> bytes:
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    return text.encode(errors="surrogatepass")  # which is what the name of a file may need, and `json` reads


def text_digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# Names


def schemas_of(program: Program) -> dict[str, Schema]:
    """The schemas of all relations of a program."""
    derived = {rule.head.relation for rule in program.rules}
    read = {directive.relation for directive in program.directives_of("input")}
    found = {}
    for name, relation in program.relations.items():
        fields = _fields([column.name for column in relation.columns])
        columns = tuple(
            StoredColumn(column.name, column.type, column.kind, field)
            for column, field in zip(relation.columns, fields, strict=True)
        )
        found[name] = Schema(columns, name in read or name not in derived)
    return found


def _fields(names: list[str]) -> list[str]:
    """The names themselves, but different from each other and from our own, also to Spark, for which X is x."""
    taken = {ITERATION, COUNT}
    fields = []
    for name in names:
        while name.lower() in taken:
            name += "_"
        taken.add(name.lower())
        fields.append(name)
    return fields


def folder_of(relation: str) -> str:
    """The name of a relation's folder: its own name, with what a file name should not have as `-3f-`.

    To Spark and Arrow, what starts with `_` or `.` is not data.
    """
    name = re.sub(r"^[_.]|[^A-Za-z0-9_.]", lambda match: f"-{ord(match[0]):x}-", relation)
    return name if len(name) <= 100 else f"{name[:80]}-{text_digest(name.encode())[:16]}"
