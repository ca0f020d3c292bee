"""Arguments and bodies: operators by precedence climbing, after Soufflé's grammar."""

from __future__ import annotations

from typing import NoReturn, cast

from whence.lang import syntax
from whence.lang.cursor import BRACKET_DEPTH, Cursor
from whence.lang.diagnostics import Report, did_you_mean
from whence.lang.numerals import number_value
from whence.lang.program import Aggregator, Comparator
from whence.lang.tokens import RESERVED, Tokens, string_value

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
CLOSING = frozenset([".", ",", ";", ")", "}", ":-"])
NOT_YET_WORDS = {
    "autoinc": "autoinc", "fold": "fold", "range": "range", "__ITERATION__": "iteration", "__FILE__": "place",
    "__LINE__": "place", "__INCL__": "place",
}  # fmt: skip


class TermParser(Cursor):
    """Reads what clauses are made of."""

    def __init__(self, report: Report, tokens: Tokens) -> None:
        super().__init__(report, tokens)
        self.closing: dict[int, int] | None = None
        self.relations: list[syntax.RelationDeclaration] = []

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
                self.expect(")", "at the end of the group", self.usual_mistake())
                self.depth -= BRACKET_DEPTH
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
        if self.kind in CLOSING:
            self.fail("expected an atom or a comparison")
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
        if not self.accept("("):
            hint = self.usual_mistake() or f"an atom has parentheses: `{name}(…)` or `{name}()`"
            self.fail(f"expected `(` after `{name}`", hint)
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
            hint = self.usual_mistake() or f"arguments are separated by `,`, and `{close}` is behind the last"
            self.fail(f"expected `,` or `{close}` in the arguments of `{owner}`", hint)
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
            self.deeper(1)
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
                message = "an unsigned number cannot be negative"
                self.refuse(start - 1, start + len(text), message, "write it without the `u`")
            value = -value
        return syntax.Number(value, kind, start, start + len(text))

    def compound(self, kind: str, start: int) -> syntax.Argument:
        self.deeper()
        result = self.compound_inside(kind, start)
        self.depth -= BRACKET_DEPTH
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
            if kind == "-" and self.kind == "number" and self.kinds[self.position + 1] != "^":
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
            self.unsupported("functor", start, start + 1)
        if kind == "$":
            branch = self.kinds[self.position + 1] == "name"
            self.unsupported("algebraic types" if branch else "autoinc", start, start + 1)
        if kind in NOT_YET_WORDS:
            self.unsupported(NOT_YET_WORDS[kind], start, self.tokens.end(self.position))
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
        if self.kind != ":" and self.kind not in CLOSING:
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
            self.deeper()
            body = self.disjunction()
            self.expect("}", f"at the end of the body of `{word}`")
            self.depth -= BRACKET_DEPTH
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
            use = f"`{name}` is a relation: use it as a condition, `{name}(…)`, and compare its variables"
            self.refuse(start, end, f"`{name}` is not a functor", use)
        words = sorted(FUNCTOR_WORDS | {"min", "max"})
        hint = did_you_mean(name, words, f"the functors are {', '.join(words)}")
        self.refuse(start, end, f"unknown functor `{name}`", hint)


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
