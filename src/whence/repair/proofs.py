"""Incremental proofs (002, fig. 6.2): what the change brought is marked, what was there already is not gone into."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from whence.explain.explainer import Explainer
from whence.explain.forms.text import proof_text
from whence.explain.proof import Node, distinct
from whence.explain.search import Key, as_rows
from whence.repair.change import Members

MARK = " (+)"


def proofs_of(
    keys: Iterable[Key], explainer: Explainer, new: Callable[[str], Members], hidden: Collection[str]
) -> dict[str, str]:
    """By the text of each tuple, a proof as text. `new` has the tuples of a relation that only this epoch has; those of
    `hidden` relations are not shown."""
    found = {}
    for key in keys:
        root = explainer.proof(key)
        found[root.text] = proof_text(_marked(root, new, hidden))
    return found


def _marked(root: Node, new: Callable[[str], Members], hidden: Collection[str]) -> Node:
    done: dict[int, Node] = {}
    for node in distinct(root):
        shown = [child for child in node.children if child.key is None or child.key[0] not in hidden]
        children = tuple(done[id(child)] for child in shown)
        if node.key is None:
            done[id(node)] = replace(node, children=children)
        elif new(node.key[0]).has(as_rows([node.key[1]], len(node.key[1])))[0]:
            done[id(node)] = replace(node, children=children, text=node.text + MARK)
        elif node.kind == "input":
            done[id(node)] = node
        else:
            done[id(node)] = replace(node, children=(), rule=None, cut=True)
    return done[id(root)]
