"""Which variable a name means: the rule's own, or one local to an aggregate.

Inside an aggregate the variables of the rule around it are visible, except that a variable of the aggregated expression
which the aggregate's body mentions is always the aggregate's own: `s = sum s : { a(n, s) }` sums its own `s`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from whence.lang import syntax
from whence.lang.clauses import FlatBody, FlatLiteral, NegatedAtom


@dataclass
class Scopes:
    """For each occurrence of a variable, by `id` of its node, the name it has in the core rule."""

    resolved: dict[int, str] = field(default_factory=dict)
    occurrences: dict[str, list[syntax.Variable]] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def name(self, node: syntax.Variable) -> str:
        return self.resolved[id(node)]

    def add(self, node: syntax.Variable, name: str) -> None:
        self.resolved[id(node)] = name
        self.occurrences.setdefault(name, []).append(node)

    def fresh(self, name: str) -> str:
        candidate, number = name, 1
        while candidate in self.taken:
            number += 1
            candidate = f"{name} {number}"
        self.taken.add(candidate)
        return candidate


def resolve(head: syntax.Atom | None, body: FlatBody, bodies: Mapping[int, FlatBody]) -> Scopes:
    """Resolves every variable of a flat clause; `bodies` has the flat body of each aggregate by `id` of its node."""
    scopes = Scopes()
    variables: list[syntax.Variable] = []
    aggregates: list[syntax.Aggregate] = []
    arguments = [*(head.args if head is not None else ()), *arguments_of(body)]
    _level(arguments, variables, aggregates)
    visible = {node.name: node.name for node in variables}
    scopes.taken.update(visible)
    for node in variables:
        scopes.add(node, node.name)
    for aggregate in aggregates:
        _resolve_aggregate(aggregate, visible, bodies, scopes)
    return scopes


def _resolve_aggregate(
    aggregate: syntax.Aggregate, visible: dict[str, str], bodies: Mapping[int, FlatBody], scopes: Scopes
) -> None:
    in_body: list[syntax.Variable] = []
    in_target: list[syntax.Variable] = []
    nested: list[syntax.Aggregate] = []
    _level(arguments_of(bodies[id(aggregate)]), in_body, nested)
    if aggregate.target is not None:
        _level([aggregate.target], in_target, nested)
    own = {node.name for node in in_body} & {node.name for node in in_target}
    inside: dict[str, str] = {}
    for node in (*in_body, *in_target):
        if node.name not in inside:
            outer = visible.get(node.name)
            inside[node.name] = outer if outer is not None and node.name not in own else scopes.fresh(node.name)
        scopes.add(node, inside[node.name])
    for inner in nested:
        _resolve_aggregate(inner, {**visible, **inside}, bodies, scopes)


def _level(
    arguments: Iterable[syntax.Argument], variables: list[syntax.Variable], aggregates: list[syntax.Aggregate]
) -> None:
    """The variables and aggregates of some arguments, without the insides of the aggregates."""
    stack: list[syntax.Node] = [*arguments]
    stack.reverse()
    while stack:
        node = stack.pop()
        if isinstance(node, syntax.Variable):
            variables.append(node)
        elif isinstance(node, syntax.Aggregate):
            aggregates.append(node)
        else:
            stack.extend(reversed(syntax.parts(node)))


def aggregates_in(arguments: Iterable[syntax.Argument]) -> list[syntax.Aggregate]:
    """The aggregates of some arguments, without those inside them."""
    found: list[syntax.Aggregate] = []
    _level(arguments, [], found)
    return found


def arguments_of(body: Iterable[FlatLiteral]) -> Iterator[syntax.Argument]:
    for literal in body:
        match literal:
            case syntax.Atom(args=args) | NegatedAtom(atom=syntax.Atom(args=args)):
                yield from args
            case syntax.Constraint(left=left, right=right):
                yield left
                yield right
