"""A change: by input relation, the tuples to be inserted and those to be deleted; and the program, if rules change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from whence.errors import WhenceError
from whence.lang.program import Program

Tuples = Sequence[tuple[Any, ...]]


@dataclass(frozen=True)
class Change:
    """Tuples hold Python values: records are tuples, nil is None. Only relations with some are named.

    `program` is the one after the change, if that is another one. `ignored` of what was asked for changes nothing.
    """

    insert: Mapping[str, Tuples] = field(default_factory=lambda: MappingProxyType({}))
    delete: Mapping[str, Tuples] = field(default_factory=lambda: MappingProxyType({}))
    program: Program | None = field(default=None, repr=False)
    ignored: int = 0

    def __bool__(self) -> bool:
        return bool(self.insert or self.delete or self.program is not None)

    @property
    def sizes(self) -> dict[str, tuple[int, int]]:
        """By relation, how many tuples are to be inserted and how many deleted."""
        names = dict.fromkeys([*self.insert, *self.delete])
        return {name: (len(self.insert.get(name, ())), len(self.delete.get(name, ()))) for name in names}


def change_of(
    signed: Sequence[tuple[bool, str, tuple[Any, ...]]], program: Program | None = None, ignored: int = 0
) -> Change:
    """Of what is inserted (True) or deleted, by relation; a tuple that is named twice counts once."""
    sides: tuple[dict[str, dict[Any, tuple[Any, ...]]], dict[str, dict[Any, tuple[Any, ...]]]] = ({}, {})
    for inserts, relation, values in signed:
        sides[inserts].setdefault(relation, {})[_key(values)] = values
    deleted, inserted = (
        MappingProxyType({relation: tuple(found.values()) for relation, found in side.items()}) for side in sides
    )
    return Change(inserted, deleted, program, ignored)


def merged(changes: Sequence[tuple[str, Change]], lenient: bool = False) -> Change:
    """Changes one after the other, each with a name, as a single one; each was read with the program of the one before.

    A tuple that is inserted and then deleted, or the other way round, is as it was before. One that is inserted twice
    cannot be; when `lenient`, the last of the changes that name it is what counts.
    """
    last: dict[tuple[str, Any], tuple[bool, str, tuple[Any, ...]]] = {}
    for name, change in changes:
        for inserts, side in ((False, change.delete), (True, change.insert)):
            for relation, tuples in side.items():
                for values in tuples:
                    key = (relation, _key(values))
                    before = last.get(key)
                    if lenient or before is None:
                        last[key] = (inserts, name, values)
                    elif before[0] == inserts:
                        done = "inserted" if inserts else "deleted"
                        where = f"{before[1]} and again by {name}"
                        raise WhenceError(
                            f"{relation}{values!r} is {done} by {where}; remove one of them, or be lenient"
                        )
                    else:
                        del last[key]
    programs = [change.program for _, change in changes if change.program is not None]
    ignored = sum(change.ignored for _, change in changes)
    signed = [(inserts, relation, values) for (relation, _), (inserts, _, values) in last.items()]
    return change_of(signed, programs[-1] if programs else None, ignored)


def _key(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """What makes tuples one: 0.0 and -0.0 are two values, nan is one."""
    return tuple(map(_part, values))


def _part(value: Any) -> Any:
    if isinstance(value, float):
        return "nan" if value != value else value.hex()
    return _key(value) if isinstance(value, tuple) else value
