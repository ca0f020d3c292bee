"""Declarations and directives: what a program has besides clauses."""

from __future__ import annotations

from typing import cast

from whence.lang import syntax
from whence.lang.diagnostics import Report, did_you_mean
from whence.lang.terms import TermParser
from whence.lang.tokens import Tokens, string_value

QUALIFIERS = frozenset(["overridable", "inline", "no_inline", "magic", "no_magic", "brie", "btree", "btree_delete"])
OLD_QUALIFIERS = frozenset(["input", "output", "printsize"])


class ItemParser(TermParser):
    """Reads declarations and directives and keeps them. `broken` are names whose declaration could not be read."""

    def __init__(self, report: Report, tokens: Tokens) -> None:
        super().__init__(report, tokens)
        self.types: list[syntax.TypeDeclaration] = []
        self.directives: list[syntax.DirectiveSyntax] = []
        self.broken: set[str] = set()

    # Relations

    def declaration(self) -> None:
        self.position += 1
        names = self.relation_names()
        if self.kind == "=":
            self.position += 1
            self.unsupported("debug_delta", self.here(), self.tokens.end(self.position))
        self.expect("(", "after the name of the relation", f"write `.decl {names[-1][0]}(column: type)`")
        attributes = self.attributes(")", "column")
        for name, start, end in names:
            self.relations.append(syntax.RelationDeclaration(name, attributes, start, end))
        while self.qualifier(names):
            pass
        if self.kind == "name" and self.kinds[self.position + 1] not in ("(", ".", ","):
            meant = did_you_mean(self.texts[self.position], QUALIFIERS | OLD_QUALIFIERS)
            self.fail("expected a qualifier of the relation", meant)
        if self.kind == ",":
            hint = "relations with the same columns are written `.decl a, b(x: number)`, others in a `.decl` each"
            self.fail("expected the end of the declaration", hint)
        self.stray_end("declaration")

    def relation_names(self) -> list[tuple[str, int, int]]:
        names: list[tuple[str, int, int]] = []
        while True:
            start = self.here()
            names.append((self.name("the name of a relation"), start, self.behind()))
            if not self.accept(","):
                return names

    def qualifier(self, names: list[tuple[str, int, int]]) -> bool:
        """Reads a qualifier of the relations `names`; whether there was one."""
        kind, start = self.kind, self.here()
        if kind in QUALIFIERS:
            self.position += 1
        elif kind in OLD_QUALIFIERS:
            self.position += 1
            hint = f"write `.{kind} {names[0][0]}` on a line of its own"
            self.report.warning(start, self.behind(), f"the qualifier `{kind}` is deprecated", hint)
            for name, name_start, name_end in names:
                self.directives.append(syntax.DirectiveSyntax(_directive_kind(kind), name, (), name_start, name_end))
        elif kind == "eqrel":
            self.position += 1
            self.not_yet("eqrel", start, self.behind())
        elif kind == "name" and self.texts[self.position : self.position + 3] == ["choice", "-", "domain"]:
            self.position += 3
            self.not_yet("choice-domain", start, self.behind())
            self.choice_keys()
        else:
            return False
        return True

    def choice_keys(self) -> None:
        while True:
            if self.accept("("):
                self.relation_names()
                self.expect(")", "after the columns")
            else:
                self.name("the name of a column")
            if not self.accept(","):
                return

    def attributes(self, close: str, what: str) -> tuple[syntax.Attribute, ...]:
        found: list[syntax.Attribute] = []
        if self.accept(close):
            return ()
        while True:
            start = self.here()
            name = self.name(f"the name of a {what}")
            self.expect(":", f"after the {what} `{name}`", f"write `{name}: type`, such as `{name}: number`")
            type_start = self.here()
            type_name = self.qualified_name(f"the type of the {what} `{name}`")
            end = self.behind()
            if self.kind == "<" and self.kinds[self.position + 1] == ">":
                self.unsupported("lattice", self.here(), self.here() + 2)
            found.append(syntax.Attribute(name, type_name, start, end, type_start, end))
            if not self.accept(","):
                break
        self.expect(close, f"after the {what} `{name}`", f"{what}s are separated by `,`")
        return tuple(found)

    # Types

    def type_declaration(self) -> None:
        start = self.here()
        word = self.take()
        name_start = self.here()
        name = self.name("the name of a type")
        name_end = self.behind()

        def declare(
            form: syntax.TypeForm, parts: tuple[syntax.TypeName, ...], fields: tuple[syntax.Attribute, ...] = ()
        ) -> None:
            self.types.append(syntax.TypeDeclaration(name, form, parts, fields, name_start, name_end))

        if word != ".type" or self.kind not in ("<:", "="):
            base = "number" if word == ".number_type" else "symbol"
            hint = f"write `.type {name} <: {base}`"
            self.report.warning(start, name_end, f"this way to declare the type `{name}` is deprecated", hint)
            declare("<:", (syntax.TypeName(base, name_start, name_end),))
        elif self.accept("<:"):
            declare("<:", (self.type_name(),))
        else:
            self.position += 1
            if self.kind == "name" and self.kinds[self.position + 1] == "{":
                self.broken.add(name)
                self.algebraic_type(name_start, name_end)
            elif self.accept("["):
                declare("[]", (), self.attributes("]", "field"))
            else:
                parts = [self.type_name()]
                while self.accept("|"):
                    parts.append(self.type_name())
                declare("|" if len(parts) > 1 else "=", tuple(parts))
        self.stray_end("declaration")

    def type_name(self) -> syntax.TypeName:
        start = self.here()
        return syntax.TypeName(self.qualified_name("the name of a type"), start, self.behind())

    def algebraic_type(self, start: int, end: int) -> None:
        self.not_yet("algebraic types", start, end)
        while True:
            branch = self.name("the name of a branch")
            self.expect("{", f"after the branch `{branch}`")
            self.attributes("}", "field")
            if not self.accept("|"):
                return

    # Directives

    def directive(self) -> None:
        kind = _directive_kind(self.take()[1:])
        targets: list[tuple[str, int, int]] = []
        while True:
            start = self.here()
            targets.append((self.qualified_name("the name of a relation"), start, self.behind()))
            if not self.accept(","):
                break
        parameters: tuple[syntax.Parameter, ...] = ()
        if self.accept("("):
            parameters = self.parameters()
        for name, start, end in targets:
            self.directives.append(syntax.DirectiveSyntax(kind, name, parameters, start, end))
        self.stray_end("directive")

    def parameters(self) -> tuple[syntax.Parameter, ...]:
        found: list[syntax.Parameter] = []
        if self.accept(")"):
            return ()
        while True:
            key_start = self.here()
            key = self.name("the name of a parameter")
            self.expect("=", f"after the parameter `{key}`", f'write `{key}="value"`')
            start, kind = self.here(), self.kind
            if kind == "string":
                value = string_value(self.report, start, self.take())
            elif kind in ("name", "number", "true", "false"):
                value = self.take()
            else:
                self.fail(f"expected the value of the parameter `{key}`", f'write `{key}="value"`')
            found.append(syntax.Parameter(key, value, key_start, start, self.behind()))
            if not self.accept(","):
                break
        self.expect(")", f"after the parameter `{key}`", "parameters are separated by `,`")
        return tuple(found)

    def pragma(self) -> None:
        start = self.here()
        self.position += 1
        for _ in range(2):
            self.accept("string")
        self.report.warning(start, self.behind(), "`.pragma` has no effect", "remove it")

    # The end of an item

    def stray_end(self, what: str) -> None:
        """Declarations and directives have no `.` at their end; people write one."""
        following = self.position + 1
        if self.kind != "." or not self.starts_item(following):
            return
        # `.name` without a gap is a directive that does not exist.
        if self.kinds[following] != "name" or self.starts[following] > self.here() + 1:
            self.report.error(self.here(), self.here() + 1, "unexpected `.`", f"a {what} has no `.` at its end")
            self.position += 1

    def starts_item(self, position: int) -> bool:
        kind = self.kinds[position]
        return kind in ("name", "end") or (len(kind) > 1 and kind[0] == ".")


def _directive_kind(word: str) -> syntax.DirectiveKind:
    return cast("syntax.DirectiveKind", word)
