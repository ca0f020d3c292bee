"""Types of a flat clause: the kind of every term, the type of every record, and whether all of it fits together.

Every variable and every other term has a *slot*. Slots that must have one type (the sides of a comparison) share it;
slots that need only have one kind (the arguments of `+`) share a kind. What a column, a functor or a literal asks for
narrows the slot; a slot with nothing left is a type clash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from whence.lang import syntax
from whence.lang.clauses import FlatBody, FlatLiteral, NegatedAtom
from whence.lang.diagnostics import Note, Report
from whence.lang.numerals import NUMBER_RANGE, UNSIGNED_RANGE
from whence.lang.program import Kind, Relation
from whence.lang.scopes import Scopes
from whence.lang.types import TypeEnvironment

KINDS: tuple[Kind, ...] = ("number", "unsigned", "float", "symbol", "record")
NUMBER, UNSIGNED, FLOAT, SYMBOL, RECORD = (1 << index for index in range(5))
MASK: dict[Kind, int] = dict(zip(KINDS, (NUMBER, UNSIGNED, FLOAT, SYMBOL, RECORD), strict=True))
INTEGER = NUMBER | UNSIGNED
NUMERIC = INTEGER | FLOAT
ORDERED = NUMERIC | SYMBOL
ANY = ORDERED | RECORD

# Functors whose arguments and result have one kind, among these.
ALIKE: dict[str, int] = {
    "neg": NUMBER | FLOAT, "add": NUMERIC, "sub": NUMERIC, "mul": NUMERIC, "div": NUMERIC, "pow": NUMERIC,
    "mod": INTEGER, "bnot": INTEGER, "band": INTEGER, "bor": INTEGER, "bxor": INTEGER, "bshl": INTEGER,
    "bshr": INTEGER, "bshru": INTEGER, "lnot": INTEGER, "land": INTEGER, "lor": INTEGER, "lxor": INTEGER,
    "min": ORDERED, "max": ORDERED, "cat": SYMBOL,
}  # fmt: skip
# Functors with a kind for each argument, and one for the result.
FIXED: dict[str, tuple[tuple[int, ...], int]] = {
    "strlen": ((SYMBOL,), NUMBER), "substr": ((SYMBOL, NUMBER, NUMBER), SYMBOL), "ord": ((ANY,), NUMBER),
    "to_number": ((ORDERED,), NUMBER), "to_string": ((ORDERED,), SYMBOL), "to_float": ((ORDERED,), FLOAT),
    "to_unsigned": ((ORDERED,), UNSIGNED),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a slot is what it is: a node, and what asks it to be so."""

    node: syntax.Argument
    because: str


class Inference:
    """The slots of one flat clause, and what was found wrong with them."""

    def __init__(
        self,
        types: TypeEnvironment,
        relations: Mapping[str, Relation],
        bodies: Mapping[int, FlatBody],
        scopes: Scopes,
        report: Report,
    ) -> None:
        self.types = types
        self.relations = relations
        self.bodies = bodies
        self.scopes = scopes
        self.report = report
        self.sound = True
        self.slots: dict[str | int, int] = {}
        self.type_parent: list[int] = []
        self.kind_parent: list[int] = []
        self.type_set: list[frozenset[str] | None] = []  # None: a constant, which fits every subtype
        self.type_reason: list[Reason | None] = []
        self.mask: list[int] = []
        self.kind_reason: list[Reason | None] = []
        self.numbers: list[tuple[int, syntax.Number]] = []
        self.records: list[tuple[int, syntax.Record]] = []
        self.casts: list[tuple[int, int, syntax.Cast]] = []

    # Results

    def kind(self, node: syntax.Argument) -> Kind:
        return KINDS[_lowest(self.mask[self.kind_root(self.slot(node))])]

    def record_type(self, node: syntax.Argument) -> str:
        types = self.type_set[self.type_root(self.slot(node))]
        assert types is not None
        return next(iter(types))

    # The run

    def run(self, head: syntax.Atom | None, body: FlatBody) -> bool:
        """Whether the clause is well typed; what is not is reported."""
        literals = [*body, *self.inner_literals(head, body)]
        for literal in literals:
            if isinstance(literal, syntax.Atom):
                self.source_atom(literal)
        for literal in literals:
            match literal:
                case NegatedAtom():
                    self.sink_atom(literal.atom)
                case syntax.Constraint():
                    self.constraint(literal)
        if head is not None:
            self.sink_atom(head)
        self.settle_records()
        self.settle_kinds()
        if head is not None and self.sound:
            self.check_head(head)
        return self.sound

    def inner_literals(self, head: syntax.Atom | None, body: FlatBody) -> Iterable[FlatLiteral]:
        """The literals inside all aggregates of the clause, at any depth."""
        stack: list[syntax.Argument] = list(head.args) if head is not None else []
        found: list[FlatLiteral] = []
        waiting: list[FlatLiteral] = list(body)
        while stack or waiting:
            while waiting:
                match waiting.pop():
                    case syntax.Atom(args=args) | NegatedAtom(atom=syntax.Atom(args=args)):
                        stack.extend(args)
                    case syntax.Constraint(left=left, right=right):
                        stack += (left, right)
            match stack.pop() if stack else None:
                case syntax.Functor(args=parts) | syntax.Record(fields=parts):
                    stack.extend(parts)
                case syntax.Cast(value=value):
                    stack.append(value)
                case syntax.Aggregate() as aggregate:
                    inside = self.bodies[id(aggregate)]
                    found.extend(inside)
                    waiting.extend(inside)
                    if aggregate.target is not None:
                        stack.append(aggregate.target)
        return found

    def source_atom(self, atom: syntax.Atom) -> None:
        for argument, column in zip(atom.args, self.relations[atom.name].columns, strict=True):
            slot = self.term(argument)
            self.narrow_type(slot, column.type, Reason(argument, f"column `{column.name}` of `{atom.name}`"))

    def sink_atom(self, atom: syntax.Atom) -> None:
        """A head or a negated atom: it asks for the kind of its columns and gives no subtype."""
        for argument, column in zip(atom.args, self.relations[atom.name].columns, strict=True):
            slot = self.term(argument)
            reason = Reason(argument, f"column `{column.name}` of `{atom.name}`")
            if column.kind == "record":
                self.narrow_type(slot, column.type, reason)
            else:
                self.narrow_kind(slot, MASK[column.kind], reason)

    def constraint(self, constraint: syntax.Constraint) -> None:
        left, right = self.term(constraint.left), self.term(constraint.right)
        op = constraint.op
        if op not in ("=", "!="):
            words = op.removeprefix("not ")
            wanted = SYMBOL if words in ("match", "contains") else ORDERED
            for slot, node in ((left, constraint.left), (right, constraint.right)):
                self.narrow_kind(slot, wanted, Reason(node, f"`{words}`"))
        self.same_type(left, right, constraint)

    # Terms

    def slot(self, node: syntax.Argument) -> int:
        key = self.scopes.name(node) if isinstance(node, syntax.Variable) else id(node)
        slot = self.slots.get(key)
        if slot is None:
            slot = self.slots[key] = len(self.mask)
            self.type_parent.append(slot)
            self.kind_parent.append(slot)
            self.type_set.append(None)
            self.type_reason.append(None)
            self.mask.append(ANY)
            self.kind_reason.append(None)
        return slot

    def term(self, node: syntax.Argument) -> int:
        """The slot of a term, with everything the term itself says about it."""
        known = id(node) in self.slots
        slot = self.slot(node)
        if known:
            return slot
        match node:
            case syntax.Number():
                self.numbers.append((slot, node))
                mask = MASK[node.kind] if node.kind is not None else NUMERIC
                self.narrow_kind(slot, mask, Reason(node, "itself"))
            case syntax.String():
                self.narrow_kind(slot, SYMBOL, Reason(node, "itself"))
            case syntax.Nil():
                self.narrow_kind(slot, RECORD, Reason(node, "itself"))
            case syntax.Record():
                self.narrow_kind(slot, RECORD, Reason(node, "itself"))
                self.records.append((slot, node))
                for part in node.fields:
                    self.term(part)
            case syntax.Functor():
                self.functor(node, slot)
            case syntax.Cast():
                value = self.term(node.value)
                reason = Reason(node, "the cast")
                self.narrow_type(slot, node.type, reason)
                if isinstance(node.value, syntax.Number | syntax.String | syntax.Nil | syntax.Record):
                    self.narrow_type(value, node.type, Reason(node.value, "the cast"))
                self.casts.append((slot, value, node))
            case syntax.Aggregate():
                self.aggregate(node, slot)
        return slot

    def functor(self, node: syntax.Functor, slot: int) -> None:
        owner = f"`{node.word}`"
        if node.name in FIXED:
            wanted, result = FIXED[node.name]
            for part, mask in zip(node.args, wanted, strict=True):
                self.narrow_kind(self.term(part), mask, Reason(part, owner))
            self.narrow_kind(slot, result, Reason(node, "itself"))
            return
        mask = ALIKE[node.name]
        self.narrow_kind(slot, mask, Reason(node, "itself"))
        for part in node.args:
            inner = self.term(part)
            self.narrow_kind(inner, mask, Reason(part, owner))
            self.same_kind(slot, inner, node, part)

    def aggregate(self, node: syntax.Aggregate, slot: int) -> None:
        if node.target is None:
            self.narrow_kind(slot, NUMBER, Reason(node, "itself"))
            return
        target = self.term(node.target)
        mask = FLOAT if node.op == "mean" else NUMERIC
        self.narrow_kind(target, mask, Reason(node.target, f"`{node.op}`"))
        self.narrow_kind(slot, mask, Reason(node, "itself"))
        if self.sound:
            self.join(target, slot)

    # Narrowing

    def kind_root(self, slot: int) -> int:
        parent = self.kind_parent
        while parent[slot] != slot:
            parent[slot] = slot = parent[parent[slot]]
        return slot

    def type_root(self, slot: int) -> int:
        parent = self.type_parent
        while parent[slot] != slot:
            parent[slot] = slot = parent[parent[slot]]
        return slot

    def narrow_kind(self, slot: int, mask: int, reason: Reason) -> bool:
        root = self.kind_root(slot)
        before = self.mask[root]
        after = before & mask
        if not after:
            self.clash(reason, mask, before, self.kind_reason[root])
            return False
        if after != before:
            self.mask[root] = after
            self.kind_reason[root] = reason
        return True

    def narrow_type(self, slot: int, name: str, reason: Reason) -> None:
        if not self.narrow_kind(slot, MASK[self.types.kind(name)], reason):
            return
        root = self.type_root(slot)
        before = self.type_set[root]
        wanted = frozenset((self.types.canonical(name),))
        after = wanted if before is None else self.types.common_subtypes(before, wanted)
        if not after:
            assert before is not None
            earlier = self.type_reason[root]
            subject = self.text(reason.node)
            message = f"{subject} has type `{name}` here ({reason.because}), but {_types(before)} elsewhere"
            self.wrong(reason.node, message, "no value has both types: use one of them in both places", earlier, before)
        elif after != before:
            self.type_set[root] = after
            self.type_reason[root] = reason

    def same_kind(self, result: int, part_slot: int, node: syntax.Functor, part: syntax.Argument) -> None:
        one, other = self.kind_root(result), self.kind_root(part_slot)
        if one == other:
            return
        both = self.mask[one] & self.mask[other]
        if both:
            self.merge_kinds(one, other, both)
            return
        message = (
            f"the arguments of `{node.word}` differ: {self.text(part)} is {_kinds(self.mask[other])}, "
            f"not {_kinds(self.mask[one])}"
        )
        self.wrong(part, message, _conversion(self.mask[one]))

    def merge_kinds(self, one: int, other: int, both: int) -> None:
        if self.mask[one] == both:
            one, other = other, one
        # `other` now is the narrower one, and its reason is the one worth telling.
        self.kind_parent[one] = other
        self.mask[other] = both

    def same_type(self, left: int, right: int, constraint: syntax.Constraint) -> None:
        one, other = self.kind_root(left), self.kind_root(right)
        if not self.mask[one] & self.mask[other]:
            message = (
                f"cannot compare {self.text(constraint.left)}, {_kinds(self.mask[one])}, "
                f"with {self.text(constraint.right)}, {_kinds(self.mask[other])}"
            )
            self.sound = False
            self.report.error(constraint.start, constraint.end, message, _conversion(self.mask[one]))
            return
        left_types, right_types = (self.type_set[self.type_root(slot)] for slot in (left, right))
        if not self.join(left, right):
            assert left_types is not None
            assert right_types is not None
            message = (
                f"cannot compare {self.text(constraint.left)} of type {_types(left_types)} "
                f"with {self.text(constraint.right)} of type {_types(right_types)}"
            )
            self.sound = False
            self.report.error(constraint.start, constraint.end, message, "no value has both types")

    def join(self, left: int, right: int) -> bool:
        """Makes two slots, whose kinds agree, one."""
        one, other = self.kind_root(left), self.kind_root(right)
        if one != other:
            self.merge_kinds(one, other, self.mask[one] & self.mask[other])
        one, other = self.type_root(left), self.type_root(right)
        if one == other:
            return True
        left_types, right_types = self.type_set[one], self.type_set[other]
        if left_types is None or right_types is None:
            common = left_types if right_types is None else right_types
        else:
            common = self.types.common_subtypes(left_types, right_types)
            if not common:
                return False
        self.type_parent[one] = other
        self.type_set[other] = common
        if self.type_reason[other] is None:
            self.type_reason[other] = self.type_reason[one]
        return True

    # Settling

    def settle_records(self) -> None:
        """Gives the fields of records their types as soon as the record's own type is known."""
        waiting = self.records
        progress = True
        while waiting and progress:
            progress = False
            still: list[tuple[int, syntax.Record]] = []
            for slot, node in waiting:
                types = self.type_set[self.type_root(slot)]
                if types is None:
                    still.append((slot, node))
                    continue
                progress = True
                self.record_fields(next(iter(types)), node)
            waiting = still
        if self.sound:
            for _, node in waiting:
                hint = "compare it with a variable that an atom binds, or use it in a column of a record type"
                self.wrong(node, f"cannot tell which record type {self.text(node)} has", hint)

    def record_fields(self, type_name: str, node: syntax.Record) -> None:
        fields = self.types.fields(type_name)
        if fields is None:
            return  # a clash, reported where it arose
        if len(fields) != len(node.fields):
            wanted = ", ".join(name for name, _ in fields)
            message = f"the record `{type_name}` has {len(fields)} fields, not {len(node.fields)}"
            self.wrong(node, message, f"write `[{wanted}]`")
            return
        for part, (name, field_type) in zip(node.fields, fields, strict=True):
            self.narrow_type(self.slot(part), field_type, Reason(part, f"field `{name}` of `{type_name}`"))

    def settle_kinds(self) -> None:
        """Decides what is still open (`1` alone is a number) and checks what depends on the decision."""
        for root in range(len(self.mask)):
            if self.kind_parent[root] == root:
                self.mask[root] = 1 << _lowest(self.mask[root])
        for slot, node in self.numbers:
            self.check_range(node, self.mask[self.kind_root(slot)])
        for slot, value, cast in self.casts:
            if self.sound and self.mask[self.kind_root(slot)] != self.mask[self.kind_root(value)]:
                source, target = (_kinds(self.mask[self.kind_root(one)]) for one in (value, slot))
                message = f"a cast from {source} to {target} is not supported yet"
                self.wrong(cast, message, "convert with to_number, to_unsigned, to_float or to_string")

    def check_range(self, node: syntax.Number, mask: int) -> None:
        if mask == FLOAT or not isinstance(node.value, int):
            return
        kind, (least, most) = ("number", NUMBER_RANGE) if mask == NUMBER else ("unsigned", UNSIGNED_RANGE)
        if least <= node.value <= most:
            return
        text = self.report.source.text[node.start : node.end]
        hint = f"the column or operator asks for `{kind}`, which goes from {least} to {most}"
        self.wrong(node, f"{text} is out of range for `{kind}`", hint)

    def check_head(self, head: syntax.Atom) -> None:
        for argument, column in zip(head.args, self.relations[head.name].columns, strict=True):
            root = self.type_root(self.slot(argument))
            types = self.type_set[root]
            if types is None or all(self.types.is_subtype(name, column.type) for name in types):
                continue
            message = (
                f"{self.text(argument)} has type {_types(types)}, which is not a subtype of `{column.type}` "
                f"(column `{column.name}` of `{head.name}`)"
            )
            hint = f"declare the column as {_types(types)}, or cast: `as({self.plain(argument)}, {column.type})`"
            self.wrong(argument, message, hint, self.type_reason[root], types)

    # Telling

    def plain(self, node: syntax.Argument) -> str:
        text = " ".join(self.report.source.text[node.start : node.end].split())
        return text if len(text) <= 40 else text[:39] + "…"

    def text(self, node: syntax.Argument) -> str:
        return f"`{self.plain(node)}`"

    def clash(self, reason: Reason, mask: int, before: int, earlier: Reason | None) -> None:
        subject = self.text(reason.node)
        hint = _conversion(mask)
        if reason.because == "`+`" and before & SYMBOL:
            hint = "strings are joined with `cat`"
        if earlier is not None and earlier.node is reason.node and earlier.because == "itself":
            verb = "is" if reason.because.startswith(("column", "field", "the")) else "takes"
            self.wrong(reason.node, f"{subject} is {_kinds(before)}, but {reason.because} {verb} {_kinds(mask)}", hint)
            return
        if isinstance(reason.node, syntax.Anonymous | syntax.Variable) and not reason.because.startswith("`"):
            message = f"{subject} is {_kinds(mask)} here ({reason.because}), but {_kinds(before)} elsewhere"
        else:
            message = f"{reason.because} takes {_kinds(mask)}, but {subject} is {_kinds(before)}"
        self.wrong(reason.node, message, hint, earlier, None, before)

    def wrong(
        self,
        node: syntax.Argument,
        message: str,
        hint: str | None,
        earlier: Reason | None = None,
        types: frozenset[str] | None = None,
        mask: int = 0,
    ) -> None:
        self.sound = False
        notes: tuple[Note, ...] = ()
        if earlier is not None and earlier.node is not node:
            what = _types(types) if types is not None else _kinds(mask)
            because = "" if earlier.because == "itself" else f" ({earlier.because})"
            told = f"{self.text(earlier.node)} is {what} here{because}"
            notes = (self.report.note(earlier.node.start, earlier.node.end, told),)
        self.report.error(node.start, node.end, message, hint, notes)


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def _kinds(mask: int) -> str:
    if mask in (NUMERIC, INTEGER, NUMBER | FLOAT):
        return "a number"
    names = [f"`{kind}`" if kind != "record" else "record" for kind in KINDS if MASK[kind] & mask]
    return ("an " if names[0] == "`unsigned`" else "a ") + " or ".join(names)


def _types(names: frozenset[str]) -> str:
    return " or ".join(f"`{name}`" for name in sorted(names))


def _conversion(mask: int) -> str | None:
    functors = {NUMBER: "to_number", UNSIGNED: "to_unsigned", FLOAT: "to_float", SYMBOL: "to_string"}
    return f"convert with `{functors[mask]}(…)`" if mask in functors else None
