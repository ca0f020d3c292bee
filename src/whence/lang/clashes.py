"""What to say when types do not fit: which term is what, where that comes from, and what to write instead."""

from __future__ import annotations

from whence.lang import syntax
from whence.lang.diagnostics import Note, Report
from whence.lang.kinds import NUMBER, NUMERALS, NUMERIC, SYMBOL, a_kind, conversion
from whence.lang.numerals import NUMBER_RANGE, UNSIGNED_RANGE
from whence.lang.slots import Reason


class Clashes:
    """Reports the type errors of one clause. `found` says whether there were any."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.found = False

    # Kinds

    def kind(self, reason: Reason, mask: int, before: int, earlier: Reason | None) -> None:
        """A term is one of `mask` because of `reason`, but one of `before` because of what came `earlier`."""
        node, because = reason
        hint = self.literal_hint(node, mask) or conversion(mask)
        if because == "`+`" and before & SYMBOL:
            hint = "strings are joined with `cat`"
        if earlier is not None and earlier.node is node and earlier.because == "itself":
            verb = "is" if because.startswith(("column", "field", "the")) else "takes"
            self.wrong(node, f"{self.text(node)} is {a_kind(before)}, but {because} {verb} {a_kind(mask)}", hint)
            return
        if isinstance(node, syntax.Anonymous | syntax.Variable) and not because.startswith("`"):
            message = f"{self.text(node)} is {a_kind(mask)} here ({because}), but {a_kind(before)} elsewhere"
        else:
            message = f"{because} takes {a_kind(mask)}, but {self.text(node)} is {a_kind(before)}"
        self.wrong(node, message, hint, earlier, a_kind(before))

    def argument(self, functor: syntax.Functor, part: syntax.Argument, mask: int, others: int) -> None:
        message = f"the arguments of `{functor.word}` differ: {self.text(part)} is {a_kind(mask)}, not {a_kind(others)}"
        self.wrong(part, message, conversion(others))

    def comparison(self, constraint: syntax.Constraint, left: str, right: str, hint: str | None) -> None:
        message = f"cannot compare {self.text(constraint.left)}{left} with {self.text(constraint.right)}{right}"
        self.found = True
        self.report.error(constraint.start, constraint.end, message, hint)

    def cast(self, cast: syntax.Cast, source: int, target: int) -> None:
        message = f"a cast from {a_kind(source)} to {a_kind(target)} is not supported yet"
        self.wrong(cast, message, conversion(target))

    def range(self, node: syntax.Number, mask: int) -> None:
        kind, (least, most) = ("number", NUMBER_RANGE) if mask == NUMBER else ("unsigned", UNSIGNED_RANGE)
        hint = f"the column or operator asks for `{kind}`, which goes from {least} to {most}"
        self.wrong(node, f"{self.plain(node)} is out of range for `{kind}`", hint)

    # Types

    def type(self, reason: Reason, name: str, before: frozenset[str], earlier: Reason | None) -> None:
        message = f"{self.text(reason.node)} has type `{name}` here ({reason.because}), but {any_of(before)} elsewhere"
        hint = "no value has both types: use one of them in both places"
        self.wrong(reason.node, message, hint, earlier, any_of(before))

    def head(
        self, argument: syntax.Argument, column: Reason, name: str, types: frozenset[str], why: Reason | None
    ) -> None:
        message = (
            f"{self.text(argument)} has type {any_of(types)}, which is not a subtype of `{name}` ({column.because})"
        )
        hint = f"declare the column as {any_of(types)}, or cast: `as({self.plain(argument)}, {name})`"
        self.wrong(argument, message, hint, why, any_of(types))

    def record_fields(self, node: syntax.Record, name: str, fields: tuple[tuple[str, str], ...]) -> None:
        number = f"{len(fields) or 'no'} field{'' if len(fields) == 1 else 's'}"
        wanted = ", ".join(field for field, _ in fields)
        self.wrong(node, f"the record `{name}` has {number}, not {len(node.fields)}", f"write `[{wanted}]`")

    def unknown_record(self, node: syntax.Record) -> None:
        hint = "compare it with a variable that an atom binds, or use it in a column of a record type"
        self.wrong(node, f"cannot tell which record type {self.text(node)} has", hint)

    # The parts of a message

    def wrong(
        self, node: syntax.Argument, message: str, hint: str | None, earlier: Reason | None = None, was: str = ""
    ) -> None:
        """Reports an error at a node, with a note that says where it `was` something else."""
        self.found = True
        notes: tuple[Note, ...] = ()
        if earlier is not None and earlier.node is not node:
            because = "" if earlier.because == "itself" else f" ({earlier.because})"
            told = f"{self.text(earlier.node)} is {was} here{because}"
            notes = (self.report.note(earlier.node.start, earlier.node.end, told),)
        self.report.error(node.start, node.end, message, hint, notes)

    def plain(self, node: syntax.Argument) -> str:
        text = " ".join(self.report.source.text[node.start : min(node.end, node.start + 200)].split())
        return text if len(text) <= 40 else text[:39] + "…"

    def text(self, node: syntax.Argument) -> str:
        return f"`{self.plain(node)}`"

    def literal_hint(self, node: syntax.Argument, mask: int) -> str | None:
        """What to write instead of a literal of the wrong kind."""
        if isinstance(node, syntax.String):
            return "a number has no quotes" if mask & NUMERIC else None
        if isinstance(node, syntax.Number):
            return f'a string has quotes: "{self.plain(node)}"' if mask == SYMBOL else NUMERALS.get(mask)
        return None


def any_of(names: frozenset[str]) -> str:
    return " or ".join(f"`{name}`" for name in sorted(names))
