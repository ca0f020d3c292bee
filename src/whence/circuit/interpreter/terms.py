"""What is done to rewrites between atoms: comparisons and bindings, over whole columns.

Values are the local engine's int64: this is the one thing that the interpreter shares with that engine, since what
`"a" < "b"` or a record is has to be the same everywhere. No plan and no version of a rule comes in here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from whence.engines.local import strings
from whence.engines.local.kernel.library import load
from whence.engines.local.primitives import BINARY, COMPARE, UNARY
from whence.engines.local.records import RecordTables
from whence.engines.local.symbols import SymbolTable
from whence.engines.local.table import Rows, Words
from whence.lang.program import Call, Comparison, Const, Kind, Record, Term, Var

from .prefixes import open_side

Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True)
class Encoding:
    """How values are numbers: those of constants, of strings, of records."""

    constant: Callable[[Const], int]
    symbols: SymbolTable
    records: RecordTables
    warn: Callable[[str], None] = lambda message: None


class Columns:
    """Rewrites as columns by variable, while something is done to them. `kept` says which rows are left."""

    def __init__(self, rows: Rows, names: Sequence[Var], encoding: Encoding) -> None:
        self.count = len(rows)
        self.values = {name.name: rows[:, i] for i, name in enumerate(names)}
        self.encoding = encoding
        self.kept: Words | None = None

    def do(self, comparison: Comparison) -> None:
        binds = open_side(comparison, set(self.values))
        if binds is not None:
            self._take_apart(binds[0], self.value(binds[1]))
            return
        left, right, op = self.value(comparison.left), self.value(comparison.right), comparison.op
        self._keep(self._holds(op, left, right, comparison.left.kind))

    def value(self, term: Term) -> Words:
        match term:
            case Var(name):
                return self.values[name]
            case Const():
                return np.full(self.count, self.encoding.constant(term), np.int64)
            case Record(fields=fields):
                packed = np.empty((self.count, len(fields)), np.int64)
                for i, part in enumerate(fields):
                    packed[:, i] = self.value(part)
                codes = self.encoding.records.pack(len(fields), packed.reshape(-1))
                return codes if fields else np.repeat(codes, self.count)
            case Call(functor, args, kind):
                return self._call(functor, [self.value(arg) for arg in args], [arg.kind for arg in args], kind)
        raise AssertionError(f"{term} is no term")

    def matrix(self, names: Sequence[Term]) -> Rows:
        rows = np.empty((self.count, len(names)), np.int64)
        for i, term in enumerate(names):
            rows[:, i] = self.value(term)
        return rows

    def _call(self, functor: str, args: list[Words], kinds: list[Kind], kind: Kind) -> Words:
        if len(args) == 1 and (functor, kinds[0]) in UNARY:
            return self._compute(UNARY[functor, kinds[0]], args)
        if len(args) > 1 and (functor, kinds[0]) in BINARY:
            total = args[0]
            for arg in args[1:]:  # only `min` and `max` have more than two
                total = self._compute(BINARY[functor, kinds[0]], [total, arg])
            return total
        return strings.apply(functor, args, kinds, kind, self.encoding.symbols, self.encoding.warn)

    def _compute(self, operation: int, args: list[Words]) -> Words:
        columns = [np.ascontiguousarray(arg) for arg in args]
        made = np.empty(self.count, np.int64)
        addresses = [column.ctypes.data for column in columns] + [0] * (2 - len(columns))
        if load().compute_column(operation, len(columns), made.ctypes.data, *addresses, self.count):
            raise ZeroDivisionError
        return made

    def _holds(self, op: str, left: Words, right: Words, kind: Kind) -> Flags:
        if op in (">", ">=") and kind != "symbol":
            left, right, op = right, left, "<" if op == ">" else "<="
        if (op, kind) not in COMPARE:
            return strings.holds(op, left, right, self.encoding.symbols, self.encoding.warn)
        left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
        flags = np.empty(self.count, np.bool_)
        load().compare_columns(COMPARE[op, kind], left.ctypes.data, right.ctypes.data, flags.ctypes.data, self.count)
        return flags

    def _take_apart(self, pattern: Term, value: Words) -> None:
        """Matches values with a pattern: variables without a value get one, all else is compared."""
        if isinstance(pattern, Var) and pattern.name not in self.values:
            self.values[pattern.name] = value
            return
        if not isinstance(pattern, Record):
            self._keep(self._holds("=", self.value(pattern), value, pattern.kind))
            return
        there = value != 0  # nil is no record
        mark = Var("r ", "record")
        self.values[mark.name] = value
        self._keep(there)
        value = self.values.pop(mark.name)
        arity = len(pattern.fields)
        fields = self.encoding.records.fields(arity, value) if arity else np.empty((self.count, 0), np.int64)
        names = [f"f {id(pattern)} {i}" for i in range(arity)]
        for i, name in enumerate(names):
            self.values[name] = fields[:, i]
        for name, part in zip(names, pattern.fields, strict=True):
            field = self.values.pop(name)
            if not (isinstance(part, Var) and part.anonymous):
                self._take_apart(part, field)

    def _keep(self, flags: Flags) -> None:
        if flags.all():
            return
        chosen = np.flatnonzero(flags)
        self.values = {name: column[chosen] for name, column in self.values.items()}
        self.kept = chosen if self.kept is None else self.kept[chosen]
        self.count = len(chosen)


class Then:
    """Comparisons and bindings, one after the other, and the columns that are wanted in the end."""

    def __init__(
        self, given: Sequence[Var], comparisons: Sequence[Comparison], wanted: Sequence[Term], encoding: Encoding
    ) -> None:
        self.given = tuple(given)
        self.comparisons = tuple(comparisons)
        self.wanted = tuple(wanted)
        self.encoding = encoding
        self.nothing = not self.comparisons and self.wanted == self.given

    def __call__(self, rows: Rows) -> tuple[Rows, Words | None]:
        """The rows made of those that are left, and which are left, if not all are."""
        if self.nothing:
            return rows, None
        columns = Columns(rows, self.given, self.encoding)
        for comparison in self.comparisons:
            columns.do(comparison)
        return columns.matrix(self.wanted), columns.kept
