"""A rule version as DataFrame operations: joins by Spark, everything else natively where that is the same, else by
the kernel inside tasks.

A row of bindings is one derivation so far, so nothing is made distinct in between: whoever counts the rows of a tuple
has its number of derivations. Columns are named by the order in which variables are bound, so that every iteration
asks Spark for the same query and what it compiled for the last one is used again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from whence.lang.program import Aggregate, Call, Const, Kind, Program, Record, Rule, Term, Var, variables
from whence.plan.statistics import Statistics
from whence.plan.steps import (
    Absent,
    Bind,
    Exists,
    Filter,
    Fold,
    Keys,
    Operand,
    Probe,
    Project,
    Repeats,
    RuleVersion,
    Scan,
    Step,
    Unpack,
    View,
)

from .batches import Typed
from .columns import CARRIED, ITERATION, carried_names
from .computing import Computed, computing, folding
from .hearing import Warn

UNIT = "unit"  # the column of a relation that has none
STAMP = "stamp"  # the iteration of the new tuple that a derivation uses; 0 if there is none
NEVER = f"CAST(0 AS BIGINT) AS {STAMP}"
ZERO_OVER_NOTHING = ("count", "sum")


@dataclass(frozen=True)
class Viewed:
    """A view of a relation: its frame, carried, and how many rows that has."""

    frame: DataFrame
    rows: int


@dataclass(frozen=True)
class Bindings:
    """Rows with a column for each variable in `places`, and a stamp. `rows` is how many there are, as far as is known.

    `frame` is None for the one row of nothing that every version begins with.
    """

    frame: DataFrame | None = None
    places: Mapping[Var, str] = field(default_factory=dict)
    rows: float = 1.0


class Joining:
    """Turns versions of a program's rules into frames. `broadcast_rows` is the most that is sent to every task; tasks
    call `warn`. `driven` says that versions begin with few tuples and meet few."""

    def __init__(
        self,
        program: Program,
        spark: SparkSession,
        statistics: Statistics,
        view: Callable[[str, View], Viewed],
        broadcast_rows: int,
        warn: Warn,
        driven: bool = False,
    ) -> None:
        self.program = program
        self.spark = spark
        self.statistics = statistics
        self.view = view
        self.broadcast_rows = broadcast_rows
        self.warn = warn
        self.driven = driven
        self.both_move = False  # whether something was joined of which neither side can be sent to every task

    def derivations(self, version: RuleVersion) -> DataFrame:
        """A row for each derivation: the columns of the head, carried (`unit` if it has none), and the stamp."""
        return Derivation(self, version.rule).run(version.steps)

    def keys(self, version: RuleVersion) -> tuple[DataFrame, list[Typed]]:
        """The same without the stamp, for a head that is no relation; and what its columns are."""
        derivation = Derivation(self, version.rule)
        frame = derivation.run(version.steps).drop(STAMP)
        return frame, derivation.typed([term for term in version.rule.head.args if isinstance(term, Var)])


class Derivation:
    """One version while it is turned into a frame."""

    def __init__(self, joining: Joining, rule: Rule) -> None:
        self.joining = joining
        self.rule = rule
        self.types = joining.program.types
        self.record_types: dict[str, str] = {}  # of variables that are records
        self.names = 0

    def run(self, steps: Sequence[Step]) -> DataFrame:
        project = steps[-1]
        assert isinstance(project, Project)
        relation = self.joining.program.relations.get(self.rule.head.relation)
        kinds = [term.kind for term in project.terms]
        if relation is not None:  # what comes after its columns is the iteration
            kinds[: relation.arity] = [column.kind for column in relation.columns]
        bindings = self.steps(Bindings(), steps[:-1], project.terms)
        bindings, columns = self.terms(bindings, project.terms, ())
        named = [
            column.cast(CARRIED[kind]).alias(name)
            for column, name, kind in zip(columns, carried_names(len(kinds)), kinds, strict=True)
        ]
        return self.frame(bindings).select(*(named or [F.lit(0).cast("bigint").alias(UNIT)]), STAMP)

    def frame(self, bindings: Bindings) -> DataFrame:
        if bindings.frame is not None:
            return bindings.frame
        return self.joining.spark.range(1).selectExpr(NEVER)

    # Steps

    def steps(self, bindings: Bindings, steps: Sequence[Step], results: Sequence[Term]) -> Bindings:
        needed = _needed(steps, results)
        waiting: list[Computed] = []
        for place, step in enumerate(steps):
            if isinstance(step, Filter | Bind | Unpack) and not (not waiting and _is_native(step)):
                waiting.append(step)
                continue
            if waiting:
                bindings = self.compute(bindings, waiting, needed[place])
                waiting = []
            bindings = self.kept(self.step(bindings, step), needed[place + 1])
        return self.compute(bindings, waiting, needed[-1]) if waiting else bindings

    def kept(self, bindings: Bindings, needed: set[str]) -> Bindings:
        """The bindings without the variables that nothing asks for any more."""
        places = {variable: name for variable, name in bindings.places.items() if variable.name in needed}
        return replace(bindings, places=places)

    def step(self, bindings: Bindings, step: Step) -> Bindings:
        match step:
            case Scan(atom, view, keys, binds, repeats) | Probe(atom, view, keys, binds, repeats):
                return self.read(bindings, atom.relation, view, keys, binds, repeats)
            case Exists(atom, view, keys):
                return self.read(bindings, atom.relation, view, keys, (), ())
            case Absent(atom, view, keys):
                return self.absent(bindings, atom.relation, view, keys)
            case Filter():
                return replace(bindings, frame=self.frame(bindings).where(self.comparison(bindings, step)))
            case Bind(variable, term):
                assert isinstance(term, Var | Const)
                if variable.kind == "record":
                    self.record_types[variable.name] = self.record_type(term)
                name = self.name()
                frame = self.frame(bindings).select("*", self.operand(bindings, term).alias(name))
                return replace(bindings, frame=frame, places={**bindings.places, variable: name})
            case Fold(aggregate, inner):
                return self.fold(bindings, aggregate, inner)
        raise AssertionError(f"{step} is no step that Spark joins")

    def read(
        self,
        bindings: Bindings,
        relation: str,
        view: View,
        keys: Keys,
        binds: Sequence[tuple[int, Var]],
        repeats: Repeats,
    ) -> Bindings:
        viewed = self.joining.view(relation, view)
        declared = self.joining.program.relations[relation].columns
        frame, on = self.keyed(viewed.frame, bindings, keys, repeats)
        places = dict(bindings.places)
        columns = [f"c{column} AS {name}" for name, column in on.items()]
        for column, variable in binds:
            places[variable] = self.name()
            columns.append(f"c{column} AS {places[variable]}")
            if variable.kind == "record":
                self.record_types[variable.name] = declared[column].type
        stamps = view is View.NEW
        if stamps:
            columns.append(f"CAST({ITERATION} AS BIGINT) AS {STAMP}")
        elif bindings.frame is None:
            columns.append(NEVER)
        frame = frame.selectExpr(*columns)
        fanout = 1.0
        if on and viewed.rows:
            bound = tuple(column for column, _ in keys)
            fanout = max(1.0, viewed.rows / max(1.0, self.joining.statistics.distinct(relation, bound)))
        rows = bindings.rows * (fanout if on else viewed.rows)
        if bindings.frame is None:
            return Bindings(frame, places, rows)
        left = bindings.frame.drop(STAMP) if stamps else bindings.frame
        return Bindings(self.joined(left, bindings.rows, frame, viewed.rows, list(on)), places, rows)

    def keyed(
        self, frame: DataFrame, bindings: Bindings, keys: Keys, repeats: Repeats = ()
    ) -> tuple[DataFrame, dict[str, int]]:
        """The rows that have the constants, and by name in the bindings the column that must equal it."""
        first: dict[str, int] = {}
        for one, other in repeats:
            frame = frame.where(F.col(f"c{one}") == F.col(f"c{other}"))
        for column, operand in keys:
            if isinstance(operand, Const):
                frame = frame.where(F.col(f"c{column}") == self.constant(operand))
                continue
            name = bindings.places[operand]
            if name in first:
                frame = frame.where(F.col(f"c{first[name]}") == F.col(f"c{column}"))
            else:
                first[name] = column
        return frame, first

    def joined(self, left: DataFrame, left_rows: float, right: DataFrame, rows: int, on: list[str]) -> DataFrame:
        """The smaller side goes to every task where that is not too much; else both move."""
        limit = self.joining.broadcast_rows
        if rows <= left_rows and rows <= limit:
            right = F.broadcast(right)
        elif left_rows <= limit:
            left = F.broadcast(left)
        else:
            self.joining.both_move = True
        return left.join(right, on) if on else left.crossJoin(right)

    def absent(self, bindings: Bindings, relation: str, view: View, keys: Keys) -> Bindings:
        viewed = self.joining.view(relation, view)
        if not viewed.rows:
            return bindings
        frame, on = self.keyed(viewed.frame, bindings, keys)
        columns = [f"c{column} AS {name}" for name, column in on.items()]
        frame = frame.selectExpr(*columns) if on else frame.selectExpr("1 AS some").limit(1)
        left = self.frame(bindings)
        if self.joining.driven and on and bindings.rows < viewed.rows:
            asked = F.broadcast(left.select(*on).distinct())
            frame = F.broadcast(frame.join(asked, list(on), "left_semi"))
        elif viewed.rows <= self.joining.broadcast_rows:
            frame = F.broadcast(frame)
        else:
            self.joining.both_move = True
        return replace(bindings, frame=left.join(frame, list(on) or F.lit(True), "left_anti"))

    def fold(self, bindings: Bindings, aggregate: Aggregate, inner: Sequence[Step]) -> Bindings:
        """Each distinct value of the outer variables once through the inner steps; then the groups are folded."""
        project = inner[-1]
        assert isinstance(project, Project)
        outer = [variable for variable in bindings.places if variable in aggregate.outer]
        names = [bindings.places[variable] for variable in outer]
        before = self.frame(bindings)
        given = Bindings()
        if outer:
            groups = before.select(*names).distinct().selectExpr("*", NEVER)
            given = Bindings(groups, dict(zip(outer, names, strict=True)), bindings.rows)
        inside = self.steps(given, inner[:-1], [*outer, *project.terms])
        inside, targets = self.terms(inside, project.terms, outer)
        [target] = targets or [F.lit(0)]  # a row of nothing is no row to Arrow
        frame = self.frame(inside).select(*names, target.cast("bigint").alias("target"))
        frame = frame.repartition(*names) if outer else frame.coalesce(1)
        result = self.name()
        fields = [StructField(name, CARRIED[variable.kind]) for name, variable in zip(names, outer, strict=True)]
        schema = StructType([*fields, StructField(result, LongType())])
        folded = frame.mapInArrow(folding(aggregate, self.typed(outer), self.types), schema)
        places = {**bindings.places, aggregate.result: result}
        on: list[str] | Column = names
        if not outer:
            on, folded = F.lit(True), F.broadcast(folded)
        if aggregate.op in ZERO_OVER_NOTHING:  # a group without rows has that too
            frame = before.join(folded, on, "left").fillna(0, [result])
        else:
            frame = before.join(folded, on)
        return replace(bindings, frame=frame, places=places)

    # Terms

    def compute(self, bindings: Bindings, steps: Sequence[Computed], needed: set[str]) -> Bindings:
        """Steps that the kernel does, in one pass over the rows."""
        for step in steps:
            self.learn(step)
        bound = dict.fromkeys(bindings.places)
        for step in steps:
            bound |= dict.fromkeys(_binds(step))
        wanted = [variable for variable in bound if variable.name in needed]
        names = {variable: bindings.places.get(variable) or self.name() for variable in wanted}
        read = {variable.name for step in steps for variable in _variables(step)} | needed
        given = [variable for variable in bindings.places if variable.name in read]
        frame = self.frame(bindings).select(*(bindings.places[variable] for variable in given), STAMP)
        fields = [StructField(names[variable], CARRIED[variable.kind]) for variable in wanted]
        task = computing(
            steps,
            list(zip(given, self.typed(given), strict=True)),
            list(zip(wanted, self.typed(wanted), strict=True)),
            self.types,
            self.rule,
            self.joining.warn,
        )
        schema = StructType([*fields, StructField(STAMP, LongType())])
        return Bindings(frame.mapInArrow(task, schema), names, bindings.rows)

    def terms(self, bindings: Bindings, terms: Sequence[Term], keep: Sequence[Var]) -> tuple[Bindings, list[Column]]:
        """Columns with the values of terms; the variables to `keep` stay too."""
        dear = [term for term in terms if not _is_plain(term)]
        if dear:
            made = {id(term): Var(f"m {self.names}.{i}", term.kind) for i, term in enumerate(dear)}
            plain = [variable for term in terms if _is_plain(term) for variable in variables(term)]
            wanted = {variable.name for variable in (*made.values(), *keep, *plain)}
            bindings = self.compute(bindings, [Bind(made[id(term)], term) for term in dear], wanted)
            terms = [made.get(id(term), term) for term in terms]
        return bindings, [self.plain(bindings, term) for term in terms]

    def plain(self, bindings: Bindings, term: Term) -> Column:
        if isinstance(term, Call):
            args = [self.plain(bindings, arg) for arg in term.args]
            return F.greatest(*args) if term.functor == "max" else args[0] + args[1]
        assert isinstance(term, Var | Const)
        return self.operand(bindings, term)

    def comparison(self, bindings: Bindings, step: Filter) -> Column:
        left, right = step.comparison.left, step.comparison.right
        assert isinstance(left, Var | Const)
        assert isinstance(right, Var | Const)
        one, other = self.operand(bindings, left), self.operand(bindings, right)
        compared: dict[str, Callable[[], Column]] = {
            "=": lambda: one == other,
            "!=": lambda: one != other,
            "<": lambda: one < other,
            "<=": lambda: one <= other,
            ">": lambda: one > other,
            ">=": lambda: one >= other,
        }
        return compared[step.comparison.op]()

    def operand(self, bindings: Bindings, operand: Operand) -> Column:
        return F.col(bindings.places[operand]) if isinstance(operand, Var) else self.constant(operand)

    def constant(self, constant: Const) -> Column:
        return F.lit(carried_value(constant.value, constant.kind)).cast(CARRIED[constant.kind])

    def name(self) -> str:
        self.names += 1
        return f"x{self.names}"

    # Types of records, which variables do not know of themselves

    def typed(self, several: Sequence[Var]) -> list[Typed]:
        return [(v.kind, self.record_types.get(v.name, "") if v.kind == "record" else v.kind) for v in several]

    def record_type(self, term: Term) -> str:
        if isinstance(term, Record):
            return term.type
        return self.record_types.get(term.name, "") if isinstance(term, Var) else ""

    def learn(self, step: Computed) -> None:
        if isinstance(step, Bind) and step.variable.kind == "record":
            self.record_types[step.variable.name] = self.record_type(step.term)
        elif isinstance(step, Unpack):
            self.learn_fields(step.pattern)

    def learn_fields(self, pattern: Record) -> None:
        for part, (_, name) in zip(pattern.fields, self.types[pattern.type].fields or (), strict=True):
            if isinstance(part, Record):
                self.learn_fields(part)
            elif isinstance(part, Var) and part.kind == "record":
                self.record_types.setdefault(part.name, name)


def carried_value(value: int | float | str | None, kind: Kind) -> int | str:
    match kind:
        case "symbol":
            return str(value)
        case "record":
            assert value is None
            return "nil"
        case "float":
            assert isinstance(value, float)
            return int(np.float64(value).view(np.int64))
        case "unsigned":
            assert isinstance(value, int)
            return value - (1 << 64) if value >= 1 << 63 else value
    assert isinstance(value, int)
    return value


def _is_plain(term: Term) -> bool:
    """Whether Spark's own expression means the same as the kernel's; iterations are such terms."""
    if isinstance(term, Call):
        numbers = all(arg.kind == "number" and _is_plain(arg) for arg in term.args)
        return term.kind == "number" and len(term.args) > 1 and term.functor in ("add", "max") and numbers
    return isinstance(term, Var | Const)


def _is_native(step: Computed) -> bool:
    """Whether Spark's own expression means the same as the kernel's."""
    match step:
        case Filter(comparison):
            sides = (comparison.left, comparison.right)
            if not all(isinstance(side, Var | Const) for side in sides):
                return False
            kind = comparison.left.kind
            return comparison.op in ("=", "!=") or (comparison.op in ("<", "<=", ">", ">=") and kind == "number")
        case Bind(_, term):
            return isinstance(term, Var | Const)
    return False


def _needed(steps: Sequence[Step], results: Sequence[Term]) -> list[set[str]]:
    """For each step, and for the end, the names of variables that it or something after it uses."""
    needed = [{variable.name for term in results for variable in variables(term)}]
    for step in reversed(steps):
        needed.append(needed[-1] | {variable.name for variable in _variables(step)})
    needed.reverse()
    return needed


def _variables(step: Step) -> set[Var]:
    match step:
        case Scan(keys=keys) | Probe(keys=keys) | Exists(keys=keys) | Absent(keys=keys):
            return {operand for _, operand in keys if isinstance(operand, Var)}
        case Filter(comparison):
            return set(variables(comparison))
        case Bind(_, term):
            return set(variables(term))
        case Unpack(value, pattern):
            return {*variables(value), *variables(pattern)}
        case Fold(aggregate):
            return set(aggregate.outer)
    return set()


def _binds(step: Computed) -> list[Var]:
    match step:
        case Bind(variable):
            return [variable]
        case Unpack(_, pattern, bound):
            return [v for v in variables(pattern) if v.name not in bound and not v.anonymous]
    return []
