"""Proof trees (002 def. 4.2.1), built level by level from what the search finds.

A tuple that occurs many times in a tree is searched for once, and its subtree is one shared object; whoever walks a
tree must not count on being able to recurse, for a proof may be thousands of levels high.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from typing import Literal as OneOf

from whence.explain.search import Key, Search, Step, as_rows
from whence.explain.wording import Wording
from whence.lang.program import Aggregate, Atom, Negation, Rule

Kind = OneOf["input", "derived", "negation", "constraint", "aggregate"]
Steps = Mapping[Key, Step]


@dataclass(frozen=True, slots=True)
class RuleText:
    """A clause of the program, as it was written. Its number counts the clauses with a body from 1."""

    number: int
    text: str
    file: str
    line: int

    @property
    def label(self) -> str:
        return f"R{self.number}"

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A tuple with what derives it, or a part of a rule that is no tuple. `cut` says that its proof is not shown;
    `more` is how many tuples of an aggregate are not."""

    kind: Kind
    text: str
    children: tuple[Node, ...] = ()
    rule: RuleText | None = None
    key: Key | None = None
    values: tuple[Any, ...] = ()
    iteration: int | None = None
    cut: bool = False
    more: int = 0


class Levels:
    """The steps of a proof, found level by level, and the iteration of every tuple in it."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.steps: dict[Key, Step] = {}
        self.iterations: dict[Key, int] = {}

    def annotate(self, keys: Iterable[Key]) -> None:
        by_relation: dict[str, list[tuple[int, ...]]] = defaultdict(list)
        for relation, values in keys:
            if (relation, values) not in self.iterations:
                by_relation[relation].append(values)
        for relation, tuples in by_relation.items():
            rows = as_rows(tuples, self.search.state.program.relations[relation].arity)
            found = self.search.state.annotation(relation, rows).iteration.tolist()
            self.iterations |= zip(((relation, values) for values in tuples), found, strict=True)

    def grow(self, root: Key, depth: int | None, nodes: int | None) -> int | None:
        """Finds steps down to the input, at most `depth` levels of them, and stops after the level that brings the
        tree to more than so many nodes. Returns the levels that were found, or None if that is all."""
        self.annotate([root])
        occurrences: dict[Key, int] = {root: 1}
        total, level = 1, 0
        while True:
            derived = {key: times for key, times in occurrences.items() if self.iterations[key] > 0}
            if not derived:
                return None
            if level == depth or (nodes is not None and total > nodes):
                return level
            missing = [key for key in derived if key not in self.steps]
            self.steps |= self.search.steps(missing)
            below: dict[Key, int] = defaultdict(int)
            for key, times in derived.items():
                step = self.steps[key]
                total += times * len(step.rule.body)
                for child in tuples_of(step):
                    below[child] += times
            self.annotate(below)
            if nodes is None and depth is None:  # how often a tuple occurs does not matter: look at each once
                below = {key: 1 for key in below if key not in self.steps}
            occurrences = below
            level += 1


def tuples_of(step: Step) -> Iterator[Key]:
    yield from step.tuples
    for members in step.members:
        yield from members.tuples


class Builder:
    """Nodes from steps."""

    def __init__(self, search: Search, wording: Wording) -> None:
        self.search = search
        self.wording = wording
        self._rules: dict[int, RuleText] = {}

    def rule_text(self, rule: Rule) -> RuleText:
        known = self._rules.get(id(rule))
        if known is None:
            text = " ".join(rule.text.split())
            known = RuleText(self.search.number(rule), text, rule.origin.file, rule.origin.line)
            self._rules[id(rule)] = known
        return known

    def tree(self, root: Key, steps: Steps, iterations: Mapping[Key, int], depth: int | None) -> Node:
        """The tree of a tuple; below `depth` levels of rules, derived tuples are cut."""
        values = self.wording.values(iterations)
        texts = self.wording.tuple_texts(iterations)
        parts = self._parts(steps)
        done: dict[tuple[Key, int | None], Node] = {}
        waiting: list[tuple[Key, int | None]] = [(root, depth)]
        while waiting:
            key, left = waiting[-1]
            step = steps.get(key)
            if (key, left) in done:
                waiting.pop()
                continue
            if step is None or left == 0:
                kind: Kind = "derived" if iterations[key] > 0 else "input"
                cut = kind == "derived"
                done[key, left] = Node(kind, texts[key], (), None, key, values[key], iterations[key], cut)
                waiting.pop()
                continue
            below = None if left is None else left - 1
            unfinished = [(child, below) for child in tuples_of(step) if (child, below) not in done]
            if unfinished:
                waiting += unfinished
                continue
            children = tuple(self._children(step, parts[key], done, below))
            rule = self.rule_text(step.rule.rule)
            done[key, left] = Node("derived", texts[key], children, rule, key, values[key], iterations[key])
            waiting.pop()
        return done[root, depth]

    def _parts(self, steps: Steps) -> dict[Key, list[str | None]]:
        by_rule: dict[int, list[Key]] = defaultdict(list)
        for key, step in steps.items():
            by_rule[id(step.rule)].append(key)
        found: dict[Key, list[str | None]] = {}
        for keys in by_rule.values():
            found |= zip(keys, self.wording.step_texts([steps[key] for key in keys]), strict=True)
        return found

    def _children(
        self, step: Step, texts: list[str | None], done: Mapping[tuple[Key, int | None], Node], left: int | None
    ) -> Iterator[Node]:
        tuples, members = iter(step.tuples), iter(step.members)
        for literal, text in zip(step.rule.body, texts, strict=True):
            if isinstance(literal, Atom):
                yield done[next(tuples), left]
            elif isinstance(literal, Aggregate):
                ranged = next(members)
                children = tuple(done[key, left] for key in ranged.tuples)
                yield Node("aggregate", text or "", children, more=ranged.more)
            elif text is not None:
                yield Node("negation" if isinstance(literal, Negation) else "constraint", text)


# Measures of a tree


def walk(root: Node) -> Iterator[tuple[Node, int]]:
    """Every occurrence of a node with its depth, parents first, from left to right."""
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting += [(child, depth + 1) for child in reversed(node.children)]


def distinct(root: Node) -> list[Node]:
    """Every node once, children before their parents."""
    done: dict[int, Node] = {}
    waiting = [root]
    while waiting:
        node = waiting[-1]
        unfinished = [child for child in node.children if id(child) not in done]
        if unfinished and id(node) not in done:
            waiting += unfinished
            continue
        waiting.pop()
        done.setdefault(id(node), node)
    return list(done.values())


def height(root: Node) -> int:
    """The most rules on a way from the root to a leaf. An aggregate is a constraint: what it ranges over is shown,
    but does not count."""
    heights: dict[int, int] = {}
    for node in distinct(root):
        tuples = [heights[id(child)] for child in node.children if child.kind != "aggregate"]
        heights[id(node)] = 0 if node.rule is None else 1 + max(tuples, default=0)
    return heights[id(root)]


def size(root: Node) -> int:
    """The number of tuples in the tree, each as often as it occurs, without those of aggregates."""
    sizes: dict[int, int] = {}
    for node in distinct(root):
        counted = sum(sizes[id(child)] for child in node.children if node.kind != "aggregate")
        sizes[id(node)] = counted + (node.key is not None)
    return sizes[id(root)]


def nodes(root: Node) -> int:
    """All nodes of the tree, each as often as it occurs."""
    numbers: dict[int, int] = {}
    for node in distinct(root):
        numbers[id(node)] = 1 + sum(numbers[id(child)] for child in node.children)
    return numbers[id(root)]


def rules_of(trees: Iterable[Node]) -> list[RuleText]:
    """The rules that trees use, by their numbers."""
    rules = {node.rule.number: node.rule for tree in trees for node in distinct(tree) if node.rule is not None}
    return [rule for _, rule in sorted(rules.items())]
