"""Circuits: streams, and the operators between them. They are built, validated, drawn and stepped.

    circuit = Circuit()
    edges = circuit.input("edges", arity=2)
    with circuit.loop() as loop:
        edge = edges.enter(loop)
        path = loop.variable("path", arity=2)
        path.define((edge + path.delay().join(edge, on=[(1, 0)], keep=[(0, 0), (1, 1)])).distinct())
    circuit.output("paths", path.leave())
    circuit.step(edges={(1, 2): 1, (2, 3): 1})["paths"]

A circuit has a clock; a loop has one of its own, which runs until nothing changes at each tick of the clock around it.
Its streams are nested streams: a value for each tick of both clocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from whence.engines.local.table import Rows
from whence.errors import WhenceError

from . import operators
from .grouping import Aggregation, Group
from .matching import join_plan
from .operators import Operator, Strict, Value
from .stepping import MOST_TICKS, Plan, planned, tick
from .thresholds import Distinct
from .zset import Flags, ZSet


@dataclass(eq=False)
class Node:
    """One operator of a circuit: what it is called, what it reads, what it does."""

    number: int
    label: str
    inputs: list[Node]
    operator: Operator | Strict | None = None  # None for what is given from outside
    strict: bool = False
    loop: Circuit | None = None  # the loop whose stream enters or leaves here
    name: str = ""  # that the user gave it

    def __repr__(self) -> str:
        return self.name or self.label


class Stream:
    """What a node gives, tick by tick. Methods add nodes that read it."""

    def __init__(self, circuit: Circuit, node: Node, zero: Value) -> None:
        self.circuit = circuit
        self.node = node
        self.zero = zero

    @property
    def arity(self) -> int:
        if not isinstance(self.zero, ZSet):
            raise WhenceError(f"{self.node} is not a stream of Z-sets")
        return self.zero.arity

    def named(self, name: str) -> Stream:
        """The same stream; drawings and errors call it so."""
        self.node.name = name
        return self

    # Lifted functions

    def lift(self, function: Callable[..., Value], *others: Stream, zero: Value = None, label: str = "") -> Stream:
        """↑f: the function of the values of each tick. `zero` is the zero of what it gives, if that is of another form.

        A function that is linear may be given changes as well as sums; others have to be lifted over sums."""
        label = label or f"↑{getattr(function, '__name__', 'f')}"
        streams = (self, *others)
        return self.circuit.apply(label, operators.Lift(function), streams, self.zero if zero is None else zero)

    def map(self, function: Callable[[Rows], Rows], arity: int) -> Stream:
        """Rows made of rows by a function of arrays, one of each. Linear."""
        return self.lift(lambda value: value.map(function, arity), zero=ZSet(arity), label="map")

    def project(self, *columns: int) -> Stream:
        _check_columns(columns, self.arity)
        label = f"π {', '.join(map(str, columns))}"
        return self.lift(lambda value: value.project(columns), zero=ZSet(len(columns)), label=label)

    def filter(self, holds: Callable[[Rows], Flags]) -> Stream:
        """The rows for which a function of arrays gives true. Linear."""
        return self.lift(lambda value: value.select(holds), label="σ")

    def __add__(self, other: Stream) -> Stream:
        self._check_alike(other)
        return self.circuit.apply("+", operators.Lift(operators.add), (self, other), self.zero)

    def __neg__(self) -> Stream:
        return self.lift(lambda value: -value, label="−")

    def __sub__(self, other: Stream) -> Stream:
        return self + -other

    # Time

    def delay(self, over: Circuit | None = None) -> Stream:
        """z⁻¹ of the clock of this circuit, or of that of the circuit around it: nothing, then what came a tick
        before."""
        return self._timed(over, "z⁻¹", operators.Delay, operators.OuterDelay, strict=True)

    def integrate(self, over: Circuit | None = None) -> Stream:
        """I: the sum of all values so far, on the clock of this circuit or of the one around it."""
        return self._timed(over, "I", operators.Integrate, operators.OuterIntegrate)

    def differentiate(self, over: Circuit | None = None) -> Stream:
        """D: each value without the one before, on the clock of this circuit or of the one around it."""
        return self._timed(over, "D", operators.Differentiate, operators.OuterDifferentiate)

    def _timed(self, over: Circuit | None, label: str, own: Any, outer: Any, strict: bool = False) -> Stream:
        if over is None or over is self.circuit:
            return self.circuit.apply(label, own(self.zero), (self,), self.zero, strict)
        if over is not self.circuit.around:
            raise WhenceError(f"{self.node} has no tick of {over}: name its own circuit, or the one around it")
        return self.circuit.apply(f"↑{label}", outer(self.zero), (self,), self.zero, strict)

    def enter(self, loop: Circuit) -> Stream:
        """δ₀: in a loop, the value of the tick at the loop's first tick, then nothing."""
        if loop.around is not self.circuit:
            raise WhenceError(f"{self.node} is not a stream of the circuit around {loop}")
        return loop.entering("δ₀", self, None, self.zero)

    def leave(self) -> Stream:
        """∫: around the loop, the sum of all values of the loop's ticks."""
        around = self.circuit.around
        if around is None:
            raise WhenceError(f"{self.node} is not in a loop, so it cannot leave one")
        self.circuit.leaving.append(self.node)
        node = around.add("∫", [], loop=self.circuit)
        around.left[node] = self.node
        around.zeros[node] = self.zero
        return Stream(around, node, self.zero)

    # Incremental operators: changes in, changes out

    def join(
        self, other: Stream, on: Sequence[tuple[int, int]], keep: Sequence[tuple[int, int]] | None = None
    ) -> Stream:
        """The incremental join: how the pairs that are equal in the columns of `on` change when either side does."""
        self._check_circuit(other)
        matches = join_plan(self.arity, other.arity, on, keep)
        operator = operators.Join(self.arity, other.arity, matches, self.circuit.around is not None)
        equalities = ", ".join(f"{i} = {j}" for i, j in on)
        label = f"⋈ {equalities}" if on else "×"
        return self.circuit.apply(label, operator, (self, other), ZSet(len(matches[0].outputs)))

    def distinct(self) -> Stream:
        """The incremental distinct: how the set of rows of positive weight changes."""
        operator = Distinct(self.arity, self.circuit.around is not None)
        return self.circuit.apply("distinct", operator, (self,), self.zero)

    def group(self, by: Sequence[int], aggregate: str = "count", column: int | None = None) -> Stream:
        """How an aggregate of each group changes: rows of the columns `by` and the value."""
        _check_columns((*by, *(() if column is None else (column,))), self.arity)
        aggregation = Aggregation(tuple(by), aggregate, column)
        operator = Group(self.arity, aggregation, self.circuit.around is not None)
        label = f"{aggregate}{'' if column is None else f' {column}'} by {', '.join(map(str, by)) or 'nothing'}"
        return self.circuit.apply(label, operator, (self,), ZSet(len(by) + 1))

    # What is not defined yet

    def define(self, stream: Stream) -> None:
        """Says what a variable stands for."""
        if self.node not in self.circuit.undefined:
            raise WhenceError(f"{self.node} is no variable, or has been defined: only variables are, and once")
        self._check_alike(stream)
        self.circuit.undefined.remove(self.node)
        self.node.inputs.append(stream.node)
        self.node.operator = operators.Lift(operators.add)

    def _check_circuit(self, other: Stream) -> None:
        if other.circuit is not self.circuit:
            raise WhenceError(
                f"{self.node} and {other.node} are in different circuits: let one enter or leave the loop"
            )

    def _check_alike(self, other: Stream) -> None:
        self._check_circuit(other)
        if isinstance(self.zero, ZSet) and isinstance(other.zero, ZSet) and self.arity != other.arity:
            raise WhenceError(f"{self.node} has {self.arity} columns, {other.node} has {other.arity}")


@dataclass(eq=False)
class Circuit:
    """`around` is the circuit that a loop is in."""

    name: str = "circuit"
    around: Circuit | None = None
    nodes: list[Node] = field(default_factory=list)
    inputs: dict[str, Node] = field(default_factory=dict)
    outputs: dict[str, Node] = field(default_factory=dict)
    loops: list[Circuit] = field(default_factory=list)
    undefined: list[Node] = field(default_factory=list)
    entered: dict[Node, Node] = field(default_factory=dict)  # of a loop: its node, the one outside that it is
    leaving: list[Node] = field(default_factory=list)  # of a loop: nodes whose sums leave it
    left: dict[Node, Node] = field(default_factory=dict)  # a node, and the one of the loop that it sums
    zeros: dict[Node, Value] = field(default_factory=dict)
    now: int = -1
    plan: Plan | None = None
    most_ticks: int | None = None  # of a loop, before it is given up
    watch: Callable[[], None] = lambda: None  # called at every tick of a loop

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<{self.name}: {len(self.nodes)} nodes>"

    def __enter__(self) -> Circuit:
        return self

    def __exit__(self, *_: object) -> None: ...

    # Building

    def input(self, name: str, arity: int = 0, zero: Value = None) -> Stream:
        """What is given from outside at each tick; nothing, if it is not. A loop's input is given a list of values, one
        for each tick of the loop. `zero` is for values that are not Z-sets."""
        outermost = self.around or self
        if name in outermost.inputs or (self.around and name in self.inputs):
            raise WhenceError(f"there is an input {name!r} already")
        node = self.add(name, [])
        node.name = name
        self.zeros[node] = ZSet(arity) if zero is None else zero
        self.inputs[name] = node
        return Stream(self, node, self.zeros[node])

    def output(self, name: str, stream: Stream) -> None:
        """What `step` is to return. A loop's output is a list of values, one for each tick."""
        if stream.circuit is not self:
            raise WhenceError(f"{stream.node} is not a stream of {self}")
        self.outputs[name] = stream.node
        self.plan = None

    def variable(self, name: str, arity: int = 0, zero: Value = None) -> Stream:
        """A stream that is defined later, so that it may depend on itself; a cycle has to hold a delay."""
        node = self.add(name, [])
        node.name = name
        self.undefined.append(node)
        self.zeros[node] = ZSet(arity) if zero is None else zero
        return Stream(self, node, self.zeros[node])

    def loop(self, name: str = "loop", most_ticks: int | None = MOST_TICKS) -> Circuit:
        """A circuit within this one, with a clock of its own; it is given up where it does not come to rest."""
        if self.around is not None:
            raise WhenceError("a loop cannot hold another one: there are one and two levels of time")
        made = Circuit(name, self, most_ticks=most_ticks)
        self.loops.append(made)
        return made

    def apply(self, label: str, operator: Any, streams: Sequence[Stream], zero: Value, strict: bool = False) -> Stream:
        """Adds an operator of one's own; see `operators` for what it has to be."""
        for stream in streams[1:]:
            streams[0]._check_circuit(stream)
        node = self.add(label, [stream.node for stream in streams], operator, strict)
        self.zeros[node] = zero
        return Stream(self, node, zero)

    def entering(self, label: str, stream: Stream, operator: Operator | None, zero: Value) -> Stream:
        """A stream of the circuit around this loop, introduced into it: by δ₀, or by an operator of one's own, which is
        given the value at the first tick and nothing after it."""
        node = self.add(label, [], operator)
        self.entered[node] = stream.node
        self.zeros[node] = zero
        return Stream(self, node, zero)

    def add(
        self,
        label: str,
        inputs: list[Node],
        operator: Any = None,
        strict: bool = False,
        loop: Circuit | None = None,
    ) -> Node:
        node = Node(len(self.nodes), label, inputs, operator, strict, loop)
        self.nodes.append(node)
        self.plan = None
        return node

    def validate(self) -> None:
        """Checks that it can be stepped: variables are defined, and every cycle holds a delay."""
        planned(self)

    # Stepping

    def step(self, **values: Any) -> dict[str, Any]:
        """One tick: what is given to inputs, and what outputs give.

        An input is given a Z-set, a dictionary of rows with weights, or a list of rows; a loop's input a list of
        these."""
        if self.around is not None:
            raise WhenceError(f"{self} is a loop: step the circuit around it")
        plan = self.plan or planned(self)
        self.plan = plan
        given = self._given(values)
        self.now += 1
        results = tick(self, plan, self.now, given)
        found = {name: results[node] for name, node in self.outputs.items()}
        for loop in self.loops:
            found |= plan.loops[loop].recorded
        return found

    def _given(self, values: Mapping[str, Any]) -> dict[Node, Any]:
        given: dict[Node, Any] = {}
        nested = {name: (loop, node) for loop in self.loops for name, node in loop.inputs.items()}
        for name, value in values.items():
            if name in self.inputs:
                node = self.inputs[name]
                given[node] = _fed(value, self.zeros[node], name)
            elif name in nested:
                loop, node = nested[name]
                given[node] = [_fed(one, loop.zeros[node], name) for one in value]
            else:
                known = ", ".join([*self.inputs, *nested]) or "none"
                raise WhenceError(f"the circuit has no input {name!r}; there are: {known}")
        return given

    # Drawing

    def text(self) -> str:
        from .drawing import text_of

        return text_of(self)

    def svg(self) -> str:
        from .drawing import svg_of

        return svg_of(self)

    def _repr_svg_(self) -> str:
        return self.svg()


def _fed(value: Any, zero: Value, name: str) -> Value:
    if not isinstance(zero, ZSet):
        return value
    made = value if isinstance(value, ZSet) else ZSet.of(value, zero.arity)
    if made.arity != zero.arity:
        raise WhenceError(f"{name} has {zero.arity} columns; a Z-set of {made.arity} was given")
    return made


def _check_columns(columns: Sequence[int], arity: int) -> None:
    for column in columns:
        if not 0 <= column < arity:
            raise WhenceError(f"rows of {arity} columns have no column {column}; the first is 0")
