"""What the nodes of a circuit do with the values that come in at a tick: the primitive operators of DBSP.

An operator is given the tick of its clock, `now`, and gives one value. In a loop the clock begins anew whenever the
circuit around it ticks; `rewind` says so. An operator may have something to give at a later tick by itself: `waiting`
is that tick. Ticks at which nobody has anything to give may be left out.

A strict operator gives what it has before it is told what comes in at the same tick, so a cycle may pass through it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from .matching import Match, Matcher
from .trace import Trace
from .zset import Piece, ZSet

Value = Any  # of an Abelian group: +, -, and false where it is its zero


class Operator(Protocol):
    def step(self, now: int, *values: Value) -> Value: ...

    def waiting(self, now: int) -> int | None: ...

    def rewind(self) -> None: ...


class Strict(Protocol):
    def give(self, now: int) -> Value: ...

    def take(self, now: int, value: Value) -> None: ...

    def waiting(self, now: int) -> int | None: ...

    def rewind(self) -> None: ...


class Memoryless:
    """Nothing is kept from one tick to the next."""

    def waiting(self, now: int) -> int | None:
        return None

    def rewind(self) -> None: ...


class Lift(Memoryless):
    def __init__(self, function: Callable[..., Value]) -> None:
        self.function = function

    def step(self, now: int, *values: Value) -> Value:
        return self.function(*values)


def add(*values: Value) -> Value:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


class Delay:
    """z⁻¹ of its own clock. A loop rests when what is `fed_back` is nothing, and what else is delayed does not
    change."""

    def __init__(self, zero: Value) -> None:
        self.zero = zero
        self.fed_back = False
        self.held = self.given = zero

    def give(self, now: int) -> Value:
        self.given = self.held
        self.held = self.zero
        return self.given

    def take(self, now: int, value: Value) -> None:
        self.held = value

    def waiting(self, now: int) -> int | None:
        rests = not self.held if self.fed_back else _same(self.held, self.given)
        return None if rests else now + 1

    def rewind(self) -> None:
        self.held = self.given = self.zero


class OuterDelay:
    """↑z⁻¹: at each tick of a loop what came in at that tick the last time."""

    def __init__(self, zero: Value) -> None:
        self.zero = zero
        self.last: dict[int, Value] = {}
        self.own: dict[int, Value] = {}

    def give(self, now: int) -> Value:
        return self.last.get(now, self.zero)

    def take(self, now: int, value: Value) -> None:
        if value:
            self.own[now] = value

    def waiting(self, now: int) -> int | None:
        return min((time for time in self.last if time > now), default=None)

    def rewind(self) -> None:
        self.last, self.own = self.own, {}


class Integrate:
    """I of its own clock: the sum of all that came in."""

    def __init__(self, zero: Value) -> None:
        self.zero = self.sum = zero

    def step(self, now: int, value: Value) -> Value:
        if value:
            self.sum = self.sum + value
        return self.sum

    def waiting(self, now: int) -> int | None:
        return None

    def rewind(self) -> None:
        self.sum = self.zero


class OuterIntegrate(Memoryless):
    """I of the clock around a loop: at each tick the sum of what came in at that tick, this time and before."""

    def __init__(self, zero: Value) -> None:
        self.zero = zero
        self.sums: dict[int, Value] = {}

    def step(self, now: int, value: Value) -> Value:
        if value:
            self.sums[now] = self.sums.get(now, self.zero) + value
        return self.sums.get(now, self.zero)

    def waiting(self, now: int) -> int | None:
        return min((time for time, value in self.sums.items() if time > now and value), default=None)


class Differentiate:
    """D of its own clock: what came in, without what came in before."""

    def __init__(self, zero: Value) -> None:
        self.zero = self.last = zero
        self.settled = True

    def step(self, now: int, value: Value) -> Value:
        difference = value - self.last
        self.settled = _same(value, self.last)
        self.last = value
        return difference

    def waiting(self, now: int) -> int | None:
        return None if self.settled else now + 1

    def rewind(self) -> None:
        self.last = self.zero
        self.settled = True


class OuterDifferentiate:
    """D of the clock around a loop: at each tick what came in, without what came in at that tick the last time."""

    def __init__(self, zero: Value) -> None:
        self.delay = OuterDelay(zero)

    def step(self, now: int, value: Value) -> Value:
        self.delay.take(now, value)
        return value - self.delay.give(now)

    def waiting(self, now: int) -> int | None:
        return self.delay.waiting(now)

    def rewind(self) -> None:
        self.delay.rewind()


class Later:
    """What is to be given at later ticks of a loop."""

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self.pieces: dict[int, list[Piece]] = {}

    def add(self, rows: Any, weights: Any, times: Any | None, now: int) -> None:
        if times is None:
            self.pieces.setdefault(now, []).append((rows, weights))
            return
        for time in sorted(set(times.tolist())):
            then = times == time
            self.pieces.setdefault(time, []).append((rows[then], weights[then]))

    def pop(self, now: int) -> ZSet:
        return ZSet(self.arity, self.pieces.pop(now, ()))

    def next(self) -> int | None:
        return min(self.pieces, default=None)


class Join:
    """(↑⋈)^Δ, and in a loop (↑(↑⋈)^Δ)^Δ. Each pair is met once, when the later of its rows comes, and belongs to the
    later of the ticks of its rows, also where that is yet to come: a row of the past may have come later in its
    loop."""

    def __init__(self, left: int, right: int, matches: tuple[Match, Match], timed: bool) -> None:
        self.left, self.right = Trace(left, timed), Trace(right, timed)
        self.matchers = Matcher(matches[0]), Matcher(matches[1])
        self.later = Later(len(matches[0].outputs))

    def step(self, now: int, left: ZSet, right: ZSet) -> ZSet:
        self._match(0, left, self.right, now)
        self.left.add(left, now)
        self._match(1, right, self.left, now)
        self.right.add(right, now)
        return self.later.pop(now)

    def _match(self, side: int, batch: ZSet, trace: Trace, now: int) -> None:
        for rows, weights in batch.pieces:
            for out, out_weights, times in self.matchers[side].pieces(rows, weights, trace, now):
                self.later.add(out, out_weights, times, now)

    def waiting(self, now: int) -> int | None:
        return self.later.next()

    def rewind(self) -> None: ...


def _same(one: Value, other: Value) -> bool:
    """Whether two values are equal, mostly without comparing them."""
    if one is other:
        return True
    if not one or not other:
        return not one and not other
    return bool(one == other)
