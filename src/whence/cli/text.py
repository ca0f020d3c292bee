"""Values, sizes and times as lines that people read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def shown(value: Any) -> str:
    """A value as files of facts have it: symbols as they are, records in brackets."""
    if value is None:
        return "nil"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(shown, value))}]"
    return str(value)


def signed(sizes: tuple[int, int]) -> str:
    """`+3 -1`: tuples inserted and deleted."""
    return f"+{sizes[0]:,} -{sizes[1]:,}"


def time_text(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 0.001:
        return "<1 ms"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.2f} s" if seconds < 100 else f"{seconds:,.0f} s"


def columns(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Rows as lines with columns of even width; those numbered in `right` are set to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
