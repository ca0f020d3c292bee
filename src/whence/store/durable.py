"""Files that survive a crash: what was synced is there after it, what replaces a file does so wholly or not at all."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from whence.store.errors import StoreError


def write_synced(path: Path, content: bytes) -> None:
    with open(path, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def replace(path: Path, content: bytes, beside: Path | None = None) -> None:
    """Whoever reads the path, now or after a crash, finds the old content or the new one, written `beside` first."""
    beside = beside or path.with_name(path.name + ".new")
    write_synced(beside, content)
    os.replace(beside, path)
    sync(path.parent)


def make_directory(path: Path) -> None:
    """Makes a directory and the ones above it, those that are not there; their names are on the disk then."""
    if not path.is_dir():
        make_directory(path.parent)
        path.mkdir(exist_ok=True)
        sync(path.parent)


def sync(path: Path) -> None:
    """Brings a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def digest_of(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def locked(path: Path, store: Path) -> Iterator[None]:
    """Holds a lock that no other process can take meanwhile; it is given up if the process ends in any way."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            who = f"process {holder}" if holder else "another process"
            raise StoreError(f"{who} is writing to the store {store}; try again when it is done") from None
        os.ftruncate(descriptor, 0)
        with suppress(OSError):  # who holds it is good to know, no more
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        try:
            yield
        finally:
            os.ftruncate(descriptor, 0)
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # also if a forked child still has the descriptor
    finally:
        os.close(descriptor)


@contextmanager
def writing(store: Path) -> Iterator[None]:
    """What the system refuses is told as a sentence about the store."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"cannot write to the store {store}: {error.strerror or error}") from error
