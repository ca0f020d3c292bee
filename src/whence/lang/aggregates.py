"""Aggregates of core rules: the outer variables they use, and the witnesses of minima and maxima.

A variable that a `min` or `max` binds inside, and nothing binds outside, is a *witness*: it stands for every value with
which the minimum or maximum is reached, as in Soufflé.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count

from whence.lang import program as core
from whence.lang.ground import binding

Body = tuple[core.Literal, ...]
Levels = tuple[set[str], ...]


# Outer variables


def with_outer(head: core.Atom, literals: Iterable[core.Literal]) -> Body:
    """The body of a rule with the `outer` of every aggregate filled in."""
    return _with_outer(list(literals), ({variable.name for variable in core.variables(head)},))


def _with_outer(literals: list[core.Literal], around: Levels) -> Body:
    if not any(isinstance(literal, core.Aggregate) for literal in literals):
        return tuple(literals)
    levels = (*around, _own_names(literals))
    return tuple(_aggregate(one, levels) if isinstance(one, core.Aggregate) else one for one in literals)


def _aggregate(aggregate: core.Aggregate, around: Levels) -> core.Aggregate:
    in_target = [] if aggregate.target is None else list(core.variables(aggregate.target))
    body = _with_outer(list(aggregate.body), (*around, {variable.name for variable in in_target}))
    outer: dict[str, core.Var] = {}
    for variable in (*(inside for literal in body for inside in core.variables(literal)), *in_target):
        if any(variable.name in level for level in around):
            outer.setdefault(variable.name, variable)
    return core.Aggregate(aggregate.op, aggregate.result, aggregate.target, body, tuple(outer.values()))


def _own_names(literals: Iterable[core.Literal]) -> set[str]:
    """The names of a conjunction's variables, without the insides of its aggregates."""
    names: set[str] = set()
    for literal in literals:
        if isinstance(literal, core.Aggregate):
            names.add(literal.result.name)
        else:
            names.update(variable.name for variable in core.variables(literal))
    return names


# Witnesses


def with_witnesses(head: core.Atom, body: Body) -> Body:
    """The body with its witnesses bound: by a copy of the aggregate's body, at the aggregate's value.

    The copies come last, so that the atoms that the user wrote keep their numbers.
    """
    if not any(isinstance(literal, core.Aggregate) and literal.op in ("min", "max") for literal in body):
        return body
    bound = binding(body)
    taken = {variable.name for literal in (head, *body) for variable in core.variables(literal)}
    numbers = count(2)
    literals = list(body)
    copies: list[core.Literal] = []
    changed = True
    while changed:
        changed = False
        for index, literal in enumerate(literals):
            if not isinstance(literal, core.Aggregate):
                continue
            witnesses = _witnesses(literal, bound.holds)
            if not witnesses:
                continue
            changed = True
            assert literal.target is not None
            # The copy shares the witnesses with the rule; the aggregate itself gets variables of its own for them.
            copy_names = _fresh(_local_names(literal), taken, numbers)
            copies += (renamed(part, copy_names) for part in literal.body)
            copies.append(core.Comparison("=", renamed_term(literal.target, copy_names), literal.result))
            own_names = _fresh(witnesses, taken, numbers)
            inside = tuple(renamed(part, own_names) for part in literal.body)
            target = renamed_term(literal.target, own_names)
            literals[index] = core.Aggregate(literal.op, literal.result, target, inside, ())
            bound.add(witnesses)
    return with_outer(head, literals + copies) if copies else body


def _witnesses(aggregate: core.Aggregate, bound: set[str]) -> set[str]:
    if aggregate.op not in ("min", "max"):
        return set()
    outer = {variable.name for variable in aggregate.outer}
    missing = outer - bound
    return missing if missing and missing <= binding(aggregate.body, outer & bound).holds else set()


def _local_names(aggregate: core.Aggregate) -> set[str]:
    outer = {variable.name for variable in aggregate.outer}
    return {variable.name for literal in aggregate.body for variable in core.variables(literal)} - outer


def _fresh(names: set[str], taken: set[str], numbers: Iterator[int]) -> dict[str, str]:
    """New names, none of them `taken`: the old ones with a number, so that `_ 1` is still anonymous as `_ 7`."""
    renaming: dict[str, str] = {}
    for name in sorted(names):
        base = name.split(" ")[0]
        renaming[name] = next(new for number in numbers if (new := f"{base} {number}") not in taken)
    return renaming


def renamed_term(term: core.Term, names: Mapping[str, str]) -> core.Term:
    match term:
        case core.Var():
            return core.Var(names.get(term.name, term.name), term.kind)
        case core.Call():
            return core.Call(term.functor, tuple(renamed_term(part, names) for part in term.args), term.kind)
        case core.Record():
            return core.Record(term.type, tuple(renamed_term(part, names) for part in term.fields))
        case core.Const():
            return term


def renamed(literal: core.Literal, names: Mapping[str, str]) -> core.Literal:
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
