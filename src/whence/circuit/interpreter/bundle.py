"""Bundles: Z-sets of several forms at once, each under a number, such as the facts of all relations. A group like
theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from whence.circuit.zset import ZSet


class Bundle:
    __slots__ = ("parts",)

    def __init__(self, parts: Mapping[int, ZSet] | None = None) -> None:
        self.parts = {tag: part for tag, part in (parts or {}).items() if part.pieces}

    def __iter__(self) -> Iterator[tuple[int, ZSet]]:
        return iter(self.parts.items())

    def __getitem__(self, tag: int) -> ZSet | None:
        return self.parts.get(tag)

    def __bool__(self) -> bool:
        return any(map(len, self.parts.values()))

    def __add__(self, other: Bundle) -> Bundle:
        if not other.parts:
            return self
        if not self.parts:
            return other
        parts = dict(self.parts)
        for tag, part in other:
            parts[tag] = parts[tag] + part if tag in parts else part
        return Bundle(parts)

    def __neg__(self) -> Bundle:
        return Bundle({tag: -part for tag, part in self})

    def __sub__(self, other: Bundle) -> Bundle:
        return self + -other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bundle) and not self - other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr({tag: part for tag, part in self if len(part)})
