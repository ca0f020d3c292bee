"""Circuits over Z-sets: DBSP as a library, and the dynamic Datalog interpreter that is built of it.

    from whence.circuit import Circuit, ZSet

See docs/circuits.md.
"""

from __future__ import annotations

from whence.errors import WhenceError

from .circuit import Circuit, Stream
from .zset import LEFT, RIGHT, ZSet

__all__ = ["LEFT", "RIGHT", "Circuit", "Stream", "WhenceError", "ZSet"]
