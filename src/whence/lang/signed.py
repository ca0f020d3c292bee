"""Signed facts: `+ edge(1, 2).` and `- edge(2, 3).`, one after the other, checked against a compiled program.

They are read by the parser of programs, so whatever a fact may hold is written the same way here, and a mistake is
told with the line and a caret. As many as can be found are told in one run.
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple, NoReturn

from whence.lang import program as core
from whence.lang import syntax
from whence.lang.compiler import ClauseCompiler
from whence.lang.cursor import DEPTH_HINT, SyntaxStop
from whence.lang.declarations import Declarations
from whence.lang.diagnostics import ProgramError, Report, Source
from whence.lang.terms import TermParser
from whence.lang.tokens import tokenize
from whence.lang.types import TypeEnvironment

SIGNS = ("+", "-")
FORM = "a change is written `+ edge(1, 2).` or `- edge(1, 2).`"


class SignedFact(NamedTuple):
    """A fact that is to hold (`+`) or to hold no more (`-`). Its arguments are constants and records of them."""

    inserts: bool
    fact: core.Fact


def signed_facts(text: str, file: str, program: core.Program, changeable: Set[str]) -> list[SignedFact]:
    """The signed facts of a text; `changeable` are the relations that they may be about."""
    report = Report(Source(text, file))
    parser = SignedParser(report)
    parser.all()
    declarations = Declarations(TypeEnvironment(program.types), dict(program.relations), frozenset())
    compiler = ClauseCompiler(declarations, report)
    signs = []
    for inserts, atom in parser.found:
        if not _refused(atom, program, changeable, report):
            before = len(compiler.facts)
            compiler.clause(syntax.Clause((atom,), None, None, atom.start, atom.end))
            signs += [inserts] * (len(compiler.facts) - before)
    if report.failed:
        raise ProgramError(report.errors())
    return list(map(SignedFact, signs, compiler.facts))


class SignedParser(TermParser):
    def __init__(self, report: Report) -> None:
        super().__init__(report, tokenize(report))
        self.found: list[tuple[bool, syntax.Atom]] = []

    def all(self) -> None:
        while self.kind != "end":
            start = self.position
            self.depth = 0
            try:
                self.one()
            except SyntaxStop:
                self.recover(start)
            except RecursionError:
                self.report.error(self.here(), self.tokens.end(self.position), "this is nested too deeply", DEPTH_HINT)
                self.recover(start)

    def one(self) -> None:
        start = self.here()
        if self.kind == "bad":
            raise SyntaxStop
        if self.kind not in SIGNS:
            found = self.texts[self.position].split("\n", 1)[0][:40]
            self.refuse(start, self.tokens.end(self.position), f"expected `+` or `-`, found `{found}`", FORM)
        inserts = self.take() == "+"
        atom = self.atom()
        if self.kind == ":-":
            self.refuse_rule(start, inserts)
        self.expect(".", "at the end of the change", self.usual_mistake() or FORM)
        self.found.append((inserts, atom))

    def refuse_rule(self, start: int, inserts: bool) -> NoReturn:
        end = self.behind()
        done = "adding" if inserts else "removing"
        hint = "change the program's text and run it again: `whence run PROGRAM.dl --state …`"
        self.refuse(start, end, f"{done} a rule by a change is not supported yet", hint)

    def recover(self, start: int) -> None:
        """Behind the `.` that ends the change, or to the next line that begins with a sign."""
        position = max(self.position, start)
        if position == start:
            position += 1
        kinds, text = self.kinds, self.report.source.text
        while kinds[position] != "end":
            if kinds[position - 1] == "." and (kinds[position] in SIGNS or kinds[position - 2] == ")"):
                break
            if kinds[position] in SIGNS and "\n" in text[self.tokens.end(position - 1) : self.starts[position]]:
                break
            position += 1
        self.position = position


def _refused(atom: syntax.Atom, program: core.Program, changeable: Set[str], report: Report) -> bool:
    """Whether a change cannot be about this; the reason is reported. What is no relation at all is told later."""
    if atom.name in program.relations and atom.name not in changeable:
        message = f"`{atom.name}` is derived by rules, so it cannot be changed itself"
        report.error(atom.start, atom.name_end, message, "change the relations it is derived from, or give it `.input`")
        return True
    for node in syntax.walk(atom.args):
        if isinstance(node, syntax.Functor | syntax.Aggregate):
            message = "a change holds constants only, and this has to be computed"
            report.error(node.start, node.end, message, "write the value itself")
            return True
        if isinstance(node, syntax.Variable | syntax.Anonymous):
            text = node.name if isinstance(node, syntax.Variable) else "_"
            hint = "name the tuple in full" if text == "_" else f'write "{text}" for a string'
            report.error(node.start, node.end, f"a change with a variable: `{text}`", hint)
            return True
    return False
