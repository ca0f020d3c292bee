"""Other proofs of a tuple. A proof chooses for each of its tuples one derivation, such that no tuple rests on itself.

Proofs are enumerated by Lawler's scheme: from one proof come those that differ from it at one tuple, in the order in
which the tuples are met from the root, and that leave all tuples before it as they are. So none comes twice, and
none has to be kept but those that wait. Small ones come first.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count

from whence.explain.proof import Levels, tuples_of
from whence.explain.search import Key, Search, Step

VARIED = 64  # tuples of a proof, from the root on, that are derived in other ways
ATTEMPTS = 4096  # choices that are looked at for one more proof
DERIVATIONS = 256  # of one tuple

Choices = Mapping[Key, int]


@dataclass
class Draft:
    """A choice of derivations: the tuples in the order in which they are met, and the step of each derived one."""

    choices: Choices
    last: int
    order: list[Key]
    steps: dict[Key, Step]
    circular: bool


class Alternatives:
    def __init__(self, search: Search, root: Key) -> None:
        self.search = search
        self.root = root
        self.levels = Levels(search)
        self._derivations: dict[Key, list[Step]] = {}

    def derivations(self, key: Key) -> list[Step]:
        """Those of the minimal proof first; the first is the one that a proof takes by itself."""
        known = self._derivations.get(key)
        if known is None:
            first = self._first(key)
            others = [step for step in self.search.derivations(key, DERIVATIONS) if step.shown != first.shown]
            known = self._derivations[key] = [first, *others]
        return known

    def _first(self, key: Key) -> Step:
        if key not in self.levels.steps:
            self.levels.grow(key, None, None)
        return self.levels.steps[key]

    def draft(self, choices: Choices, last: int) -> Draft:
        order: dict[Key, None] = {self.root: None}
        steps: dict[Key, Step] = {}
        level = [self.root]
        while level:
            self.levels.annotate(level)
            below: list[Key] = []
            for key in level:
                if self.levels.iterations[key] == 0 and key not in choices:
                    continue
                number = choices.get(key, 0)
                steps[key] = self.derivations(key)[number] if number else self._first(key)
                below += [child for child in dict.fromkeys(tuples_of(steps[key])) if child not in order]
                order |= dict.fromkeys(below)
            level = list(dict.fromkeys(below))
        return Draft(choices, last, list(order), steps, _circular(self.root, steps))

    def next(self, draft: Draft) -> Iterator[tuple[Choices, int]]:
        """The choices that differ from a draft at one tuple, from its last change on."""
        for place, key in enumerate(draft.order[:VARIED]):
            if place < draft.last or key not in draft.steps:
                continue
            number = draft.choices.get(key, 0) + 1
            if number < len(self.derivations(key)):
                before = {one: chosen for one, chosen in draft.choices.items() if one in draft.order[:place]}
                yield {**before, key: number}, place


def proofs(search: Search, root: Key) -> Iterator[tuple[dict[Key, Step], Mapping[Key, int]]]:
    """The steps of each proof of a tuple, with the iterations of the tuples in them."""
    alternatives = Alternatives(search, root)
    numbers = count()
    first = alternatives.draft({}, 0)
    waiting = [(len(first.order), next(numbers), first)]
    attempts = 0
    while waiting and attempts < ATTEMPTS:
        _, _, draft = heapq.heappop(waiting)
        attempts += 1
        if not draft.circular:
            attempts = 0
            iterations = {key: alternatives.levels.iterations[key] for key in draft.order}
            yield draft.steps, iterations
        for choices, place in alternatives.next(draft):
            other = alternatives.draft(choices, place)
            heapq.heappush(waiting, (len(other.order), next(numbers), other))


def _circular(root: Key, steps: Mapping[Key, Step]) -> bool:
    """Whether some tuple is reached from itself."""
    under_way: set[Key] = set()
    done: set[Key] = set()
    waiting: list[tuple[Key, bool]] = [(root, False)]
    while waiting:
        key, leaving = waiting.pop()
        if leaving:
            under_way.discard(key)
            done.add(key)
            continue
        if key in under_way:
            return True
        if key in done or key not in steps:
            continue
        under_way.add(key)
        waiting.append((key, True))
        for child in tuples_of(steps[key]):
            if child in under_way:
                return True
            if child not in done:
                waiting.append((child, False))
    return False
