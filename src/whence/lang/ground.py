"""Groundedness: every variable of a rule gets its values from somewhere.

A positive atom binds its variables; `=` binds one side once the other is bound, through records too; an aggregate binds
its result once the outer variables it uses are bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from whence.lang import program as core
from whence.lang import syntax
from whence.lang.closure import Closure
from whence.lang.diagnostics import Report
from whence.lang.scopes import Scopes

Body = tuple[core.Literal, ...]


def binding(body: Iterable[core.Literal], given: Iterable[str] = ()) -> Closure:
    """The names that are bound once all of the body is, if `given` are bound before it."""
    bound = Closure()
    bound.add(given)
    for literal in body:
        match literal:
            case core.Atom(args=args):
                bound.add(argument.name for argument in args if isinstance(argument, core.Var))
            case core.Comparison("=", left, right):
                bound.imply(_names(left), _bindable(right))
                bound.imply(_names(right), _bindable(left))
            case core.Aggregate(result=result, outer=outer):
                bound.imply((variable.name for variable in outer), (result.name,))
    return bound


def _names(term: core.Term) -> Iterator[str]:
    return (variable.name for variable in core.variables(term))


def _bindable(term: core.Term) -> list[str]:
    """The variables that a value takes apart into: a variable itself, or those of a record's fields."""
    match term:
        case core.Var(name):
            return [name]
        case core.Record(fields=fields):
            return [name for field in fields for name in _bindable(field)]
    return []


def check_grounded(head: core.Atom, body: Body, scopes: Scopes, report: Report) -> bool:
    """Whether every variable is bound; those that are not are reported, each at its first occurrence."""
    bound = binding(body)
    missing: dict[str, str] = {}
    _missing_in(body, bound.holds, missing)
    for name in (variable.name for variable in core.variables(head)):
        if name not in bound.holds:
            missing.setdefault(name, "head")
    if not missing:
        return True
    # A generated variable is unbound only because one of the user's is, and so it says nothing new.
    first = {name: min(nodes, key=_start) for name, nodes in scopes.occurrences.items() if name in missing}
    could_be_bound = {name for literal in body if isinstance(literal, core.Comparison) for name in _equated(literal)}
    order = sorted(first, key=lambda name: (name in could_be_bound, -first[name].start))
    for name in order:
        # Nor does one that would be bound if those already told of were.
        if name not in bound.holds:
            node = first[name]
            message = f"the variable `{node.name}` is not bound"
            report.error(node.start, node.end, message, _hint(node.name, missing[name]))
            bound.add((name,))
    return False


def _start(node: syntax.Variable) -> int:
    return node.start


def _equated(comparison: core.Comparison) -> list[str]:
    if comparison.op != "=":
        return []
    return _bindable(comparison.left) + _bindable(comparison.right)


def _missing_in(body: Body, bound: set[str], missing: dict[str, str]) -> None:
    """Puts in `missing` the names that are used in the body and not bound, with the first place that needs them."""
    for literal in body:
        match literal:
            case core.Negation():
                names = [variable.name for variable in core.variables(literal) if not variable.anonymous]
                place = "negation"
            case core.Comparison():
                names = [*_names(literal.left), *_names(literal.right)]
                place = "comparison"
            case core.Aggregate():
                names = [variable.name for variable in literal.outer]
                place = literal.op
                _missing_inside(literal, missing)
            case _:
                continue
        for name in names:
            if name not in bound:
                missing.setdefault(name, place)


def _missing_inside(aggregate: core.Aggregate, missing: dict[str, str]) -> None:
    inside = binding(aggregate.body, (variable.name for variable in aggregate.outer)).holds
    _missing_in(aggregate.body, inside, missing)
    if aggregate.target is not None:
        for name in _names(aggregate.target):
            if name not in inside:
                missing.setdefault(name, "target")


def _hint(name: str, place: str) -> str:
    match place:
        case "negation":
            return f"a negated atom binds nothing: use `{name}` in a positive atom, or write `_` instead"
        case "comparison":
            return f"use `{name}` in a positive atom of the body, or set it equal to something that is bound"
        case "target":
            return f"use `{name}` in a positive atom inside the aggregate"
        case "head":
            return f"use `{name}` in a positive atom of the body"
    return f"what is bound inside `{place}` is not visible outside it: use `{name}` in a positive atom of the rule"
