"""The directory of a store: its manifest is read, and what the manifest does not name is removed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Set
from pathlib import Path

from whence.store.errors import StoreError
from whence.store.manifest import Manifest, Newer, Unreadable

MANIFEST, LOCK, EPOCHS = "manifest.json", "lock", "epochs"


def load(root: Path) -> Manifest:
    try:
        content = (root / MANIFEST).read_bytes()
    except FileNotFoundError:
        if not root.exists():
            raise StoreError(f"there is no store in {root}: it does not exist") from None
        raise StoreError(f"{root} is not a Whence store: it has no {MANIFEST}") from None
    except NotADirectoryError:
        raise StoreError(f"{root} is not a Whence store: it is a file") from None
    except OSError as error:
        raise StoreError(f"cannot read the store {root}: {error.strerror or error}") from None
    try:
        return Manifest.from_json(content)
    except Newer as error:
        raise StoreError(f"the store {root} was written by a newer Whence: its {MANIFEST} {error}") from None
    except Unreadable as error:
        raise StoreError(f"{root} cannot be opened as a store: its {MANIFEST} {error}") from None


def sweep(root: Path, manifest: Manifest) -> None:
    """Removes what epochs left behind that were never committed, or were undone: they come after the last one."""
    latest = -1 if manifest.latest is None else manifest.latest
    for entry in list(os.scandir(root / EPOCHS)):
        number, _, suffix = entry.name.partition(".")
        if number.isdecimal() and (int(number) > latest or suffix == "staging"):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry)
            else:
                os.unlink(entry)


def keep_only(root: Path, needed: Set[str]) -> None:
    """Removes all other files of epochs, and the folders that are empty then."""
    epochs = root / EPOCHS
    for folder, _, names in os.walk(epochs, topdown=False):
        for name in names:
            path = Path(folder, name)
            if path.relative_to(root).as_posix() not in needed:
                path.unlink()
        if Path(folder) != epochs and not os.listdir(folder):
            os.rmdir(folder)
