"""Compiled programs and diagnostics as text, so that a test can say what it expects in one line.

Variables and constants are shown with the first letter of their kind: `x:n` is a number, `"a":s` a symbol, `nil:r` a
record.
"""

from __future__ import annotations

from textwrap import dedent

import pytest

from whence.lang import Diagnostic, Program, ProgramError, compile_text
from whence.lang.program import Aggregate, Atom, Call, Comparison, Const, Literal, Negation, Record, Term, Var


def compiled(text: str) -> Program:
    return compile_text(dedent(text), "t.dl")


def rules(text: str) -> list[str]:
    """The core rules of a program."""
    return [f"{shown(rule.head)} :- {', '.join(map(shown, rule.body))}." for rule in compiled(text).rules]


def facts(text: str) -> list[str]:
    return [shown(fact.atom) for fact in compiled(text).facts]


def strata(text: str) -> list[tuple[str, ...]]:
    return [stratum.relations for stratum in compiled(text).strata]


def shown(node: Term | Literal) -> str:
    match node:
        case Var(name, kind):
            return f"{name}:{kind[0]}"
        case Const(value, kind):
            written = "nil" if value is None else f'"{value}"' if isinstance(value, str) else repr(value)
            return f"{written}:{kind[0]}"
        case Call(functor, args, kind):
            return f"{functor}({_list(args)}):{kind[0]}"
        case Record(type_name, fields):
            return f"{type_name}[{_list(fields)}]"
        case Atom(relation, args):
            return f"{relation}({_list(args)})"
        case Negation(atom):
            return f"!{shown(atom)}"
        case Comparison(op, left, right):
            return f"{shown(left)} {op} {shown(right)}"
        case Aggregate(op, result, target, body, outer):
            over = "" if target is None else f" {shown(target)}"
            given = f" given {_list(outer)}" if outer else ""
            return f"{shown(result)} = {op}{over} : {{ {_list(body)} }}{given}"


def _list(nodes: tuple[Term, ...] | tuple[Literal, ...] | tuple[Var, ...]) -> str:
    return ", ".join(map(shown, nodes))


def refused(text: str) -> str:
    """Everything that is said about a program that does not compile."""
    with pytest.raises(ProgramError) as raised:
        compiled(text)
    return str(raised.value)


def errors(text: str) -> list[str]:
    """The errors of a program without their excerpts: line, column, message."""
    with pytest.raises(ProgramError) as raised:
        compiled(text)
    return [_brief(diagnostic) for diagnostic in raised.value.diagnostics]


def warnings(text: str) -> list[str]:
    """The warnings of a program that compiles: line, column, message."""
    found: list[Diagnostic] = []
    compile_text(dedent(text), "t.dl", warn=found.append)
    return [_brief(diagnostic) for diagnostic in found]


def _brief(diagnostic: Diagnostic) -> str:
    return f"{diagnostic.span.line}:{diagnostic.span.column} {diagnostic.message}"
