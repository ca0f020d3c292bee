"""The `.dl` text of an oracle program."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from oracle.rules import (
    Aggregate,
    Atom,
    Call,
    Compare,
    Const,
    Either,
    Literal,
    Not,
    Program,
    Record,
    Rule,
    Term,
    Tuple,
    Value,
    Var,
)

NAMED = {"cat", "strlen", "substr", "to_number", "to_string", "to_float", "to_unsigned", "min", "max"}


def render(program: Program, facts_of: Collection[str] | None = None) -> str:
    """The program's text, with the facts of `facts_of` (by default of all relations) written in it."""
    return "\n".join(lines(program, facts_of)) + "\n"


def lines(program: Program, facts_of: Collection[str] | None) -> Iterator[str]:
    for name, kinds in program.records.items():
        yield f".type {name} = [{columns(kinds)}]"
    for name, kinds in program.relations.items():
        yield f".decl {name}({columns(kinds)})"
    for name, tuples in program.facts.items():
        if facts_of is None or name in facts_of:
            for row in tuples:
                yield f"{fact(name, row, program)}."
    yield from map(rule, program.rules)


def columns(kinds: tuple[str, ...]) -> str:
    return ", ".join(f"c{position}: {kind}" for position, kind in enumerate(kinds))


def fact(relation: str, row: Tuple, program: Program) -> str:
    kinds = program.relations[relation]
    return f"{relation}({', '.join(constant(v, k, program.records) for v, k in zip(row, kinds, strict=True))})"


def constant(value: Value, kind: str, records: object) -> str:
    match value:
        case None:
            return "nil"
        case tuple():
            kinds = records[kind]  # type: ignore[index]
            return f"[{', '.join(constant(v, k, records) for v, k in zip(value, kinds, strict=True))}]"
        case str():
            return '"' + value + '"'
    return f"{value}u" if kind == "unsigned" else str(value)


def rule(node: Rule) -> str:
    return f"{', '.join(map(literal, node.heads))} :- {body(node.body)}."


def body(literals: tuple[Literal, ...]) -> str:
    return ", ".join(map(literal, literals))


def literal(node: Literal) -> str:
    match node:
        case Atom(relation, args):
            return f"{relation}({', '.join(map(term, args))})"
        case Not(atom):
            return f"!{literal(atom)}"
        case Compare(("match" | "contains") as operator, left, right):
            return f"{operator}({term(left)}, {term(right)})"
        case Compare(("not match" | "not contains") as operator, left, right):
            return f"!{operator.removeprefix('not ')}({term(left)}, {term(right)})"
        case Compare(operator, left, right):
            return f"{term(left)} {operator} {term(right)}"
        case Aggregate(operator, result, target, inner):
            over = operator if target is None else f"{operator} {term(target)}"
            return f"{term(result)} = {over} : {{ {body(inner)} }}"
        case Either(choices):
            return f"({'; '.join(map(body, choices))})"
    raise TypeError(node)


def term(node: Term) -> str:
    match node:
        case Var(name):
            return name
        case Const(value, kind):
            return constant(value, kind, {})
        case Record(fields):
            return f"[{', '.join(map(term, fields))}]"
        case Call(functor, args) if functor in NAMED:
            return f"{functor}({', '.join(map(term, args))})"
        case Call(functor, (left, right)):
            return f"({term(left)} {functor} {term(right)})"
        case Call(functor, (only,)):
            return f"({functor} {term(only)})"
    return "_"
