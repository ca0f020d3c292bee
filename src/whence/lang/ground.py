"""Groundedness: every variable of a rule gets its values from somewhere.

A positive atom binds its variables; `=` binds one side once the other is bound, through records too; an aggregate binds
its result once the outer variables it uses are bound. A variable that a `min` or `max` binds inside, and nothing binds
outside, is a *witness*: it stands for every value with which the minimum or maximum is reached, as in Soufflé.
"""

from __future__ import annotations

from collections.abc import Iterable

from whence.lang import program as core
from whence.lang import syntax
from whence.lang.diagnostics import Report
from whence.lang.lower import scoped
from whence.lang.scopes import Scopes

Body = tuple[core.Literal, ...]


def bound_by(body: Iterable[core.Literal], given: frozenset[str] = frozenset()) -> set[str]:
    """The names that are bound once all of the body is, if `given` are bound before it."""
    bound = set(given)
    waiting: list[core.Literal] = []
    for literal in body:
        if isinstance(literal, core.Atom):
            bound.update(argument.name for argument in literal.args if isinstance(argument, core.Var))
        elif not isinstance(literal, core.Negation):
            waiting.append(literal)
    progress = True
    while progress:
        before = len(bound)
        for literal in waiting:
            match literal:
                case core.Comparison("=", left, right):
                    if _is_bound(left, bound):
                        _bind(right, bound)
                    if _is_bound(right, bound):
                        _bind(left, bound)
                case core.Aggregate():
                    if all(variable.name in bound for variable in literal.outer):
                        bound.add(literal.result.name)
        progress = len(bound) > before
    return bound


def _is_bound(term: core.Term, bound: set[str]) -> bool:
    return all(variable.name in bound for variable in core.variables(term))


def _bind(term: core.Term, bound: set[str]) -> None:
    match term:
        case core.Var(name):
            bound.add(name)
        case core.Record(fields=fields):
            for field in fields:
                _bind(field, bound)


# Witnesses


def with_witnesses(head: core.Atom, body: Body) -> Body:
    """The body with the witnesses of its minima and maxima bound: by the aggregate's body, at the aggregate's value."""
    visible = {variable.name for variable in core.variables(head)}
    taken = visible | {variable.name for literal in body for variable in core.variables(literal)}
    for _ in range(len(body)):
        bound = bound_by(body)
        found = next((literal for literal in body if _has_witness(literal, bound)), None)
        if found is None:
            break
        assert isinstance(found, core.Aggregate)
        witnesses = {variable.name for variable in found.outer} - bound
        copy_of = _renaming(_local_names(found, bound | witnesses), taken)
        inside_of = _renaming(witnesses, taken)
        assert found.target is not None
        copy = [renamed(literal, copy_of) for literal in found.body]
        copy.append(core.Comparison("=", renamed_term(found.target, copy_of), found.result))
        inner = [renamed(literal, inside_of) for literal in found.body]
        target = renamed_term(found.target, inside_of)
        replaced = core.Aggregate(found.op, found.result, target, tuple(inner), ())
        rest: list[core.Literal] = []
        for literal in body:
            rest += [replaced, *copy] if literal is found else [literal]
        body = scoped(rest, visible)
    return body


def _has_witness(literal: core.Literal, bound: set[str]) -> bool:
    if not isinstance(literal, core.Aggregate) or literal.op not in ("min", "max"):
        return False
    missing = {variable.name for variable in literal.outer} - bound
    given = frozenset(variable.name for variable in literal.outer if variable.name in bound)
    return bool(missing) and missing <= bound_by(literal.body, given)


def _local_names(aggregate: core.Aggregate, outside: set[str]) -> set[str]:
    names = {variable.name for literal in aggregate.body for variable in core.variables(literal)}
    return names - outside


def _renaming(names: set[str], taken: set[str]) -> dict[str, str]:
    renaming: dict[str, str] = {}
    for name in sorted(names):
        number = 2
        base = name.split(" ")[0]
        while f"{base} {number}" in taken:
            number += 1
        renaming[name] = f"{base} {number}"
        taken.add(renaming[name])
    return renaming


def renamed_term(term: core.Term, names: dict[str, str]) -> core.Term:
    match term:
        case core.Var():
            return core.Var(names.get(term.name, term.name), term.kind)
        case core.Call():
            return core.Call(term.functor, tuple(renamed_term(part, names) for part in term.args), term.kind)
        case core.Record():
            return core.Record(term.type, tuple(renamed_term(part, names) for part in term.fields))
        case _:
            return term


def renamed(literal: core.Literal, names: dict[str, str]) -> core.Literal:
    match literal:
        case core.Atom():
            return core.Atom(literal.relation, tuple(renamed_term(part, names) for part in literal.args))
        case core.Negation():
            args = tuple(renamed_term(part, names) for part in literal.atom.args)
            return core.Negation(core.Atom(literal.atom.relation, args))
        case core.Comparison():
            left, right = renamed_term(literal.left, names), renamed_term(literal.right, names)
            return core.Comparison(literal.op, left, right)
        case core.Aggregate():
            result = core.Var(names.get(literal.result.name, literal.result.name), literal.result.kind)
            target = None if literal.target is None else renamed_term(literal.target, names)
            body = tuple(renamed(part, names) for part in literal.body)
            outer = tuple(core.Var(names.get(var.name, var.name), var.kind) for var in literal.outer)
            return core.Aggregate(literal.op, result, target, body, outer)


# The check


def check_grounded(head: core.Atom, body: Body, scopes: Scopes, report: Report) -> bool:
    """Whether every variable is bound; those that are not are reported, each at its first occurrence."""
    missing: dict[str, str] = {}
    bound = bound_by(body)
    _missing_in(body, bound, missing)
    for variable in core.variables(head):
        if variable.name not in bound:
            missing.setdefault(variable.name, "head")
    for name, place in missing.items():
        occurrences = scopes.occurrences.get(name)
        if occurrences:
            node = min(occurrences, key=lambda one: one.start)
            report.error(node.start, node.end, f"the variable `{node.name}` is not bound", _hint(node, place))
    return not missing


def _missing_in(body: Body, bound: set[str], missing: dict[str, str]) -> None:
    for literal in body:
        match literal:
            case core.Negation():
                names = [variable.name for variable in core.variables(literal) if not variable.anonymous]
                place = "negation"
            case core.Comparison():
                names = [variable.name for variable in core.variables(literal)]
                place = "comparison"
            case core.Aggregate():
                names = [variable.name for variable in literal.outer]
                place = literal.op
                _missing_inside(literal, bound, missing)
            case _:
                continue
        for name in names:
            if name not in bound:
                missing.setdefault(name, place)


def _missing_inside(aggregate: core.Aggregate, bound: set[str], missing: dict[str, str]) -> None:
    outer = {variable.name for variable in aggregate.outer}
    inside = bound_by(aggregate.body, frozenset(bound | outer))
    _missing_in(aggregate.body, inside, missing)
    if aggregate.target is not None:
        for variable in core.variables(aggregate.target):
            if variable.name not in inside:
                missing.setdefault(variable.name, "target")


def _hint(node: syntax.Variable, place: str) -> str:
    name = node.name
    match place:
        case "negation":
            return f"a negated atom binds nothing: use `{name}` in a positive atom, or write `_` instead"
        case "comparison":
            return f"use `{name}` in a positive atom of the body, or set it equal to something that is bound"
        case "target":
            return f"use `{name}` in a positive atom inside the aggregate"
        case "head":
            return f"use `{name}` in a positive atom of the body"
        case _:
            return (
                f"what is bound inside `{place}` is not visible outside it: use `{name}` in a positive atom of the rule"
            )
