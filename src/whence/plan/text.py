"""Plans as text. Variables that the compiler made up are shown as the term they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from whence.lang.program import (
    FUNCTORS,
    Aggregate,
    Atom,
    Call,
    Comparison,
    Const,
    Literal,
    Negation,
    Record,
    Term,
    Var,
)
from whence.plan.steps import (
    Absent,
    Bind,
    Exists,
    Filter,
    Fold,
    Keys,
    Probe,
    Project,
    RuleVersion,
    Scan,
    Step,
    Unpack,
    View,
)

Names = Mapping[str, str]
INFIX = frozenset(
    ["add", "sub", "mul", "div", "mod", "pow", "band", "bor", "bxor", "bshl", "bshr", "bshru", "land", "lor", "lxor"]
)


def describe(version: RuleVersion) -> str:
    """The version: its rule, what its atoms read, its steps in order."""
    names = made_up(version.rule.body)
    lines = [f"{version.rule.text}   // {version.rule.origin}"]
    read = zip(version.atoms, version.views, strict=True)
    parts = [f"{_atom(atom, names)} reads {view.value}" for atom, view in read if view is not View.ALL]
    if parts:
        lines.append("  where " + ", ".join(parts))
    lines += _numbered(version.steps, names, version.rule.head, "  ")
    return "\n".join(lines)


def atom_text(atom: Atom) -> str:
    return _atom(atom, {})


def tuple_text(relation: str, values: Iterable[Any]) -> str:
    """A tuple of Python values as users write it in a program."""
    return f"{relation}({', '.join(map(value_text, values))})"


def value_text(value: Any) -> str:
    """A Python value as users write it in a program; a tuple is a record."""
    if isinstance(value, tuple):
        return "[" + ", ".join(map(value_text, value)) + "]"
    return _term(Const(value, "symbol" if isinstance(value, str) else "number"), {})


def literal_text(literal: Literal, names: Names) -> str:
    """A literal as it is written, with a text for each variable that `names` has one for."""
    return _literal(literal, names)


def term_text(term: Term, names: Names) -> str:
    return _term(term, names)


def symbol_text(value: str) -> str:
    """A symbol as it is written in a program: on one line, in quotes."""
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r")):
        value = value.replace(plain, escaped)
    return f'"{value}"'


def _numbered(steps: tuple[Step, ...], names: Names, head: Atom | None, indent: str) -> Iterator[str]:
    for number, step in enumerate(steps, 1):
        yield f"{indent}{number}. {_step(step, names, head)}"
        if isinstance(step, Fold):
            yield from _numbered(step.steps, names, None, indent + "   ")


def _step(step: Step, names: Names, head: Atom | None) -> str:
    match step:
        case Scan(atom, view, keys):
            return f"scan    {view.value} {_atom(atom, names)}{_by(keys, names, 'where')}"
        case Probe(atom, view, keys):
            return f"probe   {view.value} {_atom(atom, names)}{_by(keys, names)}"
        case Exists(atom, view, keys):
            return f"exists  {view.value} {_atom(atom, names)}{_by(keys, names)}"
        case Absent(atom, view, keys):
            return f"absent  {view.value} {_atom(atom, names)}{_by(keys, names)}"
        case Filter(comparison):
            left, right = _term(comparison.left, names), _term(comparison.right, names)
            return f"filter  {left}" if left == right else f"filter  {_literal(comparison, names)}"
        case Bind(variable, term):
            name, value = _term(variable, names), _term(term, names)
            return f"bind    {value}" if name == value else f"bind    {name} = {value}"
        case Unpack(value, pattern):
            return f"unpack  {_term(value, names)} = {_term(pattern, names)}"
        case Fold(aggregate):
            by = ", ".join(_term(v, names) for v in aggregate.outer)
            return f"fold    {_aggregate(aggregate, names)}" + (f" for each {by}" if by else "")
        case Project(terms):
            shown = ", ".join(_term(term, names) for term in terms)
            return f"emit    {head.relation}({shown})" if head else f"gather  {shown}".rstrip()


def _by(keys: Keys, names: Names, word: str = "by") -> str:
    if not keys:
        return ""
    return f" {word} " + ", ".join(f"column {column + 1} = {_term(operand, names)}" for column, operand in keys)


def made_up(body: tuple[Literal, ...]) -> dict[str, str]:
    """What variables that no user wrote stand for."""
    names: dict[str, str] = {}

    def learn(body: tuple[Literal, ...]) -> None:
        for literal in body:
            if isinstance(literal, Aggregate):
                learn(literal.body)
                names.setdefault(literal.result.name, _aggregate(literal, names))
            elif isinstance(literal, Comparison) and literal.op == "=":
                for one, other in ((literal.left, literal.right), (literal.right, literal.left)):
                    if isinstance(one, Var) and " " in one.name and one.name not in names:
                        names[one.name] = _term(other, names)

    learn(body)
    return names


def _literal(literal: Literal, names: Names) -> str:
    match literal:
        case Atom():
            return _atom(literal, names)
        case Negation(atom):
            return "!" + _atom(atom, names)
        case Comparison(op, left, right):
            if op.endswith(("match", "contains")):
                word = op.removeprefix("not ")
                return "!" * op.startswith("not ") + f"{word}({_term(left, names)}, {_term(right, names)})"
            return f"{_term(left, names)} {op} {_term(right, names)}"
        case Aggregate():
            return f"{_term(literal.result, names)} = {_aggregate(literal, names)}"


def _aggregate(aggregate: Aggregate, names: Names) -> str:
    target = "" if aggregate.target is None else f" {_term(aggregate.target, names)}"
    return f"{aggregate.op}{target} : {{ {', '.join(_literal(part, names) for part in aggregate.body)} }}"


def _atom(atom: Atom, names: Names) -> str:
    return f"{atom.relation}({', '.join(_term(arg, names) for arg in atom.args)})"


def _term(term: Term, names: Names, inside: bool = False) -> str:
    match term:
        case Var(name):
            return "_" if term.anonymous else names.get(name) or name.partition(" ")[0]
        case Const(value, kind):
            if kind == "symbol":
                return symbol_text(str(value))
            return "nil" if value is None else str(value)
        case Record(_, fields):
            return "[" + ", ".join(_term(part, names) for part in fields) + "]"
        case Call(functor, args):
            name = FUNCTORS[functor]
            if functor in INFIX and len(args) == 2:
                text = f"{_term(args[0], names, True)} {name} {_term(args[1], names, True)}"
                return f"({text})" if inside else text
            if functor == "neg":
                return "-" + _term(args[0], names, True)
            return f"{name}({', '.join(_term(arg, names) for arg in args)})"
