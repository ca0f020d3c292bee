"""Tables as the variables of an editor: rows by number, so that a large one is fetched page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from whence.plan.text import value_text
from whence.step import Shown

PAGE = 200  # rows that are given unasked


@dataclass(frozen=True)
class Row:
    names: tuple[str, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Relations:
    """What has been derived, by relation."""

    tables: Sequence[tuple[str, Shown]]


class References:
    """Numbers for what can be opened while the debugger stands."""

    def __init__(self) -> None:
        self._held: dict[int, Shown | Row | Relations] = {}

    def clear(self) -> None:
        self._held.clear()

    def of(self, held: Shown | Row | Relations) -> int:
        number = len(self._held) + 1
        self._held[number] = held
        return number

    def table(self, shown: Shown) -> dict[str, Any]:
        """A table as something that can be opened: its one row, or its rows by number."""
        if len(shown) == 1 and shown.names:
            return {
                "variablesReference": self.of(Row(shown.names, shown.rows()[0])),
                "namedVariables": len(shown.names),
            }
        if not len(shown) or not shown.names:
            return {"variablesReference": 0}
        return {"variablesReference": self.of(shown), "indexedVariables": len(shown)}

    def variables(self, number: int, start: int, count: int) -> list[dict[str, Any]]:
        held = self._held.get(number)
        match held:
            case Row(names, values):
                return [_variable(n, value_text(v)) for n, v in zip(names, values, strict=True)]
            case Relations(tables):
                return [_variable(name, sized(shown)) | self.table(shown) for name, shown in tables]
            case Shown():
                rows = held.rows(start, count or PAGE)
                return [
                    _variable(f"[{start + i}]", row_text(held.names, row))
                    | {"variablesReference": self.of(Row(held.names, row)), "namedVariables": len(row)}
                    for i, row in enumerate(rows)
                ]
        raise KeyError(number)


def row_text(names: Sequence[str], row: Sequence[Any]) -> str:
    return ", ".join(f"{name} = {value_text(value)}" for name, value in zip(names, row, strict=True))


def sized(shown: Shown) -> str:
    return "1 row" if len(shown) == 1 else f"{len(shown):,} rows"


def summary(shown: Shown) -> str:
    """A table as a line."""
    if not shown.names:
        return "true" if len(shown) else "false"
    if len(shown) == 1:
        return row_text(shown.names, shown.rows()[0])
    first = " | ".join(", ".join(map(value_text, row)) for row in shown.rows(0, 5))
    return f"{sized(shown)}" + (f": {first}" + (" | …" if len(shown) > 5 else "") if len(shown) else "")


def _variable(name: str, value: str) -> dict[str, Any]:
    return {"name": name, "value": value, "variablesReference": 0}
