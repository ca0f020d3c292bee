"""Trees as graphs: what Graphviz, SVG and HTML are drawn from. Each occurrence of a node is one vertex."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from whence.explain.proof import Node
from whence.explain.whynot import WhyNot

MARKS = {"holds": "✓", "fails": "✗", "open": "?"}


@dataclass(frozen=True)
class Vertex:
    """A vertex, its parent's number (None for the root) and the name of the rule that derives it."""

    number: int
    parent: int | None
    text: str
    style: str  # a kind of node, or the status of a part
    rule: str | None = None
    title: str = ""


def of_proof(root: Node) -> Iterator[Vertex]:
    """Parents first, from left to right."""
    numbers = 0
    waiting: list[tuple[Node | int, int | None]] = [(root, None)]
    while waiting:
        node, parent = waiting.pop()
        number, numbers = numbers, numbers + 1
        if isinstance(node, int):
            yield Vertex(number, parent, f"… {node:,} more", "more")
            continue
        text = f"{node.text} …" if node.cut else node.text
        rule = node.rule
        yield Vertex(
            number, parent, text, node.kind, rule.label if rule else None, f"{rule.text}  {rule.place}" if rule else ""
        )
        children: list[Node | int] = [*node.children, *([node.more] if node.more else [])]
        waiting += [(child, number) for child in reversed(children)]


def of_why_not(why: WhyNot) -> Iterator[Vertex]:
    """The absent tuple, below it one vertex a rule, below that its parts."""
    yield Vertex(0, None, why.text, "fails", None, "")
    number = 1
    for near in why.near if why.is_input else ():
        yield Vertex(number, 0, near, "near")
        number += 1
    for attempt in why.attempts:
        top, number = number, number + 1
        title = f"{attempt.rule.text}  {attempt.rule.place}"
        text = attempt.blocked or attempt.head
        yield Vertex(top, 0, text, "blocked" if attempt.blocked else "attempt", attempt.rule.label, title)
        for part in attempt.parts:
            yield Vertex(number, top, f"{part.text} {MARKS[part.status]}", part.status)
            number += 1


def of_derivations(text: str, trees: Sequence[Node]) -> Iterator[Vertex]:
    """The tuple, below it its derivations side by side."""
    yield Vertex(0, None, text, "derived")
    number = 1
    for tree in trees:
        for vertex in of_proof(tree):
            yield replace(
                vertex, number=number + vertex.number, parent=0 if vertex.parent is None else number + vertex.parent
            )
        number += sum(1 for _ in of_proof(tree))
