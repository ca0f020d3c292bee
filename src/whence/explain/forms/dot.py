"""Explanations for Graphviz: `whence explain … --format dot | dot -Tpdf`."""

from __future__ import annotations

from collections.abc import Iterable

from whence.explain.forms.graph import Vertex

COLOURS = {
    "derived": "#1f2937",
    "input": "#15803d",
    "constraint": "#0e7490",
    "negation": "#0e7490",
    "aggregate": "#0e7490",
    "holds": "#1d4ed8",
    "fails": "#b91c1c",
    "open": "#6b7280",
    "attempt": "#1f2937",
    "blocked": "#6b7280",
    "near": "#15803d",
    "more": "#6b7280",
}
SHAPES = {"constraint": "plaintext", "negation": "plaintext", "more": "plaintext"}


def dot(vertices: Iterable[Vertex]) -> str:
    lines = [
        "digraph proof {",
        "  rankdir=BT;",
        '  node [shape=box, style=rounded, fontname="monospace", fontsize=11];',
        '  edge [fontname="monospace", fontsize=10, dir=back];',
    ]
    labels: dict[int, str] = {}
    for vertex in vertices:
        colour, shape = COLOURS[vertex.style], SHAPES.get(vertex.style)
        parts = [f"label={_quoted(vertex.text)}", f'color="{colour}"', f'fontcolor="{colour}"']
        if shape:
            parts.append(f"shape={shape}")
        if vertex.title:
            parts.append(f"tooltip={_quoted(vertex.title)}")
        lines.append(f"  n{vertex.number} [{', '.join(parts)}];")
        if vertex.rule:
            labels[vertex.number] = vertex.rule
        if vertex.parent is not None:
            label = labels.get(vertex.parent)
            lines.append(f"  n{vertex.number} -> n{vertex.parent}" + (f' [label="{label}"];' if label else ";"))
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
