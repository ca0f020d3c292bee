"""The identities of DBSP that circuits rely on, on random streams, in one clock and in two.

On the left is what an operator means: lifted over sums, and differentiated. On the right is the incremental operator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings

from circuit.random_streams import nested_streams, streams
from whence.circuit import LEFT, RIGHT, Circuit, Stream, ZSet

quick = settings(max_examples=60, deadline=None)
ON, KEEP = [(1, 0)], [(LEFT, 0), (RIGHT, 1)]
Build = Callable[[Stream, Stream], Stream]


def run(build: Build, a: list[ZSet], b: list[ZSet]) -> list[ZSet]:
    """The stream that a circuit of two inputs gives, for as long as the longer one."""
    circuit = Circuit()
    circuit.output("out", build(circuit.input("a", 2), circuit.input("b", 2)))
    given: list[dict[str, ZSet]] = [{} for _ in range(max(len(a), len(b)) + 2)]
    for name, stream in (("a", a), ("b", b)):
        for tick, value in enumerate(stream):
            given[tick][name] = value
    return [circuit.step(**values)["out"] for values in given]


def run_nested(build: Callable[[Circuit, Stream, Stream], Stream], a: Any, b: Any) -> list[dict[int, ZSet]]:
    """The nested stream of a loop of two inputs: for each epoch the values by tick, those that are 0 left out."""
    circuit = Circuit()
    loop = circuit.loop()
    loop.output("out", build(circuit, loop.input("a", 2), loop.input("b", 2)))
    found = []
    for epoch in range(max(len(a), len(b)) + 1):
        given = {name: stream[epoch] for name, stream in (("a", a), ("b", b)) if epoch < len(stream)}
        found.append(circuit.step(**given)["out"])
    return found


def joined(a: Stream, b: Stream) -> Stream:
    return a.lift(lambda x, y: x.join(y, ON, KEEP), b, zero=ZSet(2))


def to_set(a: Stream) -> Stream:
    return a.lift(ZSet.to_set)


def counted(a: Stream) -> Stream:
    return a.lift(lambda z: z.group([0]), zero=ZSet(2))


@quick
@given(streams(2))
def test_d_and_i_are_inverse(a: list[ZSet]) -> None:
    same = run(lambda x, _: x, a, [])
    assert run(lambda x, _: x.integrate().differentiate(), a, []) == same
    assert run(lambda x, _: x.differentiate().integrate(), a, []) == same
    assert run(lambda x, _: x.integrate() - x.integrate().delay(), a, []) == same


@quick
@given(nested_streams(2))
def test_d_and_i_are_inverse_in_either_clock_of_a_loop(a: list[list[ZSet]]) -> None:
    same = run_nested(lambda circuit, x, _: x, a, [])
    assert run_nested(lambda circuit, x, _: x.integrate().differentiate(), a, []) == same
    assert run_nested(lambda circuit, x, _: x.integrate(circuit).differentiate(circuit), a, []) == same
    assert run_nested(lambda circuit, x, _: x.differentiate(circuit).integrate(circuit), a, []) == same
    both = run_nested(lambda c, x, _: x.integrate(c).integrate().differentiate().differentiate(c), a, [])
    assert both == same


@quick
@given(streams(2), streams(2))
def test_bilinear_expansion(a: list[ZSet], b: list[ZSet]) -> None:
    """(a ⋈ b)^Δ = a ⋈ b + z⁻¹(I(a)) ⋈ b + a ⋈ z⁻¹(I(b))"""
    incremental = run(lambda x, y: x.join(y, ON, KEEP), a, b)
    assert run(lambda x, y: joined(x.integrate(), y.integrate()).differentiate(), a, b) == incremental
    expanded = run(
        lambda x, y: joined(x, y) + joined(x.integrate().delay(), y) + joined(x, y.integrate().delay()), a, b
    )
    assert expanded == incremental


@quick
@given(streams(2))
def test_distinct_and_groups(a: list[ZSet]) -> None:
    assert run(lambda x, _: to_set(x.integrate()).differentiate(), a, []) == run(lambda x, _: x.distinct(), a, [])
    assert run(lambda x, _: counted(x.integrate()).differentiate(), a, []) == run(lambda x, _: x.group([0]), a, [])
    wanted = run(lambda x, _: x.integrate().lift(lambda z: z.group([0], "max", 1)).differentiate(), a, [])
    assert wanted == run(lambda x, _: x.group([0], "max", 1), a, [])


@quick
@given(streams(2), streams(2))
def test_chain_rule(a: list[ZSet], b: list[ZSet]) -> None:
    """(Q₁ ∘ Q₂)^Δ = Q₁^Δ ∘ Q₂^Δ"""
    whole = run(lambda x, y: counted(to_set(joined(x.integrate(), y.integrate()))).differentiate(), a, b)
    assert run(lambda x, y: x.join(y, ON, KEEP).distinct().group([0]), a, b) == whole


@quick
@given(streams(2), streams(2))
def test_cycle_rule(a: list[ZSet], b: list[ZSet]) -> None:
    """The incremental form of a circuit with feedback is feedback around the incremental form."""

    def plain(x: Stream, y: Stream) -> Stream:
        state = x.circuit.variable("state", 2)
        state.define(to_set(x.integrate() + joined(state.delay(), y.integrate())))
        return state.differentiate()

    def incremental(x: Stream, y: Stream) -> Stream:
        state = x.circuit.variable("state", 2)
        state.define((x + state.delay().join(y, ON, KEEP)).distinct())
        return state

    assert run(plain, a, b) == run(incremental, a, b)


def meant(function: Callable[..., Stream], circuit: Circuit, *changes: Stream) -> Stream:
    """A function lifted over sums in both clocks, and differentiated in both."""
    sums = [change.integrate(circuit).integrate() for change in changes]
    return function(*sums).differentiate().differentiate(circuit)


@quick
@given(nested_streams(2), nested_streams(2))
def test_joins_in_two_clocks(a: list[list[ZSet]], b: list[list[ZSet]]) -> None:
    wanted = run_nested(lambda circuit, x, y: meant(joined, circuit, x, y), a, b)
    assert run_nested(lambda circuit, x, y: x.join(y, ON, KEEP), a, b) == wanted


@quick
@given(nested_streams(2))
def test_distinct_and_groups_in_two_clocks(a: list[list[ZSet]]) -> None:
    wanted = run_nested(lambda circuit, x, _: meant(to_set, circuit, x), a, [])
    assert run_nested(lambda circuit, x, _: x.distinct(), a, []) == wanted
    wanted = run_nested(lambda circuit, x, _: meant(counted, circuit, x), a, [])
    assert run_nested(lambda circuit, x, _: x.group([0]), a, []) == wanted


@quick
@given(nested_streams(2), nested_streams(2))
def test_chain_rule_in_two_clocks(a: list[list[ZSet]], b: list[list[ZSet]]) -> None:
    wanted = run_nested(lambda c, x, y: meant(lambda p, q: to_set(joined(to_set(p), q)), c, x, y), a, b)
    assert run_nested(lambda c, x, y: x.distinct().join(y, ON, KEEP).distinct(), a, b) == wanted


@quick
@given(streams(2), streams(2))
def test_entering_and_leaving_a_loop_changes_nothing(a: list[ZSet], b: list[ZSet]) -> None:
    """∫ ∘ δ₀ is the identity, and the loop in between may delay."""

    def there_and_back(x: Stream, y: Stream) -> Stream:
        with x.circuit.loop() as loop:
            return (x.enter(loop).delay() + y.enter(loop)).leave()

    assert run(there_and_back, a, b) == run(lambda x, y: x + y, a, b)
