"""Queries: a body such as `path(1, X), X > 3` against a compiled program, as rules of a relation that is the answer.

Of a single atom the answer is the tuples that match it, under the names of its relation's columns; of any other body,
the values of its variables, in the order they are first named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from whence.lang import program as core
from whence.lang import syntax
from whence.lang.clauses import disjuncts
from whence.lang.compiler import ClauseCompiler
from whence.lang.cursor import DEPTH_HINT, SyntaxStop
from whence.lang.declarations import Declarations
from whence.lang.diagnostics import ProgramError, Report, Source
from whence.lang.parser import Parser
from whence.lang.scopes import arguments_of
from whence.lang.tokens import tokenize
from whence.lang.types import TypeEnvironment

ANSWER = "the answer"  # a name that no relation of a program has


@dataclass(frozen=True)
class Query:
    """`rules` derive `answer`. `pattern` is set if the query is an atom of constants and variables, all of it."""

    answer: core.Relation
    rules: tuple[core.Rule, ...]
    pattern: core.Atom | None

    def atoms(self) -> Iterator[core.Atom]:
        """Every atom that is read, negated and aggregated ones included."""
        for rule in self.rules:
            yield from _atoms(rule.body)


def compile_query(text: str, program: core.Program) -> Query:
    report = Report(Source(text, "<query>"))
    body = _parsed(report)
    query = None if body is None or report.failed else _compiled(body, program, report)
    if query is None or report.failed:
        raise ProgramError(report.errors())
    return query


def _parsed(report: Report) -> syntax.Body | None:
    parser = Parser(report, tokenize(report))
    try:
        body = parser.disjunction()
        parser.accept(".")
        if parser.kind != "end":
            parser.fail("expected the end of the query", parser.usual_mistake() or parser.missing_comma())
        return body
    except SyntaxStop:
        return None
    except RecursionError:
        report.error(parser.here(), parser.here() + 1, "this is nested too deeply", DEPTH_HINT)
        return None


def _compiled(body: syntax.Body, program: core.Program, report: Report) -> Query | None:
    declarations = Declarations(TypeEnvironment(program.types), dict(program.relations), frozenset())
    nothing = core.Relation(ANSWER, (), report.source.span(body.start, body.end))
    compiler = ClauseCompiler(declarations._replace(relations={**program.relations, ANSWER: nothing}), report)
    head = syntax.Atom(ANSWER, (), body.start, body.start, body.start)
    compiler.clause(syntax.Clause((head,), body, None, body.start, body.end))
    if report.failed or not compiler.rules:
        return None
    if isinstance(body, syntax.Atom):
        return _of_one_atom(compiler.rules[0], program.relations[body.name])
    names = list(
        dict.fromkeys(node.name for flat in disjuncts(body, report) for node in _variables(arguments_of(flat)))
    )
    rules, columns = [], []
    for name in names:
        column = next((c for rule in compiler.rules if (c := _column(name, rule, program))), None)
        if column is None or not all(_column(name, rule, program) for rule in compiler.rules):
            message = f"`{name}` has no value in every part of this query"
            report.error(
                body.start, body.end, message, "bind it in each alternative, or write `_` where it is not needed"
            )
            return None
        columns.append(column)
    for rule in compiler.rules:
        args = tuple(core.Var(column.name, column.kind) for column in columns)
        rules.append(replace(rule, head=core.Atom(ANSWER, args)))
    return Query(core.Relation(ANSWER, tuple(columns), nothing.origin), tuple(rules), None)


def _of_one_atom(rule: core.Rule, relation: core.Relation) -> Query:
    """The whole tuple is asked for, so that a `_` needs a name here."""
    atom, *others = rule.body
    assert isinstance(atom, core.Atom)
    args = tuple(
        core.Var(f"v _{i}", arg.kind) if isinstance(arg, core.Var) and arg.anonymous else arg
        for i, arg in enumerate(atom.args)
    )
    named = core.Atom(atom.relation, args)
    answer = core.Relation(ANSWER, relation.columns, relation.origin)
    body = (named, *others)
    return Query(answer, (replace(rule, head=core.Atom(ANSWER, args), body=body),), named if not others else None)


def _variables(nodes: Iterable[syntax.Node]) -> Iterator[syntax.Variable]:
    """The variables outside aggregates, in the order of the text."""
    for node in nodes:
        if isinstance(node, syntax.Variable):
            yield node
        elif not isinstance(node, syntax.Aggregate):
            yield from _variables(syntax.parts(node))


def _column(name: str, rule: core.Rule, program: core.Program) -> core.Column | None:
    """What a variable of a rule holds: its kind and, if that is a record, of which type."""
    kind = next((v.kind for literal in rule.body for v in core.variables(literal) if v.name == name), None)
    if kind is None:
        return None
    if kind != "record":
        return core.Column(name, kind, kind)
    type_name = next((found for literal in rule.body if (found := _type(name, literal, program))), None)
    return None if type_name is None else core.Column(name, type_name, kind)


def _type(name: str, node: core.Literal | core.Term, program: core.Program) -> str | None:
    """The type of a variable that holds records, from where it stands in an atom or a record."""
    parts: Iterable[tuple[core.Term, str]]
    match node:
        case core.Atom():
            columns = program.relations[node.relation].columns
            parts = ((term, column.type) for term, column in zip(node.args, columns, strict=True))
        case core.Record():
            fields = program.types[node.type].fields or ()
            parts = ((term, type_name) for term, (_, type_name) in zip(node.fields, fields, strict=True))
        case core.Comparison(left=core.Var(name=found), right=core.Record(type=type_name)) if found == name:
            return type_name
        case core.Comparison():
            return _type(name, node.left, program) or _type(name, node.right, program)
        case _:
            return None
    for term, type_name in parts:
        if isinstance(term, core.Var) and term.name == name:
            return type_name
        inside = _type(name, term, program)
        if inside is not None:
            return inside
    return None


def _atoms(body: Iterable[core.Literal]) -> Iterator[core.Atom]:
    for literal in body:
        match literal:
            case core.Atom():
                yield literal
            case core.Negation(atom=atom):
                yield atom
            case core.Aggregate(body=inside):
                yield from _atoms(inside)
