"""Where the state of a session is."""

from __future__ import annotations

from typing import Any

from whence.engines.local.tables import LocalTables
from whence.explain.state import InMemory, State


def state_of(tables: Any) -> State:
    assert isinstance(tables, LocalTables)
    return InMemory(tables)
