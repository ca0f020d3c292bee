"""Files that take their places together: once all of them are written, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO


class Replacing:
    """Files that are being written, under other names until the end. What is no plain file is written directly."""

    def __init__(self) -> None:
        self._unfinished: dict[str, str] = {}  # by path: the name until the end

    @contextmanager
    def open(self, target: str | os.PathLike[str]) -> Iterator[BinaryIO]:
        path = os.path.realpath(target)
        if not os.path.exists(path) or os.path.isfile(path):
            path = self._unfinished.setdefault(path, f"{path}.{os.getpid()}.tmp")
        with open(path, "wb") as stream:
            yield stream

    def finish(self) -> None:
        for path, unfinished in self._unfinished.items():
            os.replace(unfinished, path)

    def drop(self) -> None:
        for unfinished in self._unfinished.values():
            with suppress(OSError):
                os.unlink(unfinished)


@contextmanager
def replacing() -> Iterator[Replacing]:
    files = Replacing()
    try:
        yield files
        files.finish()
    except BaseException:
        files.drop()
        raise
