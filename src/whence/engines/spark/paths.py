"""Where the files of `.input` and `.output` are: in a folder of this machine, or wherever a URI says."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_GLOB = re.compile(r"[{}\[\]*?\\]")


@dataclass(frozen=True)
class Place:
    """A file or folder: as people call it, as Spark does, and if it is on this machine its path there."""

    shown: str
    uri: str
    local: Path | None

    @property
    def pattern(self) -> str:
        """For Spark's readers, which take some characters for patterns; what is there under its very name is none."""
        exists = self.local is not None and self.local.exists()
        return _GLOB.sub(r"\\\g<0>", self.uri) if exists else self.uri

    @property
    def hidden(self) -> bool:
        """Spark leaves out what begins with these characters, without a word."""
        name = self.uri.rstrip("/").rsplit("/", 1)[-1]
        return name.startswith(".") or (name.startswith("_") and "=" not in name)

    def name(self, uri: str) -> str:
        """How people call a file that was read there, given as Spark tells it."""
        if self.local is None:
            return uri or self.shown
        if self.local.is_file() or not uri:
            return self.shown
        path = unquote(urlsplit(uri).path)
        root = os.path.abspath(self.local) + os.sep
        return os.path.join(self.shown, path.removeprefix(root)) if path.startswith(root) else path


def place(folder: Path | str, filename: str) -> Place:
    if URI.match(filename):
        return Place(filename, filename, None)
    if URI.match(str(folder)):
        whole = str(folder).rstrip("/")
        if isinstance(folder, Path) and not whole.startswith("file:"):
            whole = whole.replace(":/", "://", 1)  # a Path has dropped a slash
        return Place(f"{whole}/{filename}", f"{whole}/{filename}", None)
    path = Path(folder) / filename
    return Place(str(path), "file:" + os.path.abspath(path), path)


def is_pattern(path: Path) -> bool:
    return bool(_GLOB.search(str(path)))
