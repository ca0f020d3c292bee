"""What one program has that another has not: rules, up to the names of their variables, and relations.

    changed = difference(before, after)
    changed.added, changed.removed        # core rules, each with its `text` and `origin`
    changed.clauses                       # the same as users wrote them: texts that came, texts that went

A rule that a program has twice counts twice. Rules that only moved in the text, or whose `.plan` changed, are the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields

from whence.lang.program import Directive, Fact, Literal, Program, Relation, Rule, Term, Var


@dataclass(frozen=True)
class Difference:
    """From one program to another. `added` and the like are of the program after, `removed` of the one before."""

    added: tuple[Rule, ...]
    removed: tuple[Rule, ...]
    relations_added: tuple[Relation, ...]
    relations_removed: tuple[Relation, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.relations_added or self.relations_removed)

    @property
    def clauses(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The texts of the clauses that came and of those that went. A clause may stand for several rules."""
        came, went = (
            tuple({(rule.origin.line, rule.origin.column): rule.text for rule in rules}.values())
            for rules in (self.added, self.removed)
        )
        return came, went


def declaration(relation: Relation) -> str:
    """The text of a declaration, on one line."""
    return f".decl {relation.name}({', '.join(f'{column.name}: {column.type}' for column in relation.columns)})"


def difference(before: Program, after: Program) -> Difference:
    same = 0  # most edits are at the end
    for one, other in zip(before.rules, after.rules, strict=False):
        if one != other:
            break
        same += 1
    old, new = ([(meaning(rule), rule) for rule in program.rules[same:]] for program in (before, after))
    return Difference(
        _without(new, old),
        _without(old, new),
        tuple(relation for name, relation in after.relations.items() if name not in before.relations),
        tuple(relation for name, relation in before.relations.items() if name not in after.relations),
    )


def _without(rules: Sequence[tuple[Hashable, Rule]], others: Sequence[tuple[Hashable, Rule]]) -> tuple[Rule, ...]:
    """The rules that are not among the others, as often as there are more of them; of equal ones, the last."""
    left = Counter(shape for shape, _ in others)
    found = []
    for shape, rule in rules:
        if left[shape]:
            left[shape] -= 1
        else:
            found.append(rule)
    return tuple(found)


def meaning(rule: Rule) -> Hashable:
    """What two rules have in common that are the same but for the names of their variables."""
    names: dict[str, int] = {}
    return _shape(rule.head, names), tuple(_shape(literal, names) for literal in rule.body)


def _shape(node: Term | Literal | object, names: dict[str, int]) -> Hashable:
    """A node with its variables numbered as they occur."""
    if isinstance(node, Var):
        return "variable", names.setdefault(node.name, len(names)), node.kind
    if isinstance(node, tuple):
        return tuple(_shape(part, names) for part in node)
    if hasattr(node, "__dataclass_fields__"):
        parts = (_shape(getattr(node, field.name), names) for field in fields(node))  # type: ignore[arg-type]
        return type(node).__name__, *parts
    if isinstance(node, float):
        return "float", node.hex()  # -0.0 is another one than 0.0
    return node


def facts_apart(before: Program, after: Program) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
    """The facts in the text of one program only: those that came, and those that went."""
    if before.facts == after.facts:
        return (), ()
    old, new = ({_shape(fact.atom, {}): fact for fact in program.facts} for program in (before, after))
    return (
        tuple(fact for shape, fact in new.items() if shape not in old),
        tuple(fact for shape, fact in old.items() if shape not in new),
    )


def directives_without(program: Program, other: Program) -> tuple[Directive, ...]:
    """The directives of a program that another does not have."""
    there = set(map(_shape_of, other.directives))
    return tuple(directive for directive in program.directives if _shape_of(directive) not in there)


def _shape_of(directive: Directive) -> Hashable:
    return directive.kind, directive.relation, tuple(sorted(directive.parameters.items()))
