"""Relations and directives: what a program declares, checked, ready for looking names up."""

from __future__ import annotations

import re
from typing import NamedTuple

from whence.lang import syntax
from whence.lang.diagnostics import Report, did_you_mean
from whence.lang.program import Column, Directive, Relation
from whence.lang.types import TypeEnvironment, declare_types, unknown_type

PARAMETERS = (
    *("IO", "filename", "name", "delimiter", "headers", "columns", "rfc4180", "compress", "n"),
    *("table", "url", "dbtable", "user", "password", "password_env", "driver"),
)
STORED = ("parquet", "jsonlines", "jdbc", "table")
STREAMS = {
    "input": ("file", "stdin", *STORED),
    "output": ("file", "stdout", "stdoutprintsize", *STORED),
    "printsize": ("stdout",),
}
NEEDED = {"jdbc": ("url", "dbtable"), "table": ("table",)}
LATER_STREAMS = ("sqlite", "json", "jsonfile", "stdoutjson", "jsonstdout")
_COLUMNS = re.compile(r"[0-9]{1,9}(:[0-9]{1,9})*")


class Declarations(NamedTuple):
    """`broken` are relations, or components, whose declaration has an error: nothing more is said about their uses."""

    types: TypeEnvironment
    relations: dict[str, Relation]
    broken: frozenset[str]


def declare(parsed: syntax.Syntax, report: Report) -> Declarations:
    types = declare_types(parsed.types, parsed.broken, report)
    relations: dict[str, Relation] = {}
    first: dict[str, syntax.RelationDeclaration] = {}
    broken = set(parsed.broken)
    known_types = {declaration.name for declaration in parsed.types}
    for declaration in parsed.relations:
        name = declaration.name
        if name in first:
            note = report.note(first[name].start, first[name].end, f"`{name}` is first declared here")
            message = f"the relation `{name}` is declared twice"
            report.error(declaration.start, declaration.end, message, "remove one of them", (note,))
            continue
        first[name] = declaration
        columns = _columns(declaration, types, known_types | parsed.broken, report)
        if columns is None:
            broken.add(name)
        else:
            relations[name] = Relation(name, columns, report.source.span(declaration.start, declaration.end))
    return Declarations(types, relations, frozenset(broken - relations.keys()))


def _columns(
    declaration: syntax.RelationDeclaration, types: TypeEnvironment, declared: set[str] | frozenset[str], report: Report
) -> tuple[Column, ...] | None:
    columns: list[Column] = []
    sound = True
    seen: dict[str, syntax.Attribute] = {}
    for attribute in declaration.attributes:
        if attribute.name in seen:
            other = seen[attribute.name]
            note = report.note(other.start, other.end, "the first is here")
            message = f"the relation `{declaration.name}` has two columns called `{attribute.name}`"
            report.error(attribute.start, attribute.start + len(attribute.name), message, "rename one of them", (note,))
        seen[attribute.name] = attribute
        if attribute.type in types.types:
            columns.append(Column(attribute.name, attribute.type, types.kind(attribute.type)))
        else:
            sound = False
            if attribute.type.split(".")[0] not in declared:
                unknown_type(
                    report, attribute.type, attribute.type_start, attribute.type_end, [*types.types, *declared]
                )
    return tuple(columns) if sound else None


def unknown_relation(report: Report, declarations: Declarations, name: str, start: int, end: int) -> None:
    if name.split(".")[0] in declarations.broken:
        return
    hint = None if report.full else did_you_mean(name, declarations.relations, f"declare it: `.decl {name}(…)`")
    report.error(start, end, f"unknown relation `{name}`", hint)


# Directives


def directives(parsed: syntax.Syntax, declarations: Declarations, report: Report) -> tuple[Directive, ...]:
    found: list[Directive] = []
    for directive in parsed.directives:
        relation = declarations.relations.get(directive.relation)
        if relation is None:
            unknown_relation(report, declarations, directive.relation, directive.start, directive.end)
            continue
        for parameter in directive.parameters:
            _check_parameter(directive, parameter, relation, report)
        values = {parameter.key: parameter.value for parameter in directive.parameters}
        if directive.kind == "limitsize" and "n" not in values:
            hint = f"write `.limitsize {directive.relation}(n=1000)`"
            report.error(directive.start, directive.end, "`.limitsize` needs the parameter `n`", hint)
        for needed in NEEDED.get(values.get("IO", ""), ()):
            if not values.get(needed):
                hint = f'add `{needed}="…"`'
                report.error(
                    directive.start, directive.end, f"`IO={values['IO']}` needs the parameter `{needed}`", hint
                )
        span = report.source.span(directive.start, directive.end)
        found.append(Directive(directive.kind, directive.relation, values, span))
    return tuple(found)


def _check_parameter(
    directive: syntax.DirectiveSyntax, parameter: syntax.Parameter, relation: Relation, report: Report
) -> None:
    key, value = parameter.key, parameter.value

    def wrong(message: str, hint: str) -> None:
        report.error(parameter.start, parameter.end, message, hint)

    match key:
        case "IO":
            streams = STREAMS.get(directive.kind, ())
            if value in LATER_STREAMS:
                wrong(f"`IO={value}` is not supported yet", f"use {_either(streams)}")
            elif streams and value not in streams:
                wrong(f"`.{directive.kind}` knows no `IO={value}`", f"use {_either(streams)}")
        case "headers" | "rfc4180" | "compress":
            if value not in ("true", "false"):
                wrong(f"`{key}` is `true` or `false`, not `{value}`", f"write `{key}=true`")
            elif value == "true" and key != "headers":
                wrong(f"`{key}` is not supported yet", f"remove `{key}=true`")
        case "delimiter":
            if not value:
                wrong("the delimiter is empty", 'write `delimiter=","`')
        case "columns":
            if not _COLUMNS.fullmatch(value) and value:
                wrong("`columns` is a list of column numbers from 0", 'write `columns="0:2"`')
            elif value and len(set(value.split(":"))) < relation.arity:
                wrong(
                    f"`columns` names fewer columns than the {relation.arity} of `{relation.name}`",
                    "name a different column of the file for each column of the relation",
                )
        case "n":
            if not value.isdigit() or len(value) > 18:
                wrong(f"`n` is a number of tuples, not `{value}`", "write `n=1000`")
        case _ if key not in PARAMETERS:
            hint = did_you_mean(key, PARAMETERS, f"the parameters are {', '.join(PARAMETERS)}")
            message = f"the parameter `{key}` has no effect"
            report.warning(parameter.key_start, parameter.key_start + len(key), message, hint)


def _either(streams: tuple[str, ...]) -> str:
    return " or ".join(f"`IO={stream}`" for stream in streams)
