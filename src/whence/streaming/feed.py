"""A change feed: a folder with a file of JSON lines for each epoch, one line a tuple that was inserted or deleted.

    {"epoch": 7, "op": "+", "relation": "path", "tuple": [1, 4]}

A file appears when all of it is written, under a name that says its epoch; what is unfinished begins with a `.`, so
Spark and most others do not read it. An epoch without impact has an empty file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from whence.errors import WhenceError
from whence.results import in_order
from whence.store import durable

Tuples = Iterable[tuple[Any, ...]]


class Feed:
    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            durable.make_directory(self.folder)
        except OSError as error:
            raise WhenceError(f"{self.folder}: there can be no change feed: {error.strerror or error}") from None

    def path(self, epoch: int) -> Path:
        return self.folder / f"epoch-{epoch:08}.jsonl"

    def has(self, epoch: int) -> bool:
        return self.path(epoch).exists()

    def write(self, epoch: int, inserted: Mapping[str, Tuples], deleted: Mapping[str, Tuples]) -> None:
        """Deletions come first, so that whoever follows the feed never has both of two versions."""
        lines = [
            json.dumps({"epoch": epoch, "op": op, "relation": relation, "tuple": values}, ensure_ascii=False)
            for op, side in (("-", deleted), ("+", inserted))
            for relation in sorted(side)
            for values in sorted(side[relation], key=in_order)
        ]
        content = "".join(line + "\n" for line in lines).encode(errors="surrogatepass")
        path = self.path(epoch)
        try:
            durable.replace(path, content, path.with_name(f".{path.name}"))
        except OSError as error:
            raise WhenceError(f"{path}: the change feed cannot be written: {error.strerror or error}") from None
