"""Strata: the components of the graph of relations, in an order in which they can be evaluated.

An edge goes from the relation of a head to each relation its body reads. A component with a negated or an aggregated
edge inside has no stratified meaning and is reported with the cycle that closes it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from whence.lang import syntax
from whence.lang.clauses import FlatBody, NegatedAtom
from whence.lang.diagnostics import Report
from whence.lang.program import Relation, Rule, Stratum
from whence.lang.scopes import aggregates_in, arguments_of

SHOWN_CYCLES = 20  # those beyond it have most of their way in common with the ones that are shown
SHOWN_STEPS = 8  # of one cycle


class Edge(NamedTuple):
    """`head` reads `reads`; `through` is `!` for a negated atom, or the name of an aggregate around it, or empty."""

    head: str
    reads: str
    through: str
    start: int
    end: int


def edges_of(head: syntax.Atom, body: FlatBody, bodies: Mapping[int, FlatBody]) -> list[Edge]:
    """What a flat clause reads; `bodies` has the flat body of each aggregate by `id` of its node."""
    found: list[Edge] = []

    def read(body: FlatBody, through: str) -> None:
        for literal in body:
            match literal:
                case syntax.Atom():
                    found.append(Edge(head.name, literal.name, through, literal.start, literal.end))
                case NegatedAtom(atom):
                    found.append(Edge(head.name, atom.name, through or "!", atom.start, atom.end))
        if bodies:
            # What an aggregate in an argument reads, it reads for the aggregate, negated or not.
            search(arguments_of(body), through)

    def search(arguments: Iterable[syntax.Argument], through: str) -> None:
        for aggregate in aggregates_in(arguments):
            read(bodies[id(aggregate)], through or aggregate.op)
            if aggregate.target is not None:
                search((aggregate.target,), through or aggregate.op)

    read(body, "")
    if bodies:
        search(head.args, "")
    return found


def stratify(
    relations: Mapping[str, Relation], rules: Iterable[Rule], edges: Iterable[Edge], report: Report
) -> tuple[Stratum, ...]:
    edges = list(edges)
    successors: dict[str, dict[str, Edge]] = {name: {} for name in relations}
    for edge in edges:
        successors[edge.head].setdefault(edge.reads, edge)
    components = connected_components(relations, successors)
    number = {name: index for index, component in enumerate(components) for name in component}
    told: set[tuple[str, int]] = set()
    for edge in edges:
        if edge.through and number[edge.head] == number[edge.reads] and (edge.head, edge.start) not in told:
            if len(told) == SHOWN_CYCLES:
                break
            told.add((edge.head, edge.start))
            _report_cycle(edge, successors, number, report)
    order = {name: index for index, name in enumerate(relations)}
    by_component: list[list[Rule]] = [[] for _ in components]
    for rule in rules:
        by_component[number[rule.head.relation]].append(rule)
    strata: list[Stratum] = []
    for component, own_rules in zip(components, by_component, strict=True):
        names = tuple(sorted(component, key=order.__getitem__))
        recursive = len(names) > 1 or names[0] in successors[names[0]]
        strata.append(Stratum(names, tuple(own_rules), recursive))
    return tuple(strata)


def connected_components(nodes: Iterable[str], successors: Mapping[str, Mapping[str, object]]) -> list[list[str]]:
    """Tarjan's algorithm with a stack of its own; a component comes after all that it reaches."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_nodes: list[str] = []
    is_open: set[str] = set()
    components: list[list[str]] = []
    for root in nodes:
        if root in index:
            continue
        work = [(root, iter(successors[root]))]
        index[root] = low[root] = len(index)
        open_nodes.append(root)
        is_open.add(root)
        while work:
            node, remaining = work[-1]
            for successor in remaining:
                if successor not in index:
                    index[successor] = low[successor] = len(index)
                    open_nodes.append(successor)
                    is_open.add(successor)
                    work.append((successor, iter(successors[successor])))
                    break
                if successor in is_open:
                    low[node] = min(low[node], index[successor])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    component: list[str] = []
                    while not component or component[-1] != node:
                        component.append(open_nodes.pop())
                        is_open.discard(component[-1])
                    components.append(component)
    return components


def _report_cycle(
    edge: Edge, successors: Mapping[str, Mapping[str, Edge]], number: Mapping[str, int], report: Report
) -> None:
    back = _path(edge.reads, edge.head, successors, number)
    steps = [edge.head, *(_step(one) for one in (edge, *back))]
    if len(steps) > SHOWN_STEPS:
        steps[SHOWN_STEPS // 2 : -SHOWN_STEPS // 2] = ["…"]
    shown = " → ".join(steps)
    what = "negation" if edge.through == "!" else f"`{edge.through}`"
    message = f"`{edge.head}` depends on itself through {what}: {shown}"
    hint = (
        "what is negated must be complete before the rule is used: break the cycle"
        if edge.through == "!"
        else "what is aggregated must be complete before the rule is used: break the cycle"
    )
    notes = tuple(
        report.note(one.start, one.end, f"`{one.head}` reads `{one.reads}` here") for one in back[:SHOWN_STEPS]
    )
    report.error(edge.start, edge.end, message, hint, notes)


def _step(edge: Edge) -> str:
    if edge.through == "!":
        return f"!{edge.reads}"
    return f"{edge.through} {{{edge.reads}}}" if edge.through else edge.reads


def _path(start: str, goal: str, successors: Mapping[str, Mapping[str, Edge]], number: Mapping[str, int]) -> list[Edge]:
    """The edges of a shortest way from `start` to `goal` inside their component."""
    came: dict[str, Edge] = {}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        if node == goal:
            break
        for successor, edge in successors[node].items():
            if number[successor] == number[start] and successor not in came and successor != start:
                came[successor] = edge
                waiting.append(successor)
    path: list[Edge] = []
    while goal != start:
        path.append(came[goal])
        goal = came[goal].head
    return path[::-1]
