"""Slots: what is known so far of the kind and the type of a variable or term.

A slot has a set of kinds and, once something asks for one, a set of types; both only get narrower. Slots that must have
one kind share their kinds, slots that must have one type share both (two union-find forests). An operation that would
leave a slot with nothing changes nothing and says so.
"""

from __future__ import annotations

from typing import NamedTuple

from whence.lang import syntax
from whence.lang.kinds import ANY
from whence.lang.types import TypeEnvironment


class Reason(NamedTuple):
    """Why a slot is what it is: a node, and what asks it to be so (`itself` for a literal)."""

    node: syntax.Argument
    because: str


class Slots:
    """The slots of one flat clause, numbered from 0."""

    def __init__(self, types: TypeEnvironment) -> None:
        self.types = types
        self._kind_parent: list[int] = []
        self._mask: list[int] = []
        self._kind_reason: list[Reason | None] = []
        self._type_parent: list[int] = []
        self._types: list[frozenset[str] | None] = []  # None: a constant, which fits every subtype
        self._type_reason: list[Reason | None] = []

    def new(self) -> int:
        slot = len(self._mask)
        self._kind_parent.append(slot)
        self._mask.append(ANY)
        self._kind_reason.append(None)
        self._type_parent.append(slot)
        self._types.append(None)
        self._type_reason.append(None)
        return slot

    # Kinds

    def kinds(self, slot: int) -> int:
        return self._mask[_root(self._kind_parent, slot)]

    def kind_reason(self, slot: int) -> Reason | None:
        return self._kind_reason[_root(self._kind_parent, slot)]

    def narrow_kind(self, slot: int, mask: int, reason: Reason) -> bool:
        root = _root(self._kind_parent, slot)
        before = self._mask[root]
        after = before & mask
        if after and after != before:
            self._mask[root] = after
            self._kind_reason[root] = reason
        return after != 0

    def same_kind(self, one: int, other: int) -> bool:
        one, other = _root(self._kind_parent, one), _root(self._kind_parent, other)
        if one == other:
            return True
        both = self._mask[one] & self._mask[other]
        if not both:
            return False
        # The narrower one has the reason worth telling; of two equal ones, the one that is not a term's own.
        if self._mask[one] == both and (self._mask[other] != both or not self._says_more(other, one)):
            one, other = other, one
        self._kind_parent[one] = other
        self._mask[other] = both
        return True

    def _says_more(self, root: int, than: int) -> bool:
        reason, other = self._kind_reason[root], self._kind_reason[than]
        return reason is not None and reason.because != "itself" and (other is None or other.because == "itself")

    # Types

    def types_of(self, slot: int) -> frozenset[str] | None:
        return self._types[_root(self._type_parent, slot)]

    def type_reason(self, slot: int) -> Reason | None:
        return self._type_reason[_root(self._type_parent, slot)]

    def narrow_type(self, slot: int, name: str, reason: Reason) -> bool:
        """Narrows the types only; the kind is narrowed first, by `narrow_kind`."""
        root = _root(self._type_parent, slot)
        before = self._types[root]
        wanted = frozenset((self.types.canonical(name),))
        after = wanted if before is None else self.types.common_subtypes(before, wanted)
        if after and after != before:
            self._types[root] = after
            self._type_reason[root] = reason
        return bool(after)

    def same_type(self, one: int, other: int) -> bool:
        """Makes two slots, whose kinds agree, one."""
        self.same_kind(one, other)
        one, other = _root(self._type_parent, one), _root(self._type_parent, other)
        if one == other:
            return True
        left, right = self._types[one], self._types[other]
        if left is None or right is None:
            common = left if right is None else right
        else:
            common = self.types.common_subtypes(left, right)
            if not common:
                return False
        self._type_parent[one] = other
        self._types[other] = common
        if self._type_reason[other] is None:
            self._type_reason[other] = self._type_reason[one]
        return True


def _root(parent: list[int], slot: int) -> int:
    while parent[slot] != slot:
        parent[slot] = slot = parent[parent[slot]]
    return slot
