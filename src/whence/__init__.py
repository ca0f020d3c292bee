"""Datalog whose results stay current and can say where they come from.

import whence
s = whence.open("pointsto.dl")
s.load(assign=[("a", "b")], new="new.facts")
s.run()
for variable, target in s["vpt"]: ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whence.engines.spark.options import Options
    from whence.errors import WhenceError
    from whence.queries import Answer, query
    from whence.results import Result
    from whence.session import Session, open
    from whence.state import open_state
    from whence.streaming import stream

__all__ = ["Answer", "Options", "Result", "Session", "WhenceError", "open", "open_state", "query", "stream"]

_HOMES = {
    "Answer": "queries",
    "Options": "engines.spark.options",
    "Result": "results",
    "Session": "session",
    "WhenceError": "errors",
    "open": "session",
    "open_state": "state",
    "query": "queries",
    "stream": "streaming",
}


def __getattr__(name: str) -> Any:
    """Modules are imported when they are first used, so that the command line starts quickly."""
    if name not in _HOMES:
        raise AttributeError(f"module 'whence' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"whence.{_HOMES[name]}"), name)
