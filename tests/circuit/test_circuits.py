"""Circuits: building, validating, stepping, drawing; and the examples of DBSP against plain Python."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from random import Random
from xml.etree import ElementTree

import pytest

from whence.circuit import LEFT, RIGHT, Circuit, Stream, ZSet
from whence.errors import WhenceError

Edge = tuple[int, int]


def closure() -> Circuit:
    circuit = Circuit("closure")
    edges = circuit.input("edges", arity=2)
    with circuit.loop("paths") as loop:
        edge = edges.enter(loop)
        path = loop.variable("path", arity=2)
        longer = path.delay().join(edge, on=[(1, 0)], keep=[(LEFT, 0), (RIGHT, 1)])
        path.define((edge + longer).distinct())
    circuit.output("paths", path.leave())
    return circuit


def closure_of(edges: set[Edge]) -> set[Edge]:
    paths = set(edges)
    while more := {(x, z) for x, y in paths for w, z in edges if y == w} - paths:
        paths |= more
    return paths


@pytest.mark.parametrize("seed", range(8))
def test_transitive_closure_under_insertions_and_deletions(seed: int) -> None:
    random, circuit = Random(seed), closure()
    edges: set[Edge] = set()
    known: set[Edge] = set()
    for _ in range(12):
        come = {(random.randrange(9), random.randrange(9)) for _ in range(random.randrange(9))} - edges
        gone = {edge for edge in edges if random.random() < 0.3}
        edges = edges - gone | come
        changes = {**dict.fromkeys(come, 1), **dict.fromkeys(gone, -1)}
        given = circuit.step(edges=changes)["paths"]
        wanted = closure_of(edges)
        assert dict(given) == dict.fromkeys(wanted - known, 1) | dict.fromkeys(known - wanted, -1)
        known = wanted


def test_an_edge_that_is_there_twice_has_to_go_twice() -> None:
    circuit = closure()
    circuit.step(edges={(1, 2): 2, (2, 3): 1})
    assert not len(circuit.step(edges={(1, 2): -1})["paths"])
    assert dict(circuit.step(edges={(1, 2): -1})["paths"]) == {(1, 2): -1, (1, 3): -1}


@pytest.mark.parametrize("nodes", [2, 50, 700])
def test_a_chain_takes_as_many_ticks_as_it_has_nodes(nodes: int) -> None:
    circuit = closure()
    chain = [(i, i + 1) for i in range(nodes)]
    assert len(circuit.step(edges=chain)["paths"]) == nodes * (nodes + 1) // 2
    assert len(circuit.step(edges={(nodes // 2, nodes // 2 + 1): -1})["paths"]) == (nodes // 2 + 1) * (
        nodes - nodes // 2
    )


def test_filter_join_and_count_by_group() -> None:
    circuit = Circuit()
    order, line = circuit.input("order", 2), circuit.input("line", 2)
    recent = order.filter(lambda rows: rows[:, 1] >= 2020)
    lines = recent.join(line, on=[(0, 0)], keep=[(LEFT, 1), (RIGHT, 1)])
    circuit.output("by year", lines.group([0]))
    circuit.output("dearest", lines.group([0], "max", 1))
    first = circuit.step(order=[(1, 2019), (2, 2020), (3, 2021)], line={(1, 5): 1, (2, 7): 1, (2, 9): 1, (3, 1): 1})
    assert dict(first["by year"]) == {(2020, 2): 1, (2021, 1): 1}
    assert dict(first["dearest"]) == {(2020, 9): 1, (2021, 1): 1}
    second = circuit.step(line={(2, 9): -1})
    assert dict(second["by year"]) == {(2020, 2): -1, (2020, 1): 1}
    assert dict(second["dearest"]) == {(2020, 9): -1, (2020, 7): 1}
    third = circuit.step(order={(2, 2020): -1})
    assert dict(third["by year"]) == {(2020, 1): -1}
    assert dict(third["dearest"]) == {(2020, 7): -1}


def test_same_generation_joins_on_both_sides() -> None:
    circuit = Circuit()
    parent = circuit.input("parent", 2)
    with circuit.loop() as loop:
        up = parent.enter(loop)
        same = loop.variable("same", 2)
        siblings = up.join(up, on=[(1, 1)], keep=[(LEFT, 0), (RIGHT, 0)])
        above = up.join(same.delay(), on=[(1, 0)], keep=[(LEFT, 0), (RIGHT, 1)])
        cousins = above.join(up, on=[(1, 1)], keep=[(LEFT, 0), (RIGHT, 0)])
        same.define((siblings + cousins).distinct())
    circuit.output("same", same.leave())
    random = Random(3)
    parents: set[Edge] = set()
    held: Counter[Edge] = Counter()
    for _ in range(10):
        flips = {(random.randrange(8), random.randrange(8)) for _ in range(5)}
        held.update(dict(circuit.step(parent={edge: -1 if edge in parents else 1 for edge in flips})["same"]))
        parents ^= flips
        wanted = {(a, b) for a, p in parents for b, q in parents if p == q}
        while more := {(a, b) for a, p in parents for b, q in parents if (p, q) in wanted} - wanted:
            wanted |= more
        assert {row for row, weight in held.items() if weight} == wanted
        assert set(held.values()) <= {0, 1}


def test_inputs_of_loops_and_outputs_by_tick() -> None:
    circuit = Circuit()
    loop = circuit.loop()
    loop.output("sums", loop.input("a", 1).integrate())
    found = circuit.step(a=[{(1,): 1}, [], {(2,): 1}])["sums"]
    assert {tick: dict(z) for tick, z in found.items()} == {0: {(1,): 1}, 1: {(1,): 1}, 2: {(1,): 1, (2,): 1}}


def test_a_cycle_has_to_hold_a_delay() -> None:
    circuit = Circuit()
    a = circuit.input("a", 1)
    state = circuit.variable("state", 1)
    state.define((a + state).distinct().named("set"))
    with pytest.raises(WhenceError, match=r"the cycle state → \+ → set → state holds no delay: put .delay\(\)"):
        circuit.validate()
    with pytest.raises(WhenceError, match="holds no delay"):
        circuit.step(a=[(1,)])


def test_a_cycle_through_a_loop_has_to_hold_a_delay_outside() -> None:
    circuit = Circuit()
    state = circuit.variable("state", 1)
    with circuit.loop() as loop:
        inside = state.enter(loop).delay()
    state.define(inside.leave())
    with pytest.raises(WhenceError, match="holds no delay"):
        circuit.validate()


def test_a_loop_that_does_not_rest_is_given_up() -> None:
    circuit = Circuit()
    a = circuit.input("a", 1)
    with circuit.loop("round", most_ticks=100) as loop:
        state = loop.variable("state", 1)
        state.define(a.enter(loop) + state.delay())
    circuit.output("out", state.leave())
    with pytest.raises(WhenceError, match=r"round has not come to rest after 100 ticks.*is a .distinct\(\) missing"):
        circuit.step(a=[(1,)])


WRONG: dict[str, Callable[[Circuit, Stream, Stream, Circuit], object]] = {
    "different circuits": lambda circuit, a, b, loop: a.enter(loop) + b,
    "a has 2 columns, b has 1": lambda circuit, a, b, loop: a + b,
    "have no column 5": lambda circuit, a, b, loop: a.project(5),
    "no column 3 on side 1": lambda circuit, a, b, loop: a.join(b, on=[(0, 3)]),
    "is not in a loop": lambda circuit, a, b, loop: a.leave(),
    "cannot hold another one": lambda circuit, a, b, loop: loop.loop(),
    "there is an input 'a' already": lambda circuit, a, b, loop: circuit.input("a", 1),
    "is no variable": lambda circuit, a, b, loop: a.define(b),
    "has no tick of other": lambda circuit, a, b, loop: a.delay(Circuit("other")),
    "not a stream of the circuit around": lambda circuit, a, b, loop: a.enter(loop).enter(loop),
    "no input 'c'; there are: a, b": lambda circuit, a, b, loop: circuit.step(c=[]),
    "a has 2 columns; a Z-set of 3": lambda circuit, a, b, loop: circuit.step(a=ZSet(3)),
    "columns; those of this Z-set have 2": lambda circuit, a, b, loop: circuit.step(a=[(1,)]),
    "step the circuit around it": lambda circuit, a, b, loop: loop.step(),
    "truth values for 2 rows": lambda circuit, a, b, loop: stepped(circuit, a.filter(lambda rows: rows[:1, 0] > 0)),
    "it should be (2, 1)": lambda circuit, a, b, loop: stepped(circuit, a.map(lambda rows: rows[:1, :1], 1)),
}


def stepped(circuit: Circuit, _: Stream) -> object:
    return circuit.step(a=[(1, 2), (3, 4)])


@pytest.mark.parametrize("message", WRONG)
def test_what_is_wrong_is_said(message: str) -> None:
    circuit = Circuit()
    a, b, loop = circuit.input("a", 2), circuit.input("b", 1), circuit.loop()
    with pytest.raises(WhenceError, match=re.escape(message)):
        WRONG[message](circuit, a, b, loop)


def test_a_variable_has_to_be_defined() -> None:
    circuit = Circuit()
    circuit.output("out", circuit.variable("state", 1).distinct())
    with pytest.raises(WhenceError, match=r"state is used but was not defined: say what it is, state.define\(…\)"):
        circuit.step()


def test_it_is_drawn_as_text() -> None:
    assert closure().text() == (
        "closure\n"
        "1  edges\n"
        "   paths\n"
        "2    δ₀ (1)\n"
        "3    z⁻¹ (7)\n"
        "4    ⋈ 1 = 0 (3, 2)\n"
        "5    + (2, 4)\n"
        "6    distinct (5)\n"
        "7    path (6)\n"
        "8  ∫ (7)   → paths"
    )


def test_it_is_drawn_as_svg() -> None:
    root = ElementTree.fromstring(closure().svg())
    space = "{http://www.w3.org/2000/svg}"
    texts = [text.text for text in root.iter(f"{space}text")]
    assert sorted(texts) == sorted(["paths", "edges", "δ₀", "⋈ 1 = 0", "+", "distinct", "path", "z⁻¹", "∫"])  # type: ignore[type-var]
    boxes = [
        (float(box.get("x", 0)), float(box.get("y", 0)), float(box.get("width", 0)), float(box.get("height", 0)))
        for box in root.iter(f"{space}rect")
        if box.get("rx") == "4"
    ]
    assert len(boxes) == 8
    for i, (x, y, width, height) in enumerate(boxes):
        for u, v, other_width, other_height in boxes[:i]:
            apart = x + width < u or u + other_width < x or y + height < v or v + other_height < y
            assert apart, "two boxes overlap"
