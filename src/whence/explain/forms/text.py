"""Explanations as text: as the paper draws trees if they fit the width, else as an outline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from whence.explain.forms.graph import MARKS
from whence.explain.forms.inference import Premise, drawn
from whence.explain.forms.style import Palette, Text, joined, width_of, wrapped
from whence.explain.proof import Node, RuleText, height, nodes, rules_of
from whence.explain.whynot import Attempt, Part, WhyNot

WIDTH = 100
DRAWN_HEIGHT, DRAWN_NODES = 40, 200  # the largest tree that is drawn
LISTED = 20  # matches of a pattern


def proof_text(root: Node, width: int = WIDTH, colour: bool = False) -> str:
    palette = Palette(colour)
    lines = None
    if height(root) <= DRAWN_HEIGHT and nodes(root) <= DRAWN_NODES:
        lines = drawn(_premise(root, palette), width, palette)
    if lines is None:
        lines = list(_outline(root, width, palette))
    return joined([*lines, *_legend(rules_of([root]), width, palette)])


def derivations_text(trees: Sequence[Node], width: int = WIDTH, colour: bool = False) -> str:
    """One-step derivations, one below the other."""
    palette = Palette(colour)
    lines: list[Text] = []
    for tree in trees:
        lines += drawn(_premise(tree, palette), width, palette) or _outline(tree, width, palette)
        lines.append(Text("", 0))
    return joined([*lines[:-1], *_legend(rules_of(trees), width, palette)])


# A proof


def _premise(node: Node, palette: Palette) -> Premise:
    text = _label(node, palette)
    if node.kind == "aggregate" and (node.children or node.more):
        below = [_premise(child, palette) for child in node.children]
        if node.more:
            below.append(Premise(palette(f"… {node.more:,} more", "dim"), stacks=True))
        return Premise(text, "over", tuple(below))
    if node.rule is None:
        return Premise(text, stacks=node.kind in ("constraint", "negation", "aggregate"))
    return Premise(text, node.rule.label, tuple(_premise(child, palette) for child in node.children))


def _label(node: Node, palette: Palette) -> Text:
    text = palette(node.text, node.kind)
    if node.kind == "input":
        return text + palette(".", "dim")  # a fact, as it is written in a program
    return text + palette(" …", "dim") if node.cut else text


def _outline(root: Node, width: int, palette: Palette) -> Iterator[Text]:
    """A node a line, children indented below their parent; deep in the tree, the depth stands for the lines."""
    waiting: list[tuple[Node | int, str, str, int]] = [(root, "", "", 0)]
    while waiting:
        node, first, after, depth = waiting.pop()
        if width_of(first) > width // 2:
            first, after = f"{depth}… └─ ", f"{depth}…    "
        if isinstance(node, int):
            yield palette(first, "dim") + palette(f"… {node:,} more", "dim")
            continue
        yield from _entry(node, first, after, width, palette)
        children: list[Node | int] = [*node.children, *([node.more] if node.more else [])]
        for place in range(len(children) - 1, -1, -1):
            last = place == len(children) - 1
            branch, below = ("└─ ", "   ") if last else ("├─ ", "│  ")
            waiting.append((children[place], after + branch, after + below, depth + 1))


def _entry(node: Node, first: str, after: str, width: int, palette: Palette) -> Iterator[Text]:
    note, style = "", None
    if node.rule is not None:
        note, style = f"  ({node.rule.label})", "rule"
    elif node.kind == "input":
        note, style = "  input", "dim"
    elif node.cut:
        note, style = " …", "dim"
    pieces = list(wrapped(node.text, width - width_of(first) - len(note)))
    for place, piece in enumerate(pieces):
        line = palette(after if place else first, "dim") + palette(piece, node.kind)
        yield line + palette(note, style) if place == len(pieces) - 1 else line


# Why not


def why_not_text(why: WhyNot, width: int = WIDTH, colour: bool = False, all_rules: bool = True) -> str:
    palette = Palette(colour)
    lines: list[Text] = []
    if why.is_input:
        text = f"{why.text} is not among the input: {why.relation} has no rules."
        lines += [palette(line) for line in wrapped(text, width)]
    for number, attempt in enumerate(why.attempts if all_rules else why.attempts[:1]):
        if number:
            lines.append(Text("", 0))
        lines += _attempt(attempt, width, palette)
    if why.near:
        text = f"There {'is' if len(why.near) == 1 else 'are'}: {', '.join(why.near)}"
        lines += [palette(line, "dim") for line in wrapped(text, width)]
    return joined([*lines, *_legend([attempt.rule for attempt in why.attempts], width, palette)])


def _attempt(attempt: Attempt, width: int, palette: Palette) -> Iterator[Text]:
    head = palette(attempt.head, "fails")
    if attempt.blocked is not None:
        text = f"({attempt.rule.label}) cannot match: {attempt.blocked}"
        yield from (palette(line) for line in wrapped(text, width))
        return
    premises = tuple(Premise(_part(part, palette), stacks=part.kind != "atom") for part in attempt.parts)
    lines = drawn(Premise(head, attempt.rule.label, premises), width, palette)
    if lines is not None:
        yield from lines
    else:
        yield head + palette(f"  ({attempt.rule.label})", "rule")
        for place, part in enumerate(attempt.parts):
            branch = "└─ " if place == len(attempt.parts) - 1 else "├─ "
            pieces = list(wrapped(part.text, width - 5))
            for at, piece in enumerate(pieces):
                mark = f" {MARKS[part.status]}" if at == len(pieces) - 1 else ""
                yield palette("   " if at else branch, "dim") + palette(piece + mark, part.status)
    if attempt.free:
        words = "for no value of " if attempt.failing else "without a value: "
        yield palette(words + ", ".join(attempt.free), "dim")
    if attempt.options:
        shown = "; ".join(", ".join(f"{n} = {v}" for n, v in option) for option in _differing(attempt)[:3])
        more = len(attempt.options) - 3
        text = f"fails as little with: {shown}" + (f"; and {more} more" if more > 0 else "")
        yield from (palette(line, "dim") for line in wrapped(text, width))


def _differing(attempt: Attempt) -> list[list[tuple[str, str]]]:
    """The other instantiations, by the variables in which they differ."""
    chosen = dict(attempt.values)
    return [[(n, v) for n, v in option if chosen.get(n) != v] for option in attempt.options]


def _part(part: Part, palette: Palette) -> Text:
    return palette(f"{part.text} {MARKS[part.status]}", part.status)


# Matches and rules


def matches_text(matches: Sequence[str], more: bool, chosen: int, colour: bool = False) -> str:
    palette = Palette(colour)
    digits = len(str(min(len(matches), LISTED)))
    shown = [
        palette(f"{'>' if number == chosen else ' '} {number:>{digits}}  ", "rule") + palette(text)
        for number, text in enumerate(matches, 1)
        if number <= LISTED or number == chosen
    ]
    if len(matches) > LISTED or more:
        total = f"more than {len(matches):,}" if more else f"{len(matches):,}"
        shown.append(palette(f"  … of {total}", "dim"))
    return joined(shown)


def _legend(rules: Iterable[RuleText], width: int, palette: Palette) -> Iterator[Text]:
    """The rules that were named, as they are written."""
    named = sorted({rule.number: rule for rule in rules}.items())
    if named:
        yield Text("", 0)
    margin = 2 + max((len(rule.label) for _, rule in named), default=0)
    for _, rule in named:
        lines = list(wrapped(f"{rule.text}  {rule.place}", width - margin))
        for place, line in enumerate(lines):
            start = palette("" if place else rule.label, "rule").padded(margin)
            yield start + palette(line)
