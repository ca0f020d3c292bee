"""Primitives to the kernel's code, with a register for each variable that is still needed.

The kernel runs a *segment*; where something is done on whole columns, one segment ends by emitting the variables that
are still needed, and the next begins by scanning them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from whence.lang.program import Const, Var
from whence.plan.steps import Absent, Binds, Exists, Keys, Operand, Probe, Repeats, Scan, View

from .kernel import layout
from .primitives import (
    BINARY,
    COMPARE,
    UNARY,
    WEIGHT,
    Compare,
    Compute,
    Emit,
    Fields,
    Group,
    Pack,
    Primitive,
    in_kernel,
    reads,
    writes,
)

ONE = Const(1, "number")


@dataclass(frozen=True)
class Arranged:
    """What an instruction reads: a view of a relation, with an index on `columns` unless there are none."""

    relation: str
    view: View
    columns: tuple[int, ...]
    needed: bool  # nothing is derived if it is empty
    whole: bool = False  # tuples are looked up by all columns


@dataclass(frozen=True)
class RecordFields:
    """The table of records with this number of fields."""

    arity: int


@dataclass(frozen=True)
class Handed:
    """The columns that the segment before, or an aggregate's rule, hands on."""

    arity: int


Reading = Arranged | RecordFields | Handed


@dataclass
class Segment:
    """Code for one run of the kernel. `given` are the variables handed to it, `emits` what it emits."""

    given: tuple[Var, ...] | None
    emits: tuple[Operand, ...]
    weighted: bool
    code: list[int]
    levels: int
    readings: list[Reading]
    registers: int
    constants: list[tuple[int, Const]]  # registers that hold the same value throughout


@dataclass
class Pipeline:
    """Segments, and what is done on whole columns after each but the last."""

    segments: list[Segment] = field(default_factory=list)
    between: list[list[Compute | Pack | Compare | Group]] = field(default_factory=list)


def assemble(primitives: Sequence[Primitive], given: tuple[Var, ...] | None, counted: bool) -> Pipeline:
    """`given` are variables that are bound before the first primitive; `counted` says whether derivations matter."""
    weighing = [i for i, p in enumerate(primitives) if counted and isinstance(p, Exists) and not p.whole]
    live: set[Var] = set()
    after: list[set[Var]] = []
    for primitive in reversed(primitives):
        after.append(live)
        live = (live - writes(primitive)) | reads(primitive)
    after.reverse()
    if weighing:
        for i in range(weighing[0], len(primitives)):
            after[i] = after[i] | {WEIGHT}
    pipeline = Pipeline()
    building = Building(given)
    for i, primitive in enumerate(primitives):
        if not in_kernel(primitive):
            assert isinstance(primitive, Compute | Pack | Compare | Group)
            if not building.handing_on:
                before = (after[i] - writes(primitive)) | reads(primitive)
                # Columns are read by all that is done until the kernel goes on, so hand on what any of it reads.
                building.hand_on(sorted(before & building.bound, key=lambda v: v.name))
                pipeline.between.append([])
            pipeline.between[-1].append(primitive)
            continue
        if building.handing_on:
            pipeline.segments.append(building.finish())
            done = pipeline.between[-1]
            known = set(building.emitted).union(*map(writes, done))
            wanted = (after[i] - writes(primitive)) | reads(primitive)
            building = Building(tuple(sorted(wanted & known, key=lambda v: v.name)))
        building.add(primitive, after[i], weighted=bool(weighing), weigh=i in weighing)
    pipeline.segments.append(building.finish())
    return pipeline


class Building:
    """A segment while it is made."""

    def __init__(self, given: tuple[Var, ...] | None) -> None:
        self.given = given
        self.levels: list[list[int]] = []
        self.readings: list[Reading] = []
        self.registers = 0
        self.constants: dict[tuple[str, str], tuple[int, Const]] = {}
        self.places: dict[Var, int] = {}  # registers of the current level
        self.emitted: tuple[Operand, ...] = ()
        self.weighted = False
        self.handing_on = False
        if given is not None:
            self.places = {variable: self.register() for variable in given}
            view = self.reading(Handed(len(given)))
            self.levels.append([layout.SCAN, view, *_list(range(len(given))), *_list(self.places.values())])

    @property
    def bound(self) -> set[Var]:
        return set(self.places)

    def finish(self) -> Segment:
        starts: list[int] = []
        code: list[int] = []
        for level in self.levels:
            starts.append(1 + len(self.levels) + len(code))
            code += [*level, layout.END]
        return Segment(
            self.given,
            self.emitted,
            self.weighted,
            [len(self.levels), *starts, *code],
            len(self.levels),
            self.readings,
            self.registers,
            list(self.constants.values()),
        )

    def hand_on(self, variables: Sequence[Var]) -> None:
        self.here.extend([layout.EMIT, *_list(self.operand(v) for v in variables), -1])
        self.emitted = tuple(variables)
        self.handing_on = True

    def add(self, primitive: Primitive, after: set[Var], weighted: bool, weigh: bool) -> None:
        match primitive:
            case Scan(atom, view, keys, binds, repeats):
                self.read(Arranged(atom.relation, view, (), True), (), keys, binds, repeats, after)
            case Probe(atom, view, keys, binds, repeats):
                columns = tuple(column for column, _ in keys)
                self.read(Arranged(atom.relation, view, columns, True), keys, (), binds, repeats, after)
            case Exists(atom, view, keys):
                self.exists(primitive, after, weigh)
            case Absent(atom, view, keys):
                columns = () if primitive.whole else tuple(column for column, _ in keys)
                operation = layout.ABSENT if primitive.whole else layout.MISS
                reading = self.reading(Arranged(atom.relation, view, columns, False, primitive.whole))
                self.here.extend([operation, reading, *self.operands(keys), *self.live(after)])
            case Compute(to, functor, args):
                self.compute(to, functor, args)
            case Compare(op, left, right):
                comparison = COMPARE[op, left.kind]
                self.here.extend([layout.FILTER, comparison, self.operand(left), self.operand(right)])
                self.here.extend(self.live(after))
            case Fields(value, arity, binds):
                self.fields(value, arity, binds, after)
            case Emit(operands):
                weight = self.operand(WEIGHT) if weighted else -1
                self.here.extend([layout.EMIT, *_list(self.operand(o) for o in operands), weight])
                self.emitted = operands
                self.weighted = weighted

    # Instructions

    def read(
        self, arranged: Arranged, keys: Keys, checks: Keys, binds: Binds, repeats: Repeats, after: set[Var]
    ) -> None:
        """Open a level that reads tuples, and drop those that do not fit."""
        if not self.levels and keys:
            self.levels.append([layout.UNIT])
        above = self.places
        checked = {operand for _, operand in checks if isinstance(operand, Var)}
        kept = [variable for variable in above if variable in after or variable in checked]
        key_registers = [above[o] if isinstance(o, Var) else self.operand(o) for _, o in keys]
        self.places = {variable: self.register() for variable in kept}
        columns = {column: self.register() for column in dict.fromkeys(_columns(checks, binds, repeats))}
        self.places |= {variable: columns[column] for column, variable in binds}
        view = self.reading(arranged)
        if self.levels:
            scratch = [self.register() for _ in range(3)]
            moves = [*_list(above[v] for v in kept), *_list(self.places[v] for v in kept)]
            opening = [layout.PROBE, view, *_list(key_registers)] if keys else [layout.CROSS, view]
            level = [*opening, *scratch, *moves]
        else:
            level = [layout.SCAN, view]
        self.levels.append([*level, *_list(columns), *_list(columns.values())])
        equal = [(columns[column], self.operand(operand)) for column, operand in checks]
        equal += [(columns[one], columns[other]) for one, other in repeats]
        for one, other in equal:
            live = dict.fromkeys([*self.places.values(), *columns.values()])
            self.here.extend([layout.FILTER, layout.EQ, one, other, *_list(live)])
        self.places = {variable: place for variable, place in self.places.items() if variable in after}

    def exists(self, step: Exists, after: set[Var], weigh: bool) -> None:
        columns = () if step.whole else tuple(column for column, _ in step.keys)
        reading = self.reading(Arranged(step.atom.relation, step.view, columns, True, step.whole))
        keys = self.operands(step.keys)
        if step.whole:
            self.here.extend([layout.TEST, reading, *keys, *self.live(after)])
        elif not weigh:
            self.here.extend([layout.SEEK, reading, *keys, *self.live(after)])
        else:
            if WEIGHT not in self.places:
                self.compute(WEIGHT, "copy", (ONE,))
            registers = (self.places[WEIGHT], self.register(), self.register())
            self.here.extend([layout.WEIGH, reading, *keys, *registers, *self.live(after)])

    def compute(self, to: Var, functor: str, args: tuple[Operand, ...]) -> None:
        operands = [self.operand(arg) for arg in args]
        register = self.register()
        if len(args) == 1:
            self.here.extend([layout.UNARY, UNARY[functor, args[0].kind], register, *operands])
        else:
            self.here.extend([layout.BINARY, BINARY[functor, args[0].kind], register, *operands])
        self.places[to] = register

    def fields(self, value: Operand, arity: int, binds: Binds, after: set[Var]) -> None:
        register = self.operand(value)
        view = self.reading(RecordFields(arity))
        live = dict.fromkeys([register, *(place for v, place in self.places.items() if v in after)])
        targets = {variable: self.register() for _, variable in binds}
        self.here.extend([layout.UNPACK, view, register, *_list(column for column, _ in binds)])
        self.here.extend([*_list(targets.values()), *_list(live)])
        self.places |= targets

    # Registers and operands

    @property
    def here(self) -> list[int]:
        """The code of the current level; one that reads nothing is opened if there is none."""
        if not self.levels:
            self.levels.append([layout.UNIT])
        return self.levels[-1]

    def register(self) -> int:
        self.registers += 1
        return self.registers - 1

    def reading(self, reading: Reading) -> int:
        self.readings.append(reading)
        return len(self.readings) - 1

    def operand(self, operand: Operand) -> int:
        if isinstance(operand, Var):
            return self.places[operand]
        key = (operand.kind, repr(operand.value))  # 0.0 and -0.0 are equal, but not the same
        if key not in self.constants:
            self.constants[key] = (self.register(), operand)
        return self.constants[key][0]

    def operands(self, keys: Keys) -> list[int]:
        return _list(self.operand(operand) for _, operand in keys)

    def live(self, after: set[Var]) -> list[int]:
        self.places = {variable: place for variable, place in self.places.items() if variable in after}
        return _list(self.places.values())


def _list(members: Iterable[int]) -> list[int]:
    listed = list(members)
    return [len(listed), *listed]


def _columns(checks: Keys, binds: Binds, repeats: Repeats) -> list[int]:
    return [
        *(column for column, _ in checks),
        *(column for column, _ in binds),
        *(column for pair in repeats for column in pair),
    ]
