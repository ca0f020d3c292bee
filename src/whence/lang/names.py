"""The checks that need no types: relations exist, atoms and functors have as many arguments as they take.

Done on a clause as it is written, before it is taken apart, so that each mistake is found once.
"""

from __future__ import annotations

from collections.abc import Iterator

from whence.lang import syntax
from whence.lang.clauses import FlatBody, disjuncts
from whence.lang.declarations import Declarations, unknown_relation
from whence.lang.diagnostics import Report

ARITY: dict[str, tuple[int, int | None]] = {
    "cat": (2, None), "min": (2, None), "max": (2, None), "substr": (3, 3), "strlen": (1, 1), "ord": (1, 1),
    "to_number": (1, 1), "to_string": (1, 1), "to_float": (1, 1), "to_unsigned": (1, 1),
}  # fmt: skip


class NameCheck:
    """Checks clauses one by one and keeps the flat bodies of the aggregates it meets."""

    def __init__(self, declarations: Declarations, report: Report) -> None:
        self.declarations = declarations
        self.report = report
        self.bodies: dict[int, FlatBody] = {}
        self.sound = True

    def clause(self, clause: syntax.Clause) -> bool:
        """Whether the clause is sound enough to be looked at further."""
        self.sound = True
        self.bodies = {}
        for head in clause.heads:
            self.atom(head)
        if clause.body is not None:
            self.body(clause.body)
        return self.sound

    def body(self, body: syntax.Body) -> None:
        match body:
            case syntax.Atom():
                self.atom(body)
            case syntax.Constraint():
                self.argument(body.left)
                self.argument(body.right)
            case syntax.Not():
                self.body(body.part)
            case syntax.Conjunction() | syntax.Disjunction():
                for part in body.parts:
                    self.body(part)

    def atom(self, atom: syntax.Atom) -> None:
        relation = self.declarations.relations.get(atom.name)
        if relation is None:
            self.sound = False
            unknown_relation(self.report, self.declarations, atom.name, atom.start, atom.name_end)
        elif relation.arity != len(atom.args):
            self.wrong_arity(atom, relation.arity, ", ".join(column.name for column in relation.columns))
        for argument in atom.args:
            self.argument(argument)

    def wrong_arity(self, atom: syntax.Atom, arity: int, columns: str) -> None:
        self.sound = False
        message = f"`{atom.name}` has {_count(arity, 'column')}, not {len(atom.args)}"
        self.report.error(atom.start, atom.end, message, f"write `{atom.name}({columns})`")

    def argument(self, argument: syntax.Argument) -> None:
        match argument:
            case syntax.Functor():
                self.functor(argument)
            case syntax.Record():
                for part in argument.fields:
                    self.argument(part)
            case syntax.Cast():
                self.argument(argument.value)
                if argument.type not in self.declarations.types.types:
                    self.sound = False
                    self.report.error(argument.start, argument.end, f"unknown type `{argument.type}`")
            case syntax.Aggregate():
                self.aggregate(argument)

    def functor(self, functor: syntax.Functor) -> None:
        for part in functor.args:
            self.argument(part)
        least, most = ARITY.get(functor.name, (0, None))
        given = len(functor.args)
        if given < least or (most is not None and given > most):
            self.sound = False
            wanted = _count(least, "argument") if most is not None else f"at least {_count(least, 'argument')}"
            self.report.error(functor.start, functor.end, f"`{functor.word}` takes {wanted}, not {given}")

    def aggregate(self, aggregate: syntax.Aggregate) -> None:
        if aggregate.target is not None:
            self.argument(aggregate.target)
        self.body(aggregate.body)
        flat = disjuncts(aggregate.body, self.report)
        if len(flat) == 1:
            self.bodies[id(aggregate)] = flat[0]
            return
        self.sound = False
        body = aggregate.body
        hint = "give the disjunction a relation of its own and aggregate over that"
        self.report.error(body.start, body.end, "the body of an aggregate cannot be a disjunction", hint)


def variables_of(clause: syntax.Clause) -> Iterator[syntax.Variable]:
    """Every occurrence of a variable in a clause as it is written."""
    stack: list[syntax.Argument | syntax.Body] = [*clause.heads]
    if clause.body is not None:
        stack.append(clause.body)
    while stack:
        match stack.pop():
            case syntax.Variable() as variable:
                yield variable
            case syntax.Atom(args=parts) | syntax.Functor(args=parts) | syntax.Record(fields=parts):
                stack.extend(parts)
            case syntax.Conjunction(parts=bodies) | syntax.Disjunction(parts=bodies):
                stack.extend(bodies)
            case syntax.Constraint(left=left, right=right):
                stack += (left, right)
            case syntax.Not(part=body):
                stack.append(body)
            case syntax.Cast(value=value):
                stack.append(value)
            case syntax.Aggregate(target=target, body=body):
                stack.append(body)
                if target is not None:
                    stack.append(target)


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"
