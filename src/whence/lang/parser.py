"""Tokens to surface syntax: recursive descent, operators by precedence climbing, after Soufflé's grammar.

An error ends the item it is in; reading goes on behind the next `.` or at the next directive, so one run finds many.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import NoReturn, cast

from whence.lang import syntax
from whence.lang.diagnostics import Report
from whence.lang.numerals import number_value
from whence.lang.program import Aggregator, Comparator
from whence.lang.tokens import DIRECTIVES, RESERVED, Tokens, string_value, tokenize

# Deeper terms are refused: what comes after the parser walks terms recursively, and so may anyone who gets a Program.
MAX_DEPTH = 200

# Operator -> functor, precedence, whether it groups to the right. Higher binds tighter.
BINARY: dict[str, tuple[str, int, bool]] = {
    "lor": ("lor", 1, False),
    "lxor": ("lxor", 2, False),
    "land": ("land", 3, False),
    "bor": ("bor", 4, False),
    "bxor": ("bxor", 5, False),
    "band": ("band", 6, False),
    "bshl": ("bshl", 7, False),
    "bshr": ("bshr", 7, False),
    "bshru": ("bshru", 7, False),
    "+": ("add", 8, False),
    "-": ("sub", 8, False),
    "*": ("mul", 9, False),
    "/": ("div", 9, False),
    "%": ("mod", 9, False),
    "^": ("pow", 11, True),
}
PREFIX = {"-": "neg", "bnot": "bnot", "lnot": "lnot"}
PREFIX_PRECEDENCE = 10

FUNCTOR_WORDS = frozenset(["cat", "ord", "strlen", "substr", "to_float", "to_number", "to_string", "to_unsigned"])
AGGREGATORS = frozenset(["count", "sum", "min", "max", "mean"])
COMPARATORS = frozenset(["=", "!=", "<", "<=", ">", ">="])
QUALIFIERS = frozenset(["overridable", "inline", "no_inline", "magic", "no_magic", "brie", "btree", "btree_delete"])
OLD_QUALIFIERS = frozenset(["input", "output", "printsize"])
UNSUPPORTED_ITEMS = {
    ".comp": "components (`.comp`)",
    ".init": "components (`.init`)",
    ".override": "components (`.override`)",
    ".functor": "user-defined functors (`.functor`)",
    ".lattice": "lattices (`.lattice`)",
    ".include": "including files (`.include`)",
    ".once": "including files (`.once`)",
}


class SyntaxStop(Exception):
    """Ends the item being read; the reason is already reported."""


def parse(report: Report) -> syntax.Syntax:
    return Parser(report, tokenize(report)).program()


class Parser:
    """A position in the tokens and the items read so far."""

    def __init__(self, report: Report, tokens: Tokens) -> None:
        self.report = report
        self.tokens = tokens
        self.kinds = tokens.kinds
        self.texts = tokens.texts
        self.starts = tokens.starts
        self.position = 0
        self.depth = 0
        self.closing: dict[int, int] | None = None
        self.types: list[syntax.TypeDeclaration] = []
        self.relations: list[syntax.RelationDeclaration] = []
        self.clauses: list[syntax.Clause] = []
        self.directives: list[syntax.DirectiveSyntax] = []
        self.broken: set[str] = set()
        self.plan_target = False  # whether a `.plan` may follow

    # The token at hand

    @property
    def kind(self) -> str:
        return self.kinds[self.position]

    def here(self) -> int:
        return self.starts[self.position]

    def behind(self) -> int:
        """The end of the last token that was read."""
        return self.tokens.end(self.position - 1) if self.position else 0

    def take(self) -> str:
        text = self.texts[self.position]
        self.position += 1
        return text

    def accept(self, kind: str) -> bool:
        if self.kinds[self.position] == kind:
            self.position += 1
            return True
        return False

    def expect(self, kind: str, where: str, hint: str | None = None) -> None:
        if self.kinds[self.position] == kind:
            self.position += 1
        else:
            self.fail(f"expected `{kind}` {where}", hint)

    def adjacent(self) -> bool:
        """Whether the token at hand follows the last one without a gap."""
        return self.here() == self.behind()

    def name(self, what: str) -> str:
        if self.kind == "name":
            return self.take()
        word = self.texts[self.position]
        hint = f"`{word}` is a reserved word; choose another name" if word in RESERVED else None
        self.fail(f"expected {what}", hint)

    def qualified_name(self, what: str) -> str:
        name = self.name(what)
        while self.kind == "." and self.adjacent() and self.kinds[self.position + 1] == "name":
            if self.starts[self.position + 1] != self.here() + 1:
                break
            self.position += 1
            name += "." + self.take()
        return name

    # Errors

    def fail(self, message: str, hint: str | None = None) -> NoReturn:
        """Reports that something else was expected than the token at hand."""
        if self.kind == "bad":
            raise SyntaxStop
        start, end = self.here(), self.tokens.end(self.position)
        found = "the end of the text" if self.kind == "end" else f"`{_shorten(self.texts[self.position])}`"
        text = self.report.source.text
        if self.position and (self.kind == "end" or "\n" in text[self.behind() : start]):
            # What is missing is missing where the last line ended, not where the next begins.
            start = end = self.behind()
        if hint is None:
            hint = self.usual_mistake()
        self.report.error(start, end, f"{message}, found {found}", hint)
        raise SyntaxStop

    def refuse(self, start: int, end: int, message: str, hint: str | None = None) -> NoReturn:
        self.report.error(start, end, message, hint)
        raise SyntaxStop

    def unsupported(self, what: str, start: int, end: int) -> NoReturn:
        verb = "is" if what.startswith("`") else "are"
        self.refuse(start, end, f"{what} {verb} not supported yet")

    def usual_mistake(self) -> str | None:
        """A hint for what people from other languages write."""
        kind, last = self.kind, self.position - 1
        before = self.kinds[last] if last >= 0 else ""
        pair = self.texts[last] + self.texts[self.position] if last >= 0 else ""
        if before == "string" and "\n" in self.texts[last]:
            line = self.report.source.span(self.starts[last], self.starts[last]).line
            return f'the string that begins on line {line} runs over several lines: is a `"` missing?'
        if pair in ("==", ":=") and self.adjacent():
            return "equality is written `=`, a rule `head :- body.`"
        if pair == "<>" and self.adjacent():
            return "inequality is written `!=`"
        if pair == "<-" and self.adjacent():
            return "a rule is written `head :- body.`"
        if before == "name" and self.texts[last] in ("not", "NOT") and kind in ("name", "("):
            return "negation is written `!`"
        if kind == "name" and self.texts[self.position] in ("and", "AND", "or", "OR"):
            return "conjunction is written `,` and disjunction `;`"
        if kind == "." and before == "name":
            return f"a relation without columns is written `{self.texts[last]}()`"
        return None

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.refuse(self.here(), self.tokens.end(self.position), "this is nested too deeply", _depth_hint())

    # Items

    def program(self) -> syntax.Syntax:
        kinds = self.kinds
        while kinds[self.position] != "end":
            start = self.position
            self.depth = 0
            try:
                self.item()
            except SyntaxStop:
                self.recover(start)
            except RecursionError:
                self.report.error(
                    self.here(), self.tokens.end(self.position), "this is nested too deeply", _depth_hint()
                )
                self.recover(start)
        return syntax.Syntax(
            tuple(self.types),
            tuple(self.relations),
            tuple(self.clauses),
            tuple(self.directives),
            frozenset(self.broken),
        )

    def recover(self, start: int) -> None:
        """Goes to the next place where an item may begin."""
        self.plan_target = False
        position = max(self.position, start)
        kinds = self.kinds
        first = kinds[start]
        if first in (".decl", ".type", ".symbol_type", ".number_type"):
            self.broken.update(self.texts[index] for index in range(start + 1, position + 1) if kinds[index] == "name")
        if first == ".comp":
            position = self.behind_block(position)
        if position == start:
            position += 1
        # A directive has no `.` at its end, so the first `.` behind it may end a later clause; a line is a safer end.
        text = self.report.source.text
        while kinds[position] != "end":
            kind = kinds[position]
            if kind == ".":
                position += 1
                break
            if len(kind) > 1 and kind[0] == ".":
                break
            if first[0] == "." and "\n" in text[self.tokens.end(position - 1) : self.starts[position]]:
                break
            position += 1
        self.position = position

    def behind_block(self, position: int) -> int:
        """The position behind a component's braces, so that its inside is not read as if it stood outside."""
        depth = 0
        kinds = self.kinds
        while kinds[position] != "end":
            if kinds[position] == "{":
                depth += 1
            elif kinds[position] == "}":
                depth -= 1
                if depth <= 0:
                    return position + 1
            position += 1
        return position

    def item(self) -> None:
        kind = self.kinds[self.position]
        if kind == "name":
            self.clause()
            return
        if kind == ".plan":
            self.plan()
            return
        self.plan_target = False
        match kind:
            case ".decl":
                self.declaration()
            case ".type" | ".symbol_type" | ".number_type":
                self.type_declaration()
            case ".input" | ".output" | ".printsize" | ".limitsize":
                self.directive()
            case ".pragma":
                self.pragma()
            case "bad":
                raise SyntaxStop
            case ".":
                self.stray_dot()
            case _:
                if kind in UNSUPPORTED_ITEMS:
                    self.unsupported(UNSUPPORTED_ITEMS[kind], self.here(), self.tokens.end(self.position))
                self.fail("expected a fact, a rule or a directive", self.hint_for_item(kind))

    def hint_for_item(self, kind: str) -> str | None:
        if kind in RESERVED:
            return f"`{kind}` is a reserved word; choose another name"
        if kind == ":-":
            return "a rule needs a head in front of `:-`"
        return None

    def stray_dot(self) -> NoReturn:
        start = self.here()
        self.position += 1
        if self.kind in ("name", *RESERVED) and self.adjacent():
            word = self.take()
            near = get_close_matches(word, DIRECTIVES, 1)
            hint = f"did you mean `.{near[0]}`?" if near else None
            self.refuse(start, self.behind(), f"unknown directive `.{word}`", hint)
        self.refuse(start, start + 1, "unexpected `.`", "remove it")

    def pragma(self) -> None:
        start = self.here()
        self.position += 1
        for _ in range(2):
            self.accept("string")
        self.report.warning(start, self.behind(), "`.pragma` has no effect")

    # Declarations

    def declaration(self) -> None:
        self.position += 1
        names: list[tuple[str, int, int]] = []
        while True:
            start = self.here()
            names.append((self.name("the name of a relation"), start, self.behind()))
            if not self.accept(","):
                break
        if self.kind == "=":
            self.unsupported("`debug_delta`", self.here(), self.behind())
        self.expect("(", "after the name of the relation", f"write `.decl {names[-1][0]}(column: type)`")
        attributes = self.attributes(")", "column")
        for name, start, end in names:
            self.relations.append(syntax.RelationDeclaration(name, attributes, start, end))
        while True:
            kind, start = self.kind, self.here()
            if kind in QUALIFIERS:
                self.position += 1
            elif kind in OLD_QUALIFIERS:
                self.position += 1
                hint = f"write `.{kind} {names[0][0]}` on a line of its own"
                self.report.warning(start, self.behind(), f"the qualifier `{kind}` is deprecated", hint)
                for name, name_start, name_end in names:
                    self.directives.append(
                        syntax.DirectiveSyntax(_directive_kind(kind), name, (), name_start, name_end)
                    )
            elif kind == "eqrel":
                self.unsupported("equivalence relations (`eqrel`)", start, self.tokens.end(self.position))
            elif kind == "name" and self.texts[self.position : self.position + 3] == ["choice", "-", "domain"]:
                self.unsupported("choice domains (`choice-domain`)", start, self.tokens.end(self.position + 2))
            else:
                break
        if self.kind == "name" and self.kinds[self.position + 1] not in ("(", ".", ","):
            near = get_close_matches(self.texts[self.position], QUALIFIERS | OLD_QUALIFIERS, 1)
            self.fail("expected a qualifier of the relation", f"did you mean `{near[0]}`?" if near else None)
        if self.kind == ",":
            message = "relations with the same columns are written `.decl a, b(x: number)`, others in a `.decl` each"
            self.fail("expected the end of the declaration", message)
        self.stray_end("declaration")

    def stray_end(self, what: str) -> None:
        """Declarations and directives have no `.` at their end; people write one."""
        if self.kind == "." and self.starts_item(self.position + 1):
            self.report.error(self.here(), self.here() + 1, "unexpected `.`", f"a {what} has no `.` at its end")
            self.position += 1

    def starts_item(self, position: int) -> bool:
        kind = self.kinds[position]
        return kind in ("name", "end") or (len(kind) > 1 and kind[0] == ".")

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
                self.unsupported("lattices (`<>`)", self.here(), self.here() + 2)
            found.append(syntax.Attribute(name, type_name, start, end, type_start, end))
            if not self.accept(","):
                break
        self.expect(close, f"after the {what} `{name}`", f"{what}s are separated by `,`")
        return tuple(found)

    def type_declaration(self) -> None:
        start = self.here()
        word = self.take()
        name_start = self.here()
        name = self.name("the name of a type")
        name_end = self.behind()

        def declare(form: str, parts: tuple[syntax.TypeName, ...], fields: tuple[syntax.Attribute, ...] = ()) -> None:
            self.types.append(
                syntax.TypeDeclaration(name, cast("syntax.TypeForm", form), parts, fields, name_start, name_end)
            )

        if word != ".type" or self.kind not in ("<:", "="):
            base = "number" if word == ".number_type" else "symbol"
            hint = f"write `.type {name} <: {base}`"
            self.report.warning(start, name_end, f"this way to declare the type `{name}` is deprecated", hint)
            declare("<:", (syntax.TypeName(base, name_start, name_end),))
        elif self.accept("<:"):
            declare("<:", (self.type_name(),))
        else:
            self.position += 1
            if self.accept("["):
                declare("[]", (), self.attributes("]", "field"))
            else:
                parts = [self.type_name()]
                while self.accept("|"):
                    parts.append(self.type_name())
                declare("|" if len(parts) > 1 else "=", tuple(parts))
        self.stray_end("declaration")

    def type_name(self) -> syntax.TypeName:
        start = self.here()
        name = self.qualified_name("the name of a type")
        if self.kind == "{":
            self.unsupported("algebraic data types", start, self.here() + 1)
        return syntax.TypeName(name, start, self.behind())

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
            self.expect("=", f"after the parameter `{key}`")
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

    # Clauses

    def clause(self) -> None:
        start = self.here()
        self.plan_target = False
        heads = [self.atom()]
        if self.kind == ".":
            self.position += 1
            self.clauses.append(syntax.Clause((heads[0],), None, None, start, self.behind()))
            return
        if self.kind == "<=":
            self.unsupported("subsumptive rules (`<=` between heads)", self.here(), self.here() + 2)
        while self.accept(","):
            heads.append(self.atom())
        if len(heads) > 1 and self.kind == ".":
            self.fail("expected `:-` after several heads", "write each fact with a `.` of its own")
        if self.kind != ":-":
            self.fail("expected `.` or `:-` after the head")
        self.position += 1
        body = self.disjunction()
        self.expect(".", "at the end of the rule", self.usual_mistake() or _missing_comma(self))
        self.clauses.append(syntax.Clause(tuple(heads), body, None, start, self.behind()))
        self.plan_target = True

    def plan(self) -> None:
        start = self.here()
        self.position += 1
        if not self.plan_target:
            hint = "a `.plan` comes right after the rule that it is for"
            self.refuse(start, self.behind(), "there is no rule in front of this `.plan`", hint)
        orders: list[tuple[int, tuple[int, ...]]] = []
        while True:
            version = self.plan_number("the number of a version")
            self.expect(":", "after the number of the version", "a plan is written `.plan 0:(2,1)`")
            self.expect("(", "before the order of the atoms", "a plan is written `.plan 0:(2,1)`")
            order: list[int] = []
            if not self.accept(")"):
                order.append(self.plan_number("the number of an atom"))
                while self.accept(","):
                    order.append(self.plan_number("the number of an atom"))
                self.expect(")", "after the order of the atoms")
            orders.append((version, tuple(order)))
            if not self.accept(","):
                break
        last = self.clauses[-1]
        plan = syntax.Plan(tuple(orders), start, self.behind())
        self.clauses[-1] = syntax.Clause(last.heads, last.body, plan, last.start, last.end)
        self.plan_target = False

    def plan_number(self, what: str) -> int:
        text = self.texts[self.position]
        if self.kind != "number" or not text.isdigit() or len(text) > 9:
            self.fail(f"expected {what}")
        return int(self.take())

    # Bodies

    def disjunction(self) -> syntax.Body:
        start = self.here()
        parts = [self.conjunction()]
        while self.accept(";"):
            parts.append(self.conjunction())
        return parts[0] if len(parts) == 1 else syntax.Disjunction(tuple(parts), start, self.behind())

    def conjunction(self) -> syntax.Body:
        start = self.here()
        parts = [self.term()]
        while self.accept(","):
            parts.append(self.term())
        return parts[0] if len(parts) == 1 else syntax.Conjunction(tuple(parts), start, self.behind())

    def term(self) -> syntax.Body:
        start = self.here()
        negated = False
        while self.accept("!"):
            negated = not negated
        body = self.positive_term()
        return syntax.Not(body, start, self.behind()) if negated else body

    def positive_term(self) -> syntax.Body:
        start = self.here()
        match self.kind:
            case "name" if self.starts_atom():
                atom = self.atom()
                if self.kind in COMPARATORS or self.kind in BINARY:
                    self.unknown_functor(atom.name, atom.start, atom.name_end)
                return atom
            case "(" if self.starts_group():
                self.deeper()
                self.position += 1
                body = self.disjunction()
                self.expect(")", "at the end of the group")
                self.depth -= 1
                return body
            case "true" | "false":
                return syntax.Truth(self.take() == "true", start, self.behind())
            case "match" | "contains":
                return self.predicate()
            case _:
                return self.constraint()

    def starts_atom(self) -> bool:
        following = self.kinds[self.position + 1]
        if following == "(":
            return True
        adjacent = self.starts[self.position + 1] == self.tokens.end(self.position)
        return (
            following == "."
            and adjacent
            and self.kinds[self.position + 2] == "name"
            and self.starts[self.position + 2] == self.starts[self.position + 1] + 1
        )

    def starts_group(self) -> bool:
        """Whether the `(` at hand encloses literals rather than the beginning of an argument."""
        if self.closing is None:
            self.closing = _closing_parentheses(self.kinds)
        close = self.closing.get(self.position)
        if close is None:
            return True
        following = self.kinds[close + 1]
        return following not in COMPARATORS and following not in BINARY

    def predicate(self) -> syntax.Body:
        start = self.here()
        word = self.take()
        self.expect("(", f"after `{word}`")
        args = self.arguments(")", word)
        if len(args) != 2:
            shape = "match(pattern, text)" if word == "match" else "contains(part, text)"
            self.refuse(start, self.behind(), f"`{word}` takes two arguments, not {len(args)}", f"write `{shape}`")
        return syntax.Constraint(cast("Comparator", word), args[0], args[1], start, self.behind())

    def constraint(self) -> syntax.Body:
        start = self.here()
        left = self.argument()
        if self.kind not in COMPARATORS:
            hint = self.usual_mistake()
            if hint is None and isinstance(left, syntax.Variable):
                hint = f"a condition compares (`{left.name} = 1`); an atom has parentheses (`{left.name}()`)"
            self.fail("expected a comparison", hint)
        op = cast("Comparator", self.take())
        if self.kind in COMPARATORS:
            self.fail("expected an argument")
        return syntax.Constraint(op, left, self.argument(), start, self.behind())

    def atom(self) -> syntax.Atom:
        start = self.starts[self.position]
        name = self.qualified_name("the name of a relation")
        name_end = self.behind()
        if self.kind == "." and self.position:
            self.fail(f"expected `(` after `{name}`", f"a relation without columns is written `{name}()`")
        self.expect("(", f"after `{name}`")
        args = self.arguments(")", name)
        return syntax.Atom(name, args, start, self.behind(), name_end)

    # Arguments

    def arguments(self, close: str, owner: str) -> tuple[syntax.Argument, ...]:
        kinds = self.kinds
        if kinds[self.position] == close:
            self.position += 1
            return ()
        found = [self.argument()]
        while kinds[self.position] == ",":
            self.position += 1
            found.append(self.argument())
        if kinds[self.position] == close:
            self.position += 1
        else:
            self.fail(f"expected `,` or `{close}` in the arguments of `{owner}`")
        return tuple(found)

    def argument(self, least: int = 0) -> syntax.Argument:
        start = self.starts[self.position]
        left = self.primary()
        if self.kinds[self.position] not in BINARY:
            return left
        depth = self.depth
        while True:
            word = self.kinds[self.position]
            operator = BINARY.get(word)
            if operator is None or operator[1] < least:
                break
            functor, precedence, to_the_right = operator
            self.deeper()
            self.position += 1
            right = self.argument(precedence if to_the_right else precedence + 1)
            left = syntax.Functor(functor, word, (left, right), start, self.behind())
        self.depth = depth
        return left

    def primary(self) -> syntax.Argument:
        start = self.starts[self.position]
        kind = self.kinds[self.position]
        if kind == "number":
            text = self.take()
            if text.isdigit() and len(text) < 20:
                return syntax.Number(int(text), None, start, start + len(text))
            return self.numeral(start, text)
        if kind == "string":
            text = self.take()
            return syntax.String(string_value(self.report, start, text), start, start + len(text))
        if kind == "name":
            if self.kinds[self.position + 1] == "(":
                self.unknown_functor(self.texts[self.position], start, self.tokens.end(self.position))
            text = self.take()
            return syntax.Variable(text, start, start + len(text))
        if kind == "_":
            self.position += 1
            return syntax.Anonymous(start, start + 1)
        if kind == "nil":
            self.position += 1
            return syntax.Nil(start, start + 3)
        return self.compound(kind, start)

    def numeral(self, start: int, text: str, negative: bool = False) -> syntax.Number:
        value, kind = number_value(self.report, start, text)
        if negative:
            if kind == "unsigned":
                self.refuse(start - 1, start + len(text), "an unsigned number cannot be negative")
            value = -value
        return syntax.Number(value, kind, start, start + len(text))

    def compound(self, kind: str, start: int) -> syntax.Argument:
        self.deeper()
        result = self.compound_inside(kind, start)
        self.depth -= 1
        return result

    def compound_inside(self, kind: str, start: int) -> syntax.Argument:
        if kind == "(":
            self.position += 1
            inner = self.argument()
            self.expect(")", "after the argument")
            return inner
        if kind == "[":
            self.position += 1
            fields = self.arguments("]", "the record")
            return syntax.Record(fields, start, self.behind())
        if kind in PREFIX:
            self.position += 1
            following = self.kinds[self.position + 1]
            if kind == "-" and self.kind == "number" and following != "^":
                number_start = self.here()
                number = self.numeral(number_start, self.take(), negative=True)
                return syntax.Number(number.value, number.kind, start, number.end)
            inner = self.argument(PREFIX_PRECEDENCE)
            return syntax.Functor(PREFIX[kind], kind, (inner,), start, self.behind())
        if kind in FUNCTOR_WORDS:
            self.position += 1
            self.expect("(", f"after `{kind}`")
            args = self.arguments(")", kind)
            return syntax.Functor(kind, kind, args, start, self.behind())
        if kind in AGGREGATORS:
            return self.aggregate_or_functor(cast("Aggregator", kind), start)
        if kind == "as":
            self.position += 1
            self.expect("(", "after `as`")
            value = self.argument()
            self.expect(",", "after the value to cast", "a cast is written `as(value, type)`")
            type_name = self.qualified_name("the name of a type")
            self.expect(")", "after the type of the cast")
            return syntax.Cast(value, type_name, start, self.behind())
        if kind == "@":
            self.unsupported("user-defined functors (`@`)", start, start + 1)
        if kind == "$":
            self.unsupported("algebraic data types and counters (`$`)", start, start + 1)
        if kind in ("range", "autoinc", "fold"):
            self.unsupported(f"`{kind}`", start, self.tokens.end(self.position))
        if kind in ("match", "contains", "true", "false"):
            self.fail("expected an argument", f"`{kind}` is a condition of its own, not a value")
        if kind in RESERVED:
            self.fail("expected an argument", f"`{kind}` is a reserved word; choose another name")
        self.fail("expected an argument")

    def aggregate_or_functor(self, word: Aggregator, start: int) -> syntax.Argument:
        """`max(a, b)` is a functor, `max x : { … }` an aggregate, and so is `max (x + 1) : { … }`."""
        self.position += 1
        target: syntax.Argument | None = None
        if self.kind == "(" and not self.parenthesis_starts_target():
            self.position += 1
            args = self.arguments(")", word)
            if word not in ("min", "max"):
                hint = f"an aggregate is written `{word} {'' if word == 'count' else 'x '}: {{ … }}`"
                self.refuse(start, self.behind(), f"`{word}` is an aggregate, not a functor", hint)
            return syntax.Functor(word, word, args, start, self.behind())
        if self.kind != ":":
            target = self.argument()
        if self.kind != ":":
            self.fail(
                f"expected `:` after `{word}`",
                f"an aggregate is written `{word} {'' if word == 'count' else 'x '}: {{ … }}`",
            )
        head_end = self.behind()
        self.position += 1
        body: syntax.Body
        if self.accept("{"):
            body = self.disjunction()
            self.expect("}", f"at the end of the body of `{word}`")
        elif self.kind == "name":
            body = self.atom()
        else:
            self.fail(f"expected the body of `{word}`", f"write `{word} … : {{ body }}`")
        if word == "count" and target is not None:
            self.refuse(
                target.start, target.end, "`count` takes no expression", "write `count : { … }`: it counts instances"
            )
        if word != "count" and target is None:
            self.refuse(start, head_end, f"`{word}` needs an expression", f"write `{word} x : {{ … }}`")
        return syntax.Aggregate(word, target, body, start, self.behind())

    def parenthesis_starts_target(self) -> bool:
        if self.closing is None:
            self.closing = _closing_parentheses(self.kinds)
        close = self.closing.get(self.position)
        if close is None:
            return False
        following = self.kinds[close + 1]
        if following == ":":
            return True
        # `min(a, b) + 1` or `sum (a) + 1 : …`: only a list has a comma at its own level.
        if following not in BINARY or self.kinds[self.position + 1] == ")":
            return False
        return not self.has_comma(self.position, close)

    def has_comma(self, opening: int, close: int) -> bool:
        depth = 0
        for index in range(opening, close):
            kind = self.kinds[index]
            if kind in ("(", "[", "{"):
                depth += 1
            elif kind in (")", "]", "}"):
                depth -= 1
            elif kind == "," and depth == 1:
                return True
        return False

    def unknown_functor(self, name: str, start: int, end: int) -> NoReturn:
        if any(relation.name == name for relation in self.relations):
            hint = f"`{name}` is a relation: use it as a condition, `{name}(…)`, and compare its variables"
            self.refuse(start, end, f"`{name}` is not a functor", hint)
        words = sorted(FUNCTOR_WORDS | {"min", "max"})
        near = get_close_matches(name, words, 1)
        hint = f"did you mean `{near[0]}`?" if near else f"the functors are {', '.join(words)}"
        self.refuse(start, end, f"unknown functor `{name}`", hint)


def parse_one_atom(report: Report) -> syntax.Atom | None:
    """The single atom that is the whole text, a `.` at its end permitted; None when it is not one."""
    return _single(report, lambda parser: parser.atom())


def _single(report: Report, read: Callable[[Parser], syntax.Atom]) -> syntax.Atom | None:
    parser = Parser(report, tokenize(report))
    try:
        atom = read(parser)
        parser.accept(".")
        if parser.kind != "end":
            parser.fail("expected the end of the atom")
    except SyntaxStop:
        return None
    except RecursionError:
        report.error(parser.here(), parser.here() + 1, "this is nested too deeply", _depth_hint())
        return None
    return atom


def _closing_parentheses(kinds: list[str]) -> dict[int, int]:
    closing: dict[int, int] = {}
    opened: list[int] = []
    for index, kind in enumerate(kinds):
        if kind == "(":
            opened.append(index)
        elif kind == ")" and opened:
            closing[opened.pop()] = index
        elif len(kind) > 1 and kind[0] == ".":
            opened.clear()
    return closing


def _missing_comma(parser: Parser) -> str | None:
    text = parser.report.source.text
    if parser.kind in ("name", "!", "match", "contains") and "\n" not in text[parser.behind() : parser.here()]:
        return "literals are separated by `,`"
    return None


def _directive_kind(word: str) -> syntax.DirectiveKind:
    return cast("syntax.DirectiveKind", word)


def _depth_hint() -> str:
    return f"terms may be nested {MAX_DEPTH} deep; name an inner part with a variable"


def _shorten(text: str) -> str:
    line = text.split("\n", 1)[0]
    return line if len(line) <= 40 and line == text else line[:40] + "…"
