"""What a tuple can rest on: the smallest sets of input tuples, and of tuples that must be absent, that derive it.

Sets are found in order of their weight, the number of parts that they turn, over the hypergraph; a set that contains
another one of the same tuple is left out, so cycles add nothing. There may be exponentially many, but whoever looks for
a choice of fewer than k parts needs those of a weight below k only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count

from whence.explain.search import Key
from whence.repair.grounding import Body, TooMany

MOST = 200_000  # sets

Leaf = tuple[Key, bool]  # a tuple of the input, or one that must be absent
Mask = int  # a set of leaves, a bit for each


class Witnesses:
    """`weigh` says what a leaf costs: 1 if a part is turned for it, else 0."""

    def __init__(
        self, bodies: Mapping[Key, Sequence[Body]], inputs: Callable[[Key], bool], weigh: Callable[[Key], int]
    ) -> None:
        self.weight = -1  # up to which all sets are known
        self.leaves: list[Leaf] = []
        self._bits: dict[Leaf, int] = {}
        self._costly: Mask = 0
        self._weigh = weigh
        self._sets: dict[Key, list[Mask]] = defaultdict(list)
        self._uses: dict[Key, list[tuple[Key, tuple[Key, ...], Mask]]] = defaultdict(list)
        self._queue: list[tuple[int, int, int, Key, Mask]] = []
        self._number = count()
        named = {*bodies, *(key for found in bodies.values() for body in found for key, _ in body)}
        for key in named:
            if inputs(key):
                self._push(key, self._bit((key, True)))
        for head, found in bodies.items():
            for body in found:
                positive = tuple(key for key, sign in body if sign)
                absent = 0
                for key, sign in body:
                    if not sign:
                        absent |= self._bit((key, False))
                for key in positive:
                    self._uses[key].append((head, tuple(other for other in positive if other != key), absent))
                if not positive:
                    self._push(head, absent)

    @property
    def exhausted(self) -> bool:
        return not self._queue

    def of(self, key: Key) -> list[list[Leaf]]:
        return [[self.leaves[place] for place in _places(mask)] for mask in self._sets.get(key, ())]

    def reach(self, goals: list[Key], weight: int) -> None:
        """Finds all sets of at most this weight, and goes on until every goal has one, if it can have."""
        waiting = {key for key in goals if not self._sets.get(key)}
        while self._queue and (self._queue[0][0] <= weight or waiting):
            self._take()
            waiting = {key for key in waiting if not self._sets.get(key)}
        self.weight = max(weight, self._queue[0][0] - 1 if self._queue else weight)

    def _take(self) -> None:
        """The lightest set that waits is one of its tuple, unless it contains another; it makes further ones."""
        _, _, _, key, mask = heappop(self._queue)
        known = self._sets[key]
        if any(mask & other == other for other in known):
            return
        known.append(mask)
        for head, others, absent in self._uses[key]:
            for made in self._products(mask | absent, others):
                if not any(made & other == other for other in self._sets[head]):
                    self._push(head, made)

    def _products(self, mask: Mask, others: tuple[Key, ...]) -> Iterator[Mask]:
        found = {mask}
        for other in others:
            found = {one | more for one in found for more in self._sets.get(other, ())}
            if len(found) > MOST:
                raise TooMany
        yield from found

    def _push(self, key: Key, mask: Mask) -> None:
        number = next(self._number)
        if number > MOST:
            raise TooMany
        heappush(self._queue, ((mask & self._costly).bit_count(), mask.bit_count(), number, key, mask))

    def _bit(self, leaf: Leaf) -> Mask:
        place = self._bits.get(leaf)
        if place is None:
            place = self._bits[leaf] = len(self.leaves)
            self.leaves.append(leaf)
            if leaf[1] and self._weigh(leaf[0]):
                self._costly |= 1 << place
        return 1 << place


def _places(mask: Mask) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
