"""What the terminal debugger shows of a state, as lines of text. Each line is a list of (style, text)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from whence.plan.text import value_text
from whence.step import Debugger, FrameShown, Shown
from whence.step.source import THE_QUERY

Line = list[tuple[str, str]]
ROWS = 12  # of a table, unless more are asked for
WIDEST = 60  # characters of a value
AROUND = 4  # lines of source around the current one, where the screen does not say


def plain(lines: Iterable[Line]) -> str:
    return "\n".join("".join(text for _, text in line).rstrip() for line in lines)


def table(shown: Shown, start: int = 0, count: int = ROWS) -> list[Line]:
    """A table with its names above; what does not fit is counted."""
    if not shown.names:
        return [[("dim", "no variables; it holds" if len(shown) else "no variables; it does not hold")]]
    rows = [[_short(value_text(value)) for value in row] for row in shown.rows(start, count)]
    widths = [max(map(_width, [name, *(row[i] for row in rows)])) for i, name in enumerate(shown.names)]
    lines: list[Line] = [[("name", "  ".join(_padded(n, w) for n, w in zip(shown.names, widths, strict=True)))]]
    lines += [[("", "  ".join(_padded(v, w) for v, w in zip(row, widths, strict=True)))] for row in rows]
    if not len(shown):
        lines.append([("dim", "(no rows)")])
    elif start + len(rows) < len(shown) or start:
        lines.append([("dim", f"rows {start + 1:,} to {start + len(rows):,} of {len(shown):,}")])
    return lines


def source(debugger: Debugger, frame: FrameShown | None, height: int | None = None) -> list[Line]:
    """The lines of the program around the current atom, which is marked below. All of it, if no height is given."""
    if frame is None:
        return []
    span = frame.place
    text = debugger.asked.text if span.file == "<query>" else debugger.session.text[0]
    lines = text.split("\n")
    if span.file == "<query>":
        span_line, column, end = 1, 1, len(lines[0]) + 1
        if frame.atom and frame.atom in lines[0]:
            column = lines[0].index(frame.atom) + 1
            end = column + len(frame.atom)
    else:
        span_line, column = span.line, span.column
        end = span.end_column if span.end_line == span.line else len(lines[span.line - 1]) + 1
    before = after = AROUND if height is None else max(1, (height - 2) // 2)
    first, last = max(1, span_line - before), min(len(lines), span_line + after)
    stops = {one.line for one in debugger.breakpoints if one.line and one.enabled}
    digits = len(str(last))
    found: list[Line] = []
    for number in range(first, last + 1):
        line = lines[number - 1].replace("\t", " ")
        mark = "●" if number in stops else " "
        gutter = ("stop" if number in stops else "dim", f"{mark}{number:>{digits}}  ")
        if number == span_line:
            parts = [("", line[: column - 1]), ("here", line[column - 1 : end - 1]), ("", line[end - 1 :])]
            found.append([gutter, *parts])
            marker = "^" * max(1, _width(line[column - 1 : end - 1]))
            found.append([("dim", " " * (digits + 3)), ("marker", " " * _width(line[: column - 1]) + marker)])
        else:
            found.append([gutter, ("dim", line)])
    return found


def stack(debugger: Debugger, chosen: int = 0, most: int = 12) -> list[Line]:
    """The calls under way, the innermost first."""
    lines: list[Line] = []
    for number, frame in enumerate(debugger.calls(0, most)):
        where = "" if frame.place.file == "<query>" else f"  line {frame.place.line}"
        again = f", iteration {frame.iteration}" if frame.iteration > 1 else ""
        style = "current" if number == chosen else ""
        lines.append([(style, f"{'>' if number == chosen else ' '} {number}  {frame.call}"), ("dim", where + again)])
    if debugger.depth > most:
        lines.append([("dim", f"  … {debugger.depth - most:,} more")])
    return lines


def state(debugger: Debugger) -> Line:
    """One line: where it stands, and how it came there."""
    rules = ", ".join(debugger.stop.rules[-6:])
    if len(debugger.stop.rules) > 6:
        rules = "…, " + rules
    if debugger.done:
        return [("title", f"{debugger.asked.text} is done"), ("rules", f"  [{rules}]")]
    frame = debugger.frame
    what = frame.call if frame.call == THE_QUERY else f"call {frame.call}"
    stopped = "".join(f", breakpoint {one.number}" for one in debugger.stop.breakpoints)
    return [("title", what + stopped), ("rules", f"  [{rules}]" if rules else "")]


def answer(debugger: Debugger, count: int = ROWS) -> list[Line]:
    found = debugger.answer
    return [] if found is None else table(found, 0, count)


def bindings(frame: FrameShown, start: int = 0, count: int = ROWS) -> list[Line]:
    """The supplementary table, and what the atom or the rule was reduced to if that waits to be merged."""
    lines: list[Line] = []
    if frame.bindings is not None:
        nothing = not frame.bindings.names and len(frame.bindings)
        lines += [[("dim", "no bindings yet")]] if nothing else table(frame.bindings, start, count)
    if frame.value is not None:
        what = frame.atom if frame.atom else "the rule" if frame.rule else "the call"
        lines += [[("dim", f"{what} gives:")], *table(frame.value, 0, count)]
    if frame.bindings is None and frame.value is None:
        lines += [[("dim", "all rules are done; they gave:")], *table(frame.result, start, count)]
    return lines


def watches(debugger: Debugger) -> list[Line]:
    lines: list[Line] = []
    for number, (text, found) in enumerate(debugger.watched().items(), 1):
        if isinstance(found, str):
            lines.append([("name", f"{number}  {text}"), ("dim", f"  {found}")])
        else:
            rows = [", ".join(map(value_text, row)) for row in found.rows(0, 4)]
            more = f" … {len(found):,} in all" if len(found) > 4 else ""
            shown = " | ".join(rows) + more if rows else "none"
            lines.append([("name", f"{number}  {text}"), ("", f"  {shown}")])
    return lines


def whole(debugger: Debugger, chosen: int = 0) -> str:
    """All that is shown after a command where there is no screen."""
    lines = [state(debugger)]
    if debugger.done:
        return plain([*lines, *_indented(answer(debugger))])
    (frame,) = debugger.calls(chosen, 1)
    current = [line for line in source(debugger, frame) if any(style in ("here", "marker") for style, _ in line)]
    lines += current
    lines += _indented(bindings(frame))
    lines += watches(debugger)
    return plain(lines)


def _indented(lines: Sequence[Line]) -> list[Line]:
    return [[("", "    "), *line] for line in lines]


def _short(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _width(text: str) -> int:
    """Columns of a terminal: East Asian characters take two, combining ones none."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))
