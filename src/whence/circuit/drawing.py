"""Circuits as text, a node a line, and as SVG: values flow from left to right, and back through delays below.

The picture is drawn in layers: a node stands to the right of all that it reads, a loop is a block of layers with a
frame, and an edge that spans several layers has a place of its own in each, so that it does not cross boxes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from .stepping import planned

if TYPE_CHECKING:
    from .circuit import Circuit, Node

CHARACTER, HEIGHT, ROW, GAP, MARGIN = 7.4, 26, 44, 46, 20
SWEEPS = 6


def read_by(circuit: Circuit, node: Node) -> list[Node]:
    """The nodes a node reads, also from the other side of a loop's frame."""
    if node in circuit.entered:
        return [circuit.entered[node]]
    if node in circuit.left:
        return [circuit.left[node]]
    return node.inputs


def _parts(circuit: Circuit) -> Iterator[tuple[Circuit, Node]]:
    """All nodes, with the circuit each is in; what a loop reads before the loop, what reads it after."""
    order = planned(circuit).order
    for part in order:
        if part in circuit.loops:
            yield from _parts(part)
        else:
            yield circuit, part  # type: ignore[misc]


def text_of(circuit: Circuit) -> str:
    nodes = list(_parts(circuit))
    number = {node: i for i, (_, node) in enumerate(nodes, 1)}
    width = len(str(len(nodes)))
    lines = [circuit.name]
    inside = circuit
    for around, node in nodes:
        if around is not inside and around is not circuit:
            lines.append(f"{'':{width}}  {around.name}")
        inside = around
        reads = ", ".join(str(number[read]) for read in read_by(around, node))
        named = f"{node.name} = " if node.name not in ("", node.label) else ""
        indent = "  " if around is not circuit else ""
        outputs = [name for name, one in around.outputs.items() if one is node]
        shown = f"   → {', '.join(outputs)}" if outputs else ""
        lines.append(f"{number[node]:{width}}  {indent}{named}{node.label}{f' ({reads})' if reads else ''}{shown}")
    return "\n".join(lines)


@dataclass(eq=False)
class Box:
    """A node in the picture, or a place that an edge passes through."""

    layer: int
    text: str = ""
    around: Circuit | None = None
    reads: list[Box] = field(default_factory=list)
    delay: bool = False
    row: float = 0.0
    x: float = 0.0
    y: float = 0.0
    room: float = 0.0  # the width of its layer

    @property
    def width(self) -> float:
        return len(self.text) * CHARACTER + 18 if self.text else self.room


def svg_of(circuit: Circuit) -> str:
    boxes, delays = _layered(circuit)
    placed = _with_passages(boxes)
    layers: list[list[Box]] = [[] for _ in range(max((box.layer for box in placed), default=0) + 1)]
    for box in placed:
        layers[box.layer].append(box)
    _order(layers)
    top = min((box.row for box in placed), default=0.0)
    x = float(MARGIN)
    for layer in layers:
        width = max((box.width for box in layer), default=0.0)  # places that edges pass through have none yet
        for box in layer:
            box.room = width
            box.x, box.y = x + width / 2, MARGIN + HEIGHT + (box.row - top) * ROW
        x += width + GAP
    bottom = max((box.y for box in placed), default=0.0) + ROW
    lanes: dict[Box, list[Box]] = {delay: [box for box in placed if delay in box.reads] for delay in delays}
    for lane, (delay, readers) in enumerate(lanes.items()):
        delay.x = sum(box.x for box in readers) / len(readers) if readers else MARGIN + delay.width / 2
        delay.y = bottom + lane * ROW
        delay.row = lane
    everything = [*placed, *delays]
    height = max((box.y for box in everything), default=0.0) + HEIGHT + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {x:.0f} {height:.0f}" width="{x:.0f}" '
        f'height="{height:.0f}" font-family="ui-monospace, monospace" font-size="12">',
        '<defs><marker id="to" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8Z" fill="#57606a"/></marker></defs>',
        f'<rect width="{x:.0f}" height="{height:.0f}" fill="#ffffff"/>',
    ]
    parts += [_frame(loop, everything) for loop in circuit.loops]
    parts += [_edge(read, box) for box in everything for read in box.reads]
    parts += [_drawn(box) for box in everything if box.text]
    return "\n".join([*parts, "</svg>", ""])


def _layered(circuit: Circuit) -> tuple[list[Box], list[Box]]:
    """Boxes with their layers; delays that values go back through apart."""
    boxes: dict[Node, Box] = {}
    nodes = list(_parts(circuit))
    last: dict[Circuit, int] = {}
    begins: dict[Circuit, int] = {}
    for around, node in nodes:
        reads = [] if node.strict else [boxes[read] for read in read_by(around, node) if read in boxes]
        layer = max((box.layer + 1 for box in reads), default=0)
        if node.loop is not None:
            layer = max(layer, last[node.loop] + 1)
        elif around is not circuit:
            if around not in begins:
                own = [box for other, box in boxes.items() if boxes[other].around is circuit]
                begins[around] = max((box.layer + 1 for box in own), default=0)
            layer = max(layer, begins[around])
            last[around] = max(last.get(around, 0), layer)
        name = node.name if node.name and node.name != node.label else ""
        text = f"{name} = {node.label}" if name else node.label
        boxes[node] = Box(layer, text, around, delay=node.strict)
    for around, node in nodes:
        boxes[node].reads = [boxes[read] for read in read_by(around, node)]
    return [box for box in boxes.values() if not box.delay], [box for box in boxes.values() if box.delay]


def _with_passages(boxes: list[Box]) -> list[Box]:
    """Every edge leads to the next layer, by way of places in the layers between."""
    placed = list(boxes)
    for box in boxes:
        reads = []
        for read in box.reads:
            source = read
            if not read.delay:
                for layer in range(read.layer + 1, box.layer):
                    source = Box(layer, "", box.around, [source])
                    placed.append(source)
            reads.append(source)
        box.reads = reads
    return placed


def _order(layers: list[list[Box]]) -> None:
    """Rows within layers: each box as near as can be to the middle of what it reads, then of what reads it."""
    readers: dict[Box, list[Box]] = {}
    for layer in layers:
        for place, box in enumerate(layer):
            box.row = place
            for read in box.reads:
                readers.setdefault(read, []).append(box)
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = {}
            for box in layer:
                near = [one for one in (box.reads if sweep % 2 == 0 else readers.get(box, [])) if not one.delay]
                wanted[box] = sum(one.row for one in near) / len(near) if near else box.row
            layer.sort(key=lambda box: wanted[box])
            row = 0.0
            for box in layer:
                box.row = max(row, round(wanted[box]))
                row = box.row + 1


def _frame(loop: Circuit, boxes: list[Box]) -> str:
    own = [box for box in boxes if box.around is loop and box.text]
    left, right = min(box.x - box.width / 2 for box in own) - 28, max(box.x + box.width / 2 for box in own) + 14
    top, bottom = min(box.y for box in own) - HEIGHT, max(box.y for box in own) + HEIGHT
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" rx="8" '
        f'fill="#f6f8fa" stroke="#d0d7de"/><text x="{left + 8:.1f}" y="{bottom - 6:.1f}" fill="#57606a">'
        f"{escape(loop.name)}</text>"
    )


def _edge(source: Box, to: Box) -> str:
    style = 'fill="none" stroke="#57606a"'
    arrow = ' marker-end="url(#to)"' if to.text else ""
    if to.delay:  # back: down from what is delayed, and into the delay from the right
        path = f"M{source.x:.1f} {source.y + HEIGHT / 2:.1f} V{to.y:.1f} H{to.x + to.width / 2:.1f}"
        if source.x <= to.x + to.width / 2:
            path = f"M{source.x:.1f} {source.y + HEIGHT / 2:.1f} L{to.x:.1f} {to.y - HEIGHT / 2:.1f}"
        return f'<path d="{path}" {style} stroke-dasharray="4 3"{arrow}/>'
    if source.delay:
        beside = to.x - to.room / 2 - 14 - 7 * source.row  # up between two layers
        path = f"M{source.x - source.width / 2:.1f} {source.y:.1f} H{beside:.1f} V{to.y + 5:.1f}"
        return f'<path d="{path} H{to.x - to.width / 2:.1f}" {style}{arrow}/>'
    start, end = source.x + source.width / 2, to.x - to.width / 2
    middle = (start + end) / 2
    curve = f"M{start:.1f} {source.y:.1f} C{middle:.1f} {source.y:.1f} {middle:.1f} {to.y:.1f} {end:.1f} {to.y:.1f}"
    if not to.text:
        curve += f" H{to.x + to.width / 2:.1f}"
    return f'<path d="{curve}" {style}{arrow}/>'


def _drawn(box: Box) -> str:
    fill = "#fff8c5" if box.delay else "#ffffff"
    return (
        f'<rect x="{box.x - box.width / 2:.1f}" y="{box.y - HEIGHT / 2}" width="{box.width:.1f}" height="{HEIGHT}" '
        f'rx="4" fill="{fill}" stroke="#57606a"/><text x="{box.x:.1f}" y="{box.y + 4}" text-anchor="middle">'
        f"{escape(box.text)}</text>"
    )
