"""Explanations as SVG, without Graphviz: the root at the bottom, as proofs are drawn, each rule a bar above what it
derives. The page's own fonts and colours; every bar says its rule when it is pointed at."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from whence.explain.forms.dot import COLOURS
from whence.explain.forms.graph import Vertex
from whence.explain.forms.style import width_of

CHARACTER, LINE, LEVEL, GAP, MARGIN = 7.3, 18, 34, 18, 16


def svg(vertices: Iterable[Vertex]) -> str:
    """A tree whose parents come before their children, laid out so that no two vertices overlap."""
    found = list(vertices)
    below: list[list[int]] = [[] for _ in found]
    depth = [0] * len(found)
    for vertex in found:
        if vertex.parent is not None:
            below[vertex.parent].append(vertex.number)
            depth[vertex.number] = depth[vertex.parent] + 1
    own = [width_of(vertex.text) * CHARACTER + 12 for vertex in found]
    taken = list(own)
    for vertex in reversed(found):
        children = below[vertex.number]
        together = sum(taken[child] for child in children) + GAP * max(0, len(children) - 1)
        label = len(vertex.rule) * CHARACTER + 10 if vertex.rule else 0
        taken[vertex.number] = max(own[vertex.number], together) + 2 * label
    left = [float(MARGIN)] * len(found)
    for vertex in found:
        children = below[vertex.number]
        together = sum(taken[child] for child in children) + GAP * max(0, len(children) - 1)
        at = left[vertex.number] + (taken[vertex.number] - together) / 2
        for child in children:
            left[child] = at
            at += taken[child] + GAP
    height = max(depth, default=0) * LEVEL + LINE + 2 * MARGIN
    width = taken[0] + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        f'height="{height}" font-family="ui-monospace, monospace" font-size="12">',
        f'<rect width="{width:.0f}" height="{height}" fill="#ffffff"/>',
    ]
    for vertex in found:
        middle = left[vertex.number] + taken[vertex.number] / 2
        bottom = height - MARGIN - depth[vertex.number] * LEVEL
        colour = COLOURS[vertex.style]
        weight = ' font-weight="600"' if vertex.style in ("derived", "attempt") else ""
        parts.append(
            f'<text x="{middle:.1f}" y="{bottom - 5}" text-anchor="middle" fill="{colour}"{weight} '
            f"data-kind={quoteattr(vertex.style)}>{escape(vertex.text)}</text>"
        )
        children = below[vertex.number]
        if children:
            start = min(left[child] for child in children)
            end = max(left[child] + taken[child] for child in children)
            start, end = min(start, middle - own[vertex.number] / 2), max(end, middle + own[vertex.number] / 2)
            bar = bottom - LINE - 2
            title = f"<title>{escape(vertex.title)}</title>" if vertex.title else ""
            name = escape(vertex.rule or "")
            parts.append(
                f'<g>{title}<line x1="{start:.1f}" x2="{end:.1f}" y1="{bar}" y2="{bar}" stroke="#6b7280"/>'
                f'<text x="{end + 4:.1f}" y="{bar + 4}" fill="#a16207">{name}</text></g>'
            )
    return "\n".join([*parts, "</svg>"])
