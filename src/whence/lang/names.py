"""The checks that need no types: relations exist, atoms and functors have as many arguments as they take.

Done on a clause as it is written, before it is taken apart, so that each mistake is found once.
"""

from __future__ import annotations

from whence.lang import syntax
from whence.lang.clauses import FlatBody, disjuncts
from whence.lang.declarations import Declarations, unknown_relation
from whence.lang.diagnostics import Report
from whence.lang.types import unknown_type

ARITY: dict[str, tuple[int, int | None]] = {
    "cat": (2, None), "min": (2, None), "max": (2, None), "substr": (3, 3), "strlen": (1, 1), "ord": (1, 1),
    "to_number": (1, 1), "to_string": (1, 1), "to_float": (1, 1), "to_unsigned": (1, 1),
}  # fmt: skip


SHAPES = {
    "cat": "cat(text, text, …)", "min": "min(value, value, …)", "max": "max(value, value, …)",
    "substr": "substr(text, from, length)", "strlen": "strlen(text)", "ord": "ord(value)",
    "to_number": "to_number(value)", "to_string": "to_string(value)", "to_float": "to_float(value)",
    "to_unsigned": "to_unsigned(value)",
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
        for node in syntax.walk(clause.heads if clause.body is None else (*clause.heads, clause.body)):
            match node:
                case syntax.Atom():
                    self.atom(node)
                case syntax.Functor():
                    self.functor(node)
                case syntax.Cast():
                    self.cast(node)
                case syntax.Aggregate():
                    self.aggregate(node)
        return self.sound

    def atom(self, atom: syntax.Atom) -> None:
        relation = self.declarations.relations.get(atom.name)
        if relation is None:
            self.sound = False
            unknown_relation(self.report, self.declarations, atom.name, atom.start, atom.name_end)
        elif relation.arity != len(atom.args):
            self.wrong_arity(atom, relation.arity, ", ".join(column.name for column in relation.columns))

    def wrong_arity(self, atom: syntax.Atom, arity: int, columns: str) -> None:
        self.sound = False
        message = f"`{atom.name}` has {_count(arity, 'column')}, not {len(atom.args)}"
        self.report.error(atom.start, atom.end, message, f"write `{atom.name}({columns})`")

    def cast(self, cast: syntax.Cast) -> None:
        types = self.declarations.types.types
        if cast.type not in types:
            self.sound = False
            unknown_type(self.report, cast.type, cast.start, cast.end, list(types))

    def functor(self, functor: syntax.Functor) -> None:
        least, most = ARITY.get(functor.name, (0, None))
        given = len(functor.args)
        if given < least or (most is not None and given > most):
            self.sound = False
            wanted = _count(least, "argument") if most is not None else f"at least {_count(least, 'argument')}"
            self.report.error(
                functor.start,
                functor.end,
                f"`{functor.word}` takes {wanted}, not {given}",
                f"write `{SHAPES[functor.name]}`",
            )

    def aggregate(self, aggregate: syntax.Aggregate) -> None:
        flat = disjuncts(aggregate.body, self.report)
        if len(flat) == 1:
            self.bodies[id(aggregate)] = flat[0]
            return
        self.sound = False
        body = aggregate.body
        hint = "give the disjunction a relation of its own and aggregate over that"
        self.report.error(body.start, body.end, "the body of an aggregate cannot be a disjunction", hint)


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"
