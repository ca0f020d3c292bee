"""Clauses with disjunction and several heads taken apart into flat ones: one head, one list of literals.

Negation is pushed inwards (De Morgan) and bodies are multiplied out, as Soufflé does.
"""

from __future__ import annotations

from typing import NamedTuple

from whence.lang import syntax
from whence.lang.diagnostics import Report
from whence.lang.program import Comparator

MAX_DISJUNCTS = 4096

OPPOSITE: dict[Comparator, Comparator] = {
    "=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
    "match": "not match", "not match": "match", "contains": "not contains", "not contains": "contains",
}  # fmt: skip


class NegatedAtom(NamedTuple):
    atom: syntax.Atom


FlatLiteral = syntax.Atom | NegatedAtom | syntax.Constraint | syntax.Truth
FlatBody = tuple[FlatLiteral, ...]


class TooManyDisjuncts(Exception):
    pass


def disjuncts(body: syntax.Body, report: Report) -> list[FlatBody]:
    """The disjunctive normal form of a body; empty, and reported, when it is out of all proportion."""
    try:
        return _normal_form(body, False)
    except TooManyDisjuncts:
        message = f"this body stands for more than {MAX_DISJUNCTS} rules"
        report.error(body.start, body.end, message, "give a disjunction a relation of its own")
        return []


def _normal_form(body: syntax.Body, negated: bool) -> list[FlatBody]:
    match body:
        case syntax.Atom():
            return [(NegatedAtom(body) if negated else body,)]
        case syntax.Constraint():
            if negated:
                body = syntax.Constraint(OPPOSITE[body.op], body.left, body.right, body.start, body.end)
            return [(body,)]
        case syntax.Truth():
            return [(syntax.Truth(body.value != negated, body.start, body.end),)]
        case syntax.Not():
            return _normal_form(body.part, not negated)
        case syntax.Conjunction() | syntax.Disjunction():
            parts = [_normal_form(part, negated) for part in body.parts]
            if isinstance(body, syntax.Conjunction) != negated:
                return _product(parts)
            return _bounded([conjunct for part in parts for conjunct in part])


def _product(parts: list[list[FlatBody]]) -> list[FlatBody]:
    if all(len(part) == 1 for part in parts):
        return [tuple(literal for part in parts for literal in part[0])]
    result: list[FlatBody] = [()]
    for part in parts:
        if len(result) * len(part) > MAX_DISJUNCTS:
            raise TooManyDisjuncts
        result = [left + right for left in result for right in part]
    return result


def _bounded(conjuncts: list[FlatBody]) -> list[FlatBody]:
    if len(conjuncts) > MAX_DISJUNCTS:
        raise TooManyDisjuncts
    return conjuncts
