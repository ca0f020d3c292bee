"""Explanations as JSON: `{"tuple", "rule", "children"}`, nested; written without recursion, however high a proof is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from whence.explain.proof import Node, RuleText
from whence.explain.whynot import Attempt, Part, WhyNot


def proof_json(root: Node) -> str:
    """A tree as JSON text."""
    return "".join(_pieces(root))


def _pieces(root: Node) -> Iterator[str]:
    waiting: list[Node | str] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            yield node
            continue
        yield json.dumps(_own(node), ensure_ascii=False)[:-1] + ', "children": ['
        waiting.append("]}")
        for place in range(len(node.children) - 1, -1, -1):
            waiting.append(node.children[place])
            if place:
                waiting.append(", ")


def _own(node: Node) -> dict[str, Any]:
    own: dict[str, Any] = {"tuple": node.text, "kind": node.kind}
    if node.key is not None:
        own |= {"relation": node.key[0], "values": list(node.values), "iteration": node.iteration}
    own["rule"] = None if node.rule is None else rule_object(node.rule)
    if node.cut:
        own["cut"] = True
    if node.more:
        own["more"] = node.more
    return own


def rule_object(rule: RuleText) -> dict[str, Any]:
    return {"number": rule.number, "text": rule.text, "file": rule.file, "line": rule.line}


def why_not_object(why: WhyNot) -> dict[str, Any]:
    """As Python values; further answers are under the parts that they are about."""
    return {
        "absent": why.text,
        "input": why.is_input,
        "near": list(why.near),
        "attempts": [_attempt(attempt) for attempt in why.attempts],
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "tuple": attempt.head,
        "rule": rule_object(attempt.rule),
        "blocked": attempt.blocked,
        "values": dict(attempt.values),
        "free": list(attempt.free),
        "children": [_part(part) for part in attempt.parts],
        "options": [dict(option) for option in attempt.options],
    }


def _part(part: Part) -> dict[str, Any]:
    found: dict[str, Any] = {"text": part.text, "status": part.status, "kind": part.kind}
    if part.ask is not None:
        found["ask"] = part.ask
    if part.why is not None:
        found["why"] = why_not_object(part.why)
    if part.proof is not None:
        found["proof"] = json.loads(proof_json(part.proof))
    return found
