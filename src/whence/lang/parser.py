"""Tokens to surface syntax, item by item, by recursive descent.

An error ends the item it is in; reading goes on behind the next `.` or at the next directive, so one run finds many.
"""

from __future__ import annotations

from typing import NoReturn

from whence.lang import syntax
from whence.lang.cursor import DEPTH_HINT, SyntaxStop
from whence.lang.diagnostics import Report, did_you_mean
from whence.lang.items import ItemParser
from whence.lang.tokens import DIRECTIVES, RESERVED, Tokens, tokenize

NOT_YET_ITEMS = {
    ".comp": "component", ".init": "component", ".override": "component", ".functor": "functor",
    ".lattice": "lattice", ".include": "include", ".once": "include",
}  # fmt: skip
BLOCKS = {".comp": ("{", "}"), ".lattice": ("{", "}"), ".functor": ("(", ")")}
DECLARING = (".decl", ".type", ".symbol_type", ".number_type", ".init")


def parse(report: Report) -> syntax.Syntax:
    return Parser(report, tokenize(report)).program()


class Parser(ItemParser):
    """Reads a program and keeps its clauses."""

    def __init__(self, report: Report, tokens: Tokens) -> None:
        super().__init__(report, tokens)
        self.clauses: list[syntax.Clause] = []
        self.plan_target = False  # whether a `.plan` may follow

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
                self.report.error(self.here(), self.tokens.end(self.position), "this is nested too deeply", DEPTH_HINT)
                self.recover(start)
        return syntax.Syntax(
            tuple(self.types),
            tuple(self.relations),
            tuple(self.clauses),
            tuple(self.directives),
            frozenset(self.broken),
        )

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
                if kind in NOT_YET_ITEMS:
                    self.unsupported(NOT_YET_ITEMS[kind], self.here(), self.tokens.end(self.position))
                self.fail("expected a fact, a rule or a directive", _hint_for_item(kind))

    def stray_dot(self) -> NoReturn:
        start = self.here()
        self.position += 1
        if self.kind in ("name", *RESERVED) and self.adjacent():
            word = self.take()
            hint = did_you_mean(word, DIRECTIVES, "a clause ends with `.` and a directive begins with one", ".")
            self.refuse(start, self.behind(), f"unknown directive `.{word}`", hint)
        self.refuse(start, start + 1, "unexpected `.`", "remove it")

    # Going on after an error

    def recover(self, start: int) -> None:
        """Goes to the next place where an item may begin."""
        self.plan_target = False
        position = max(self.position, start)
        kinds = self.kinds
        first = kinds[start]
        if first in DECLARING:
            self.broken.update(self.texts[index] for index in range(start + 1, position + 2) if self.is_name(index))
        if first in BLOCKS:
            position = self.behind_block(position, *BLOCKS[first])
        if position == start:
            position += 1
        while kinds[position] != "end":
            kind = kinds[position]
            if len(kind) > 1 and kind[0] == ".":
                break
            # A directive has no `.` at its end, so the first `.` behind it may end a later clause; a line is safer.
            new_line = self.begins_line(position)
            if new_line and first[0] == "." and (kind == "name" or kind == "."):
                break
            if kind == ".":
                if new_line and self.is_name(position + 1):
                    break
                if self.ends_clause(position):
                    position += 1
                    break
            position += 1
        self.position = position

    def is_name(self, position: int) -> bool:
        return position < len(self.kinds) and self.kinds[position] == "name"

    def begins_line(self, position: int) -> bool:
        return "\n" in self.report.source.text[self.tokens.end(position - 1) : self.starts[position]]

    def ends_clause(self, position: int) -> bool:
        """Whether the `.` at a position is the end of a clause, not the point of a number or of a qualified name."""
        if self.kinds[position + 1] not in (".", "bad") and not self.starts_item(position + 1):
            return False
        qualifies = (
            self.is_name(position - 1)
            and self.is_name(position + 1)
            and self.tokens.end(position - 1) == self.starts[position] == self.starts[position + 1] - 1
        )
        return not qualifies

    def behind_block(self, position: int, opening: str, closing: str) -> int:
        """The position behind a block in brackets, so that its inside is not read as if it stood outside."""
        depth = 0
        kinds = self.kinds
        while kinds[position] != "end":
            if kinds[position] == opening:
                depth += 1
            elif kinds[position] == closing:
                depth -= 1
                if depth <= 0:
                    return position + 1
            position += 1
        return position

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
            self.unsupported("subsumption", self.here(), self.here() + 2)
        while self.accept(","):
            heads.append(self.atom())
        if len(heads) > 1 and self.kind == ".":
            self.fail("expected `:-` after several heads", "write each fact with a `.` of its own")
        if self.kind != ":-":
            if self.forgotten_end("expected `.` or `:-` after the head", "end the fact with `.`"):
                self.clauses.append(syntax.Clause((heads[0],), None, None, start, self.behind()))
                return
            self.fail("expected `.` or `:-` after the head")
        self.position += 1
        body = self.disjunction()
        if not self.forgotten_end("expected `.` at the end of the rule", "end the rule with `.`"):
            self.expect(".", "at the end of the rule", self.usual_mistake() or self.missing_comma())
        self.clauses.append(syntax.Clause(tuple(heads), body, None, start, self.behind()))
        self.plan_target = True

    def forgotten_end(self, message: str, hint: str) -> bool:
        """Whether a clause just lacks its `.`: it is reported, and the next item is read as if it were there."""
        end = self.behind()
        if not self.starts_item(self.position) or not (self.kind == "end" or self.begins_line(self.position)):
            return False
        found = "the end of the text" if self.kind == "end" else f"`{self.texts[self.position]}`"
        self.report.error(end, end, f"{message}, found {found}", hint)
        return True

    def missing_comma(self) -> str | None:
        if self.kind in ("name", "!", "match", "contains") and not self.begins_line(self.position):
            return "literals are separated by `,`"
        return None

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
                self.expect(")", "after the order of the atoms", "a plan is written `.plan 0:(2,1)`")
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
            self.fail(f"expected {what}", "a plan is written `.plan 0:(2,1)`")
        return int(self.take())


def parse_one_atom(report: Report) -> syntax.Atom | None:
    """The single atom that is the whole text, a `.` at its end permitted; None when it is not one."""
    parser = Parser(report, tokenize(report))
    try:
        atom = parser.atom()
        parser.accept(".")
        if parser.kind != "end":
            parser.fail("expected the end of the atom")
    except SyntaxStop:
        return None
    except RecursionError:
        report.error(parser.here(), parser.here() + 1, "this is nested too deeply", DEPTH_HINT)
        return None
    return atom


def _hint_for_item(kind: str) -> str | None:
    if kind in RESERVED:
        return f"`{kind}` is a reserved word; choose another name"
    if kind == ":-":
        return "a rule needs a head in front of `:-`"
    if kind == "!":
        return "a head cannot be negated"
    return None
