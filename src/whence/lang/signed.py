"""Signed lines: `+ edge(1, 2).`, `- edge(2, 3).`, and rules and declarations, checked against a compiled program.

They are read by the parser of programs, so whatever may stand in a program is written the same way here, and a mistake
is told with the line and a caret. As many as can be found are told in one run. A fact is a change of the input; a rule,
a declaration or a directive is one of the program's text. A declaration or a directive without a sign is added.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import NamedTuple

from whence.lang import program as core
from whence.lang import syntax
from whence.lang.compiler import ClauseCompiler
from whence.lang.cursor import DEPTH_HINT, SyntaxStop
from whence.lang.declarations import Declarations
from whence.lang.diagnostics import ProgramError, Report, Source
from whence.lang.edit import Edit, Item, ItemReader, edited
from whence.lang.types import TypeEnvironment

SIGNS = ("+", "-")
ITEMS = (".decl", ".type", ".input", ".output", ".printsize", ".limitsize")
FORM = "a change is written `+ edge(1, 2).` or `- edge(1, 2).`"


class SignedFact(NamedTuple):
    """A fact that is to hold (`+`) or to hold no more (`-`). Its arguments are constants and records of them."""

    inserts: bool
    fact: core.Fact


class SignedText(NamedTuple):
    """What a text changes: facts, and the program if that is another one then. `ignored` edits change nothing."""

    facts: list[SignedFact]
    program: core.Program | None
    ignored: int


def signed_text(
    text: str,
    file: str,
    program: core.Program,
    changeable: Callable[[core.Program], Set[str]],
    lenient: bool = False,
    sign: str = "",
) -> SignedText:
    """What a text says; `changeable` gives the relations whose facts it may be about, `sign` is what stands in front of
    what has none."""
    report = Report(Source(text, file))
    reader = SignedReader(report, sign)
    reader.all()
    after, ignored = program, 0
    if reader.edits:
        if report.failed:
            raise ProgramError(report.errors())
        found, ignored = edited(program, reader.edits, report, lenient)
        if found is None:
            raise ProgramError(report.errors())
        after = found
    facts = _facts(reader.found, after, changeable(after), report)
    if report.failed:
        raise ProgramError(report.errors())
    return SignedText(facts, None if after is program else after, ignored)


def edited_program(text: str, sign: str, program: core.Program, lenient: bool = False) -> core.Program:
    """The program with the rules and declarations of a text added (`+`) or removed (`-`)."""
    report = Report(Source(text, "<rules>"))
    reader = SignedReader(report, sign)
    reader.all()
    for inserts, atom in reader.found:
        hint = f"update the input: s.update({'insert' if inserts else 'delete'}={{{atom.name!r}: [(…)]}})"
        report.error(atom.start, atom.end, "this is a fact, and no rule", hint)
    if not reader.found and not reader.edits and not report.failed:
        report.error(0, len(text), "there is no rule here", "a rule is written `path(x, y) :- edge(x, y).`")
    found = None if report.failed else edited(program, reader.edits, report, lenient)[0]
    if found is None:
        raise ProgramError(report.errors())
    return found


def _facts(
    found: list[tuple[bool, syntax.Atom]], program: core.Program, changeable: Set[str], report: Report
) -> list[SignedFact]:
    declarations = Declarations(TypeEnvironment(program.types), dict(program.relations), frozenset())
    compiler = ClauseCompiler(declarations, report)
    signs = []
    for inserts, atom in found:
        if not _refused(atom, program, changeable, report):
            before = len(compiler.facts)
            compiler.clause(syntax.Clause((atom,), None, None, atom.start, atom.end))
            signs += [inserts] * (len(compiler.facts) - before)
    return list(map(SignedFact, signs, compiler.facts))


class SignedReader(ItemReader):
    """Reads signed items; `sign` is that of all of them where they have none of their own."""

    def __init__(self, report: Report, sign: str = "") -> None:
        super().__init__(report)
        self.sign = sign
        self.found: list[tuple[bool, syntax.Atom]] = []
        self.edits: list[Edit] = []

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
        if self.kind == ".plan" and self.plan_target:
            self.item()
            self.edits[-1] = self.edits[-1]._replace(item=self.items[-1])
            return
        self.plan_target = False
        if self.kind in SIGNS:
            inserts = self.take() == "+"
        elif self.sign or self.kind in ITEMS:
            inserts = self.sign != "-"
        else:
            found = self.texts[self.position].split("\n", 1)[0][:40]
            self.refuse(start, self.tokens.end(self.position), f"expected `+` or `-`, found `{found}`", FORM)
        if self.kind in (".decl", ".type") and not inserts and self.names_only():
            return
        if self.kind in ITEMS:
            self.item()
            self.edits.append(Edit(inserts, self.items[-1]))
            return
        self.clause_or_fact(inserts)

    def clause_or_fact(self, inserts: bool) -> None:
        position, depth = self.position, self.depth
        atom = self.atom()
        if self.kind in (":-", ",", "<="):
            self.position, self.depth = position, depth
            self.item()
            self.edits.append(Edit(inserts, self.items[-1]))
            return
        self.expect(".", "at the end of the change", self.usual_mistake() or FORM)
        self.found.append((inserts, atom))

    def names_only(self) -> bool:
        """Reads `.decl edge` without columns, or `.type T`; whether it is that."""
        what, name = self.kind, self.position + 1
        if not self.is_name(name) or self.kinds[name + 1] in ("(", ",", "<:", "="):
            return False
        node = "RelationDeclaration" if what == ".decl" else "TypeDeclaration"
        start = self.here()
        self.position += 2
        key = ((node, self.texts[name]),)
        self.edits.append(Edit(False, Item(start, self.behind(), key, what)))
        self.accept(".")
        return True

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
