"""How a circuit is stepped: an order in which each node comes after what it reads, and the ticks of loops.

A strict node gives before it takes, so it comes first whatever it reads; a cycle without one has no order and is
refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whence.errors import WhenceError

from .operators import Delay, Operator, Strict, Value

if TYPE_CHECKING:
    from .circuit import Circuit, Node

MOST_TICKS = 1_000_000


@dataclass
class Plan:
    """Nodes in order; a loop stands where it is run. `sums` and `recorded` are of a loop's last run."""

    order: list[Node | Circuit]
    strict: list[tuple[Node, Strict, Node]]  # with what each of them reads
    operators: list[Operator | Strict]
    loops: dict[Circuit, Plan] = field(default_factory=dict)
    sums: dict[Node, Value] = field(default_factory=dict)
    recorded: dict[str, dict[int, Value]] = field(default_factory=dict)


def planned(circuit: Circuit) -> Plan:
    """The plan of a circuit and its loops; raises a `WhenceError` for what is not a circuit."""
    for part in (circuit, *circuit.loops):
        if part.undefined:
            names = ", ".join(map(str, part.undefined))
            raise WhenceError(f"{names} is used but was not defined: say what it is, {part.undefined[0]}.define(…)")
    plan = Plan(_ordered(circuit), [], [])
    for node in circuit.nodes:
        if node.strict:
            assert node.operator is not None
            plan.strict.append((node, node.operator, node.inputs[0]))  # type: ignore[arg-type]
            if isinstance(node.operator, Delay):
                node.operator.fed_back = node in _behind(node)
        if node.operator is not None:
            plan.operators.append(node.operator)
    plan.loops = {loop: planned(loop) for loop in circuit.loops}
    return plan


def reads(part: Node | Circuit) -> list[Node | Circuit]:
    """What has to be known before a node or a loop."""
    from .circuit import Circuit

    if isinstance(part, Circuit):
        return list(part.entered.values())
    if part.strict:
        return []
    return [part.loop, *part.inputs] if part.loop is not None else list(part.inputs)


def _ordered(circuit: Circuit) -> list[Node | Circuit]:
    parts: list[Node | Circuit] = [*circuit.nodes, *circuit.loops]
    waits = {part: len(reads(part)) for part in parts}
    readers: dict[Node | Circuit, list[Node | Circuit]] = {part: [] for part in parts}
    for part in parts:
        for read in reads(part):
            readers[read].append(part)
    ready = [part for part in parts if not waits[part]]
    order: list[Node | Circuit] = []
    for part in ready:  # grows while it is gone through
        order.append(part)
        for reader in readers[part]:
            waits[reader] -= 1
            if not waits[reader]:
                ready.append(reader)
    if len(order) < len(parts):
        left = [part for part in parts if waits[part]]
        raise WhenceError(f"the cycle {_cycle(left)} holds no delay: put .delay() between two of its streams")
    return order


def _cycle(left: list[Node | Circuit]) -> str:
    """A cycle among parts that all wait for one another."""
    part, way = left[0], []
    while part not in way:
        way.append(part)
        part = next(read for read in reads(part) if read in left)
    cycle = way[way.index(part) :]
    return " → ".join(map(str, [part, *reversed(cycle)]))


def _behind(node: Node) -> set[Node]:
    """All nodes that a node depends on, delays included."""
    found: set[Node] = set()
    waiting = list(node.inputs)
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += one.inputs
            if one.loop is not None:
                waiting += one.loop.entered.values()
    return found


def tick(circuit: Circuit, plan: Plan, now: int, given: Mapping[Node, Any]) -> dict[Node, Value]:
    """The values of all nodes at a tick."""
    from .circuit import Circuit

    values: dict[Node, Value] = {}
    for node, strict, _ in plan.strict:
        values[node] = strict.give(now)
    for part in plan.order:
        if isinstance(part, Circuit):
            run_loop(part, plan.loops[part], {**given, **{node: values[of] for node, of in part.entered.items()}})
        elif part.loop is not None:
            values[part] = plan.loops[part.loop].sums[circuit.left[part]]
        elif part.strict:
            continue
        elif part.operator is None:
            values[part] = given.get(part, circuit.zeros[part])
        elif part in circuit.entered:
            values[part] = part.operator.step(now, given[part])  # type: ignore[union-attr]
        else:
            values[part] = part.operator.step(now, *[values[read] for read in part.inputs])  # type: ignore[union-attr]
    for _, strict, read in plan.strict:
        strict.take(now, values[read])
    return values


def run_loop(loop: Circuit, plan: Plan, given: Mapping[Node, Any]) -> None:
    """Runs a loop until nothing is left to be done: all that is given has been taken in, nothing is fed back, and no
    operator waits for a later tick."""
    for operator in plan.operators:
        operator.rewind()
    plan.sums = {node: loop.zeros[node] for node in loop.leaving}
    plan.recorded = {name: {} for name in loop.outputs}
    streams = {node: given.get(node, []) for node in loop.inputs.values()}
    outside = {node: loop.around.zeros[of] for node, of in loop.entered.items()} if loop.around else {}
    now: int | None = 0
    ticks = 0
    while now is not None:
        loop.watch()
        at_tick: dict[Node, Any] = {
            node: values[now] if now < len(values) else loop.zeros[node] for node, values in streams.items()
        }
        for node in loop.entered:
            at_tick[node] = given[node] if now == 0 else outside[node]
        values = tick(loop, plan, now, at_tick)
        for node, total in plan.sums.items():
            if values[node]:
                plan.sums[node] = total + values[node]
        for name, node in loop.outputs.items():
            if values[node]:
                plan.recorded[name][now] = values[node]
        ticks += 1
        if loop.most_ticks is not None and ticks > loop.most_ticks:
            raise WhenceError(
                f"{loop} has not come to rest after {loop.most_ticks:,} ticks: what is fed back does not become "
                "nothing; is a .distinct() missing?"
            )
        now = min(_next_ticks(plan, now, max(map(len, streams.values()), default=0)), default=None)


def _next_ticks(plan: Plan, now: int, given: int) -> Iterator[int]:
    if now + 1 < given:
        yield now + 1
    for operator in plan.operators:
        waiting = operator.waiting(now)
        if waiting is not None:
            yield waiting
