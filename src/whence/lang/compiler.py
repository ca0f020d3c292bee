"""From a text to a `Program`: the stages of the language, one after the other, each on what it can make sense of."""

from __future__ import annotations

from collections.abc import Callable

from whence.lang import program as core
from whence.lang import syntax
from whence.lang.aggregates import with_outer, with_witnesses
from whence.lang.clauses import FlatBody, disjuncts
from whence.lang.cursor import DEPTH_HINT
from whence.lang.declarations import Declarations, declare, directives
from whence.lang.diagnostics import Diagnostic, ProgramError, Report, Source
from whence.lang.ground import check_grounded
from whence.lang.inference import Inference
from whence.lang.lint import lint
from whence.lang.lower import Lowering
from whence.lang.names import NameCheck
from whence.lang.not_yet import OTHER_TEXT
from whence.lang.numerals import NUMBER_RANGE, UNSIGNED_RANGE
from whence.lang.parser import parse, parse_one_atom
from whence.lang.scopes import resolve
from whence.lang.strata import Edge, edges_of, stratify
from whence.lang.types import TypeEnvironment

Warn = Callable[[Diagnostic], None]


def compile_source(source: Source, warn: Warn | None) -> core.Program:
    report = Report(source)
    program = _compile(report)
    if program is None or report.failed:
        assert report.failed, "a program was refused without a reason"
        raise ProgramError(report.errors())
    if warn is not None:
        for warning in report.sorted_warnings():
            warn(warning)
    return program


def _compile(report: Report) -> core.Program | None:
    parsed = parse(report)
    if report.not_yet & OTHER_TEXT:
        return None
    declarations = declare(parsed, report)
    found_directives = directives(parsed, declarations, report)
    compiler = ClauseCompiler(declarations, report)
    for clause in parsed.clauses:
        try:
            compiler.clause(clause)
        except RecursionError:
            report.error(clause.start, clause.end, "this clause is nested too deeply", DEPTH_HINT)
    strata = stratify(declarations.relations, compiler.rules, compiler.edges, report)
    if report.failed:
        return None
    program = core.Program(
        types=dict(declarations.types.types),
        relations=declarations.relations,
        rules=tuple(compiler.rules),
        facts=tuple(compiler.facts),
        strata=strata,
        directives=found_directives,
        text=report.source.text,
        file=report.source.file,
    )
    lint(parsed, program, report)
    return program


class ClauseCompiler:
    """Turns clauses into the rules, the facts and the edges between relations that they stand for."""

    def __init__(self, declarations: Declarations, report: Report) -> None:
        self.declarations = declarations
        self.report = report
        self.names = NameCheck(declarations, report)
        self.rules: list[core.Rule] = []
        self.facts: list[core.Fact] = []
        self.edges: list[Edge] = []

    def clause(self, clause: syntax.Clause) -> None:
        if clause.body is None and self.simple_fact(clause.heads[0]):
            return
        if not self.names.clause(clause):
            return
        if clause.body is None:
            self.fact(clause)
            return
        self.rule(clause, disjuncts(clause.body, self.report))

    def simple_fact(self, head: syntax.Atom) -> bool:
        """Takes the way of the many: a fact of plain literals that fit their columns. Anything else is left alone."""
        relation = self.declarations.relations.get(head.name)
        if relation is None or len(relation.columns) != len(head.args):
            return False
        args: list[core.Term] = []
        for argument, column in zip(head.args, relation.columns, strict=True):
            constant = _plain_constant(argument, column.kind)
            if constant is None:
                return False
            args.append(constant)
        self.facts.append(core.Fact(core.Atom(head.name, tuple(args)), self.report.source.span(head.start, head.end)))
        return True

    def fact(self, clause: syntax.Clause) -> None:
        head = clause.heads[0]
        if self.names.bodies:
            self.rule(clause, [()])
            return
        open_arguments = [
            node for node in syntax.walk(head.args) if isinstance(node, syntax.Variable | syntax.Anonymous)
        ]
        for node in open_arguments:
            text, hint = "_", "a fact holds constants only"
            if isinstance(node, syntax.Variable):
                text = node.name
                hint += f': write "{text}" for a string, or give the clause a body with `:-`'
            message = f"a fact with a variable: `{text}`"
            self.report.error(node.start, node.end, message, hint)
        if open_arguments:
            return
        lowered = self.lowered(head, ())
        if lowered is not None:
            self.facts.append(core.Fact(lowered[0], self.report.source.span(head.start, head.end)))

    def lowered(
        self, head: syntax.Atom, body: FlatBody
    ) -> tuple[core.Atom, tuple[core.Literal, ...], list[tuple[int, int]]] | None:
        """The core head and body, and where the first literals of the body were written; the others were added."""
        bodies = self.names.bodies
        scopes = resolve(head, body, bodies)
        typed = Inference(self.declarations.types, self.declarations.relations, bodies, scopes, self.report)
        if not typed.run(head, body):
            return None
        lowering = Lowering(typed, scopes, bodies, self.report)
        core_head, literals = lowering.rule(head, body)
        if not lowering.sound:
            return None
        core_body = with_witnesses(core_head, with_outer(core_head, literals))
        if not check_grounded(core_head, core_body, scopes, self.report):
            return None
        return core_head, core_body, lowering.written

    def rule(self, clause: syntax.Clause, bodies: list[FlatBody]) -> None:
        """Adds a core rule for each head and each body that a clause stands for."""
        source = self.report.source
        origin, text = source.span(clause.start, clause.end), source.text[clause.start : clause.end]
        for head in clause.heads:
            for body in bodies:
                self.edges += edges_of(head, body, self.names.bodies)
                lowered = self.lowered(head, body)
                if lowered is not None:
                    core_head, core_body, written = lowered
                    plan = self.plan(clause.plan, body, core_body)
                    places = [(start - clause.start, end - clause.start) for start, end in written]
                    unwritten = [None] * (len(core_body) - len(places))
                    self.rules.append(core.Rule(core_head, core_body, origin, text, plan, (*places, *unwritten)))

    def plan(
        self, plan: syntax.Plan | None, written: FlatBody, lowered: tuple[core.Literal, ...]
    ) -> dict[int, tuple[int, ...]]:
        """The orders of a `.plan` for the atoms as they are written, followed by those that stand for witnesses."""
        if plan is None:
            return {}
        atoms = sum(isinstance(literal, syntax.Atom) for literal in written)
        for _, order in plan.orders:
            if sorted(order) != list(range(1, atoms + 1)):
                wanted = ",".join(str(number) for number in range(1, atoms + 1))
                message = f"a plan orders all atoms of the body, here {atoms}"
                self.report.error(plan.start, plan.end, message, f"use each of ({wanted}) once")
        in_all = sum(isinstance(literal, core.Atom) for literal in lowered)
        rest = tuple(range(atoms + 1, in_all + 1))
        return {version: order + rest for version, order in plan.orders}


def _plain_constant(argument: syntax.Argument, kind: core.Kind) -> core.Const | None:
    if type(argument) is syntax.String:
        return core.Const(argument.value, "symbol") if kind == "symbol" else None
    if type(argument) is not syntax.Number or argument.kind not in (None, kind):
        return None
    value = argument.value
    if kind == "number":
        return core.Const(value, kind) if NUMBER_RANGE[0] <= value <= NUMBER_RANGE[1] else None
    if kind == "float":
        return core.Const(float(value), kind)
    if kind == "unsigned":
        return core.Const(value, kind) if 0 <= value <= UNSIGNED_RANGE[1] else None
    return None


def compile_atom(text: str, program: core.Program) -> core.Atom:
    """One atom against a compiled program; variables and `_` may stand anywhere in it."""
    report = Report(Source(text, "<query>"))
    atom = parse_one_atom(report)
    if atom is not None:
        # Subtypes do not matter here: a query may ask for anything of the right kind.
        types = TypeEnvironment(program.types)
        declarations = Declarations(types, dict(program.relations), frozenset())
        names = NameCheck(declarations, report)
        clause = syntax.Clause((atom,), None, None, atom.start, atom.end)
        if names.clause(clause) and not names.bodies:
            scopes = resolve(atom, (), names.bodies)
            typed = Inference(types, program.relations, names.bodies, scopes, report)
            if typed.run(atom, ()):
                lowering = Lowering(typed, scopes, names.bodies, report)
                args = tuple(lowering.term(argument, [], split=False) for argument in atom.args)
                if lowering.sound:
                    return core.Atom(atom.name, args)
        elif names.bodies:
            report.error(atom.start, atom.end, "a query cannot hold an aggregate")
    raise ProgramError(report.errors())
