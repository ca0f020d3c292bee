"""Explanations as HTML: a level opens and closes on click, in one page that needs nothing else, or in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from whence.explain.forms.graph import MARKS
from whence.explain.proof import Node, RuleText, rules_of
from whence.explain.whynot import Attempt, Part, WhyNot

OPENED = 3  # levels that are open at first
FOLDER = Path(__file__).parent


def page(title: str, body: str) -> str:
    """A whole page around a fragment."""
    style, script = _file("page.css"), _file("page.js")
    return (
        "<!DOCTYPE html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>\n{style}</style></head>\n<body><header><h1>{escape(title)}</h1>\n"
        '<p class="controls"><button data-action="open">Open all</button> '
        '<button data-action="close">Close all</button> '
        '<input type="search" placeholder="Find a tuple" aria-label="Find a tuple"> '
        '<span class="found" role="status"></span></p></header>\n'
        f"<main>{body}</main>\n<script>\n{script}</script></body></html>\n"
    )


def fragment(body: str) -> str:
    """For a notebook: the same markup with its style, no script."""
    return f'<div class="whence"><style>\n{_file("page.css")}</style>{body}</div>'


def _file(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


# A proof


def proof_html(root: Node) -> str:
    return f'<ul class="tree">{"".join(_tree(root))}</ul>{_rules(rules_of([root]))}'


def _rules(rules: Sequence[RuleText]) -> str:
    """The rules that were used, as they are written."""
    rows = [
        f"<dt>{rule.label}</dt><dd><code>{escape(rule.text)}</code> <small>{escape(rule.place)}</small></dd>"
        for rule in rules
    ]
    return f'<dl class="rules">{"".join(rows)}</dl>' if rows else ""


def _tree(root: Node) -> Iterator[str]:
    waiting: list[tuple[Node, int] | str] = [(root, 0)]
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, str):
            yield entry
            continue
        node, depth = entry
        label = f'<span class="{node.kind}">{escape(node.text)}</span>'
        if not node.children and not node.more:
            note = "input" if node.kind == "input" else "not shown: ask for more depth" if node.cut else ""
            yield f"<li>{label}{f' <small>{note}</small>' if note else ''}</li>"
            continue
        state = " open" if depth < OPENED else ""
        yield f"<li><details{state}><summary>{label}{_rule(node.rule)}</summary><ul>"
        if node.more:
            waiting.append(f"<li><small>and {node.more:,} more</small></li></ul></details></li>")
        else:
            waiting.append("</ul></details></li>")
        waiting += [(child, depth + 1) for child in reversed(node.children)]


def _rule(rule: RuleText | None) -> str:
    if rule is None:
        return ""
    return f' <span class="rule" title="{escape(rule.text)}&#10;{escape(rule.place)}">{rule.label}</span>'


# Why not


def why_not_html(why: WhyNot) -> str:
    return f'<div class="why-not">{_why_not(why)}</div>'


def _why_not(why: WhyNot) -> str:
    parts: list[str] = []
    if why.is_input:
        parts.append(f"<p><code>{escape(why.relation)}</code> has no rules, and this is not among its input.</p>")
    if why.near:
        near = ", ".join(f"<code>{escape(text)}</code>" for text in why.near)
        parts.append(f'<p class="near">There {"is" if len(why.near) == 1 else "are"} {near}</p>')
    return "".join([*map(_attempt, why.attempts), *parts])


def _attempt(attempt: Attempt) -> str:
    text = f"<pre>{escape(attempt.rule.text)}</pre><small>{escape(attempt.rule.place)}</small>"
    label = f'<span class="rule">{attempt.rule.label}</span>'
    if attempt.blocked is not None:
        return f'<section class="attempt blocked">{label} cannot match: {escape(attempt.blocked)}{text}</section>'
    head = f'<span class="fails">{escape(attempt.head)}</span>'
    parts = "".join(f"<li>{_part(part)}</li>" for part in attempt.parts)
    free = f"<p><small>for no value of {escape(', '.join(attempt.free))}</small></p>" if attempt.free else ""
    options = ""
    if attempt.options:
        chosen = dict(attempt.values)
        shown = [", ".join(f"{n} = {v}" for n, v in option if chosen.get(n) != v) for option in attempt.options]
        items = "".join(f"<li>{escape(option)}</li>" for option in shown)
        options = f"<details><summary><small>fails as little with</small></summary><ul>{items}</ul></details>"
    return f'<section class="attempt">{head} {label}{text}<ul class="tree parts">{parts}</ul>{free}{options}</section>'


def _part(part: Part) -> str:
    label = f'<span class="{part.status}">{escape(part.text)} {MARKS[part.status]}</span>'
    if part.why is not None:
        return f'<details class="ask"><summary>{label} <small>why not?</small></summary>{_why_not(part.why)}</details>'
    if part.proof is not None:
        return f'<details class="ask"><summary>{label} <small>why?</small></summary>{proof_html(part.proof)}</details>'
    return label
