"""Trees as in the paper (002 fig. 4.12): premises above a line with the rule's name, the conclusion below it.

A tree that is too wide for its place is given up: `None`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whence.explain.forms.style import Palette, Text

GAP = 3  # columns between premises


@dataclass(frozen=True)
class Premise:
    """What stands above a line: a text of its own, or what follows from further premises by a rule.

    `stacks` says that it may stand above or below others that do, as constraints do."""

    text: Text
    rule: str | None = None
    premises: tuple[Premise, ...] = ()
    stacks: bool = False


@dataclass(frozen=True)
class Box:
    lines: tuple[Text, ...]
    width: int


def drawn(root: Premise, width: int, palette: Palette) -> list[Text] | None:
    box = _box(root, width, palette)
    return None if box is None else list(box.lines)


def _box(premise: Premise, width: int, palette: Palette) -> Box | None:
    text = premise.text
    if text.width > width:
        return None
    if premise.rule is None:
        return Box((text,), text.width)
    above = _beside(premise.premises, width, palette)
    if above is None:
        return None
    label = f"({premise.rule})"
    line = max(above.width, text.width)
    full = line + len(label)
    if full > width:
        return None
    ruled = palette("-" * line, "dim") + palette(label, "rule")
    left = (line - above.width) // 2
    lines = [one.padded(full, left) for one in above.lines]
    return Box((*lines, ruled, text.padded(full, (line - text.width) // 2)), full)


def _beside(premises: Sequence[Premise], width: int, palette: Palette) -> Box | None:
    """Premises from left to right, standing on one line; constraints that follow each other are stacked."""
    boxes: list[Box] = []
    stack: list[Text] = []

    def put_down() -> None:
        if stack:
            widest = max(text.width for text in stack)
            boxes.append(Box(tuple(text.padded(widest) for text in stack), widest))
            stack.clear()

    for premise in premises:
        if premise.stacks and premise.rule is None:
            stack.append(premise.text)
            continue
        put_down()
        box = _box(premise, width, palette)
        if box is None:
            return None
        boxes.append(box)
    put_down()
    total = sum(box.width for box in boxes) + GAP * max(0, len(boxes) - 1)
    if total > width:
        return None
    height = max((len(box.lines) for box in boxes), default=0)
    lines: list[Text] = []
    for level in range(height):
        line = Text("", 0)
        for number, box in enumerate(boxes):
            above = level - (height - len(box.lines))
            part = box.lines[above] if above >= 0 else Text("", 0)
            line += (Text(" " * GAP, GAP) if number else Text("", 0)) + part.padded(box.width)
        lines.append(line)
    return Box(tuple(lines), total)
