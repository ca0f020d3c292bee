"""Warnings: what is allowed and yet likely a mistake."""

from __future__ import annotations

from whence.lang import program as core
from whence.lang import syntax
from whence.lang.closure import Closure
from whence.lang.diagnostics import Report


def lint(parsed: syntax.Syntax, program: core.Program, report: Report) -> None:
    for clause in parsed.clauses:
        if clause.body is not None:
            _single_variables(clause, report)
    _unused_relations(parsed, program, report)
    _rules_that_cannot_fire(parsed, program, report)


def _single_variables(clause: syntax.Clause, report: Report) -> None:
    counts: dict[str, int] = {}
    last: dict[str, syntax.Variable] = {}
    for node in syntax.walk((*clause.heads, clause.body) if clause.body is not None else clause.heads):
        if not isinstance(node, syntax.Variable):
            continue
        counts[node.name] = counts.get(node.name, 0) + 1
        last[node.name] = node
    for name, count in counts.items():
        node = last[name]
        if name.startswith("_"):
            if count > 1:
                message = f"the variable `{name}` is marked as used once, but is used {count} times"
                report.warning(node.start, node.end, message, "a name that begins with `_` is for a single use")
        elif count == 1:
            report.warning(node.start, node.end, f"the variable `{name}` is used only once", f"write `_` or `_{name}`")


def _unused_relations(parsed: syntax.Syntax, program: core.Program, report: Report) -> None:
    used = {directive.relation for directive in program.directives if directive.kind in ("output", "printsize")}
    for rule in program.rules:
        used.update(name for name in _reads(rule.body) if name != rule.head.relation)
    for declaration in parsed.relations:
        if declaration.name not in used:
            hint = f"write `.output {declaration.name}`, or remove it"
            message = f"the relation `{declaration.name}` is never used"
            report.warning(declaration.start, declaration.end, message, hint)


def _reads(body: tuple[core.Literal, ...]) -> set[str]:
    names: set[str] = set()
    for literal in body:
        match literal:
            case core.Atom(relation) | core.Negation(core.Atom(relation)):
                names.add(relation)
            case core.Aggregate():
                names |= _reads(literal.body)
    return names


def _rules_that_cannot_fire(parsed: syntax.Syntax, program: core.Program, report: Report) -> None:
    given = {fact.atom.relation for fact in program.facts}
    given |= {directive.relation for directive in program.directives_of("input")}
    defined = given | {rule.head.relation for rule in program.rules}
    filled = Closure()
    filled.add(given)
    for rule in program.rules:
        if not _false_literal(rule):
            filled.imply(_needs(rule), (rule.head.relation,))
    clauses = {report.source.span(clause.start, clause.end): clause for clause in parsed.clauses if clause.body}
    for rule in program.rules:
        clause = clauses.get(rule.origin)
        if clause is None:
            continue
        if _false_literal(rule):
            message = "this rule cannot fire: a condition is always false"
            report.warning(clause.start, clause.end, message, "remove the rule or the condition")
            continue
        for name in sorted(_needs(rule) - filled.holds):
            why = "has no facts, no rules and no `.input`" if name not in defined else "is always empty"
            atom = _atom_of(clause, name)
            report.warning(
                atom.start, atom.end, f"this rule cannot fire: `{name}` {why}", f"write `.input {name}` or add facts"
            )


def _needs(rule: core.Rule) -> set[str]:
    return {literal.relation for literal in rule.body if isinstance(literal, core.Atom)}


def _false_literal(rule: core.Rule) -> bool:
    return any(_always_false(literal) for literal in rule.body)


def _always_false(literal: core.Literal) -> bool:
    match literal:
        case core.Comparison(op, core.Const(left, kind), core.Const(right, _)) if kind != "record":
            assert left is not None
            assert right is not None
            match op:
                case "=":
                    return left != right
                case "!=":
                    return left == right
                case "<":
                    return not left < right  # type: ignore[operator]
                case "<=":
                    return not left <= right  # type: ignore[operator]
                case ">":
                    return not left > right  # type: ignore[operator]
                case ">=":
                    return not left >= right  # type: ignore[operator]
    return False


def _atom_of(clause: syntax.Clause, name: str) -> syntax.Atom | syntax.Clause:
    nodes = syntax.walk((clause.body,)) if clause.body is not None else ()
    return next((node for node in nodes if isinstance(node, syntax.Atom) and node.name == name), clause)
