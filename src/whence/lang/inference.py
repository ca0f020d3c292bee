"""Types of a flat clause: the kind of every term, the type of every record, and whether all of it fits together.

Every variable and every other term has a slot. The sides of a comparison share a slot's type, the arguments of `+` only
its kind; what a column, a functor or a literal asks for narrows the slot, and a slot with nothing left is a type clash.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from whence.lang import syntax
from whence.lang.clashes import Clashes, any_of
from whence.lang.clauses import FlatBody, FlatLiteral, NegatedAtom
from whence.lang.diagnostics import Report
from whence.lang.kinds import (
    ALIKE,
    FIXED,
    FLOAT,
    MASK,
    NUMBER,
    NUMERIC,
    ORDERED,
    RECORD,
    SYMBOL,
    a_kind,
    conversion,
    first_kind,
)
from whence.lang.numerals import NUMBER_RANGE, UNSIGNED_RANGE
from whence.lang.program import Kind, Relation
from whence.lang.scopes import Scopes, arguments_of
from whence.lang.slots import Reason, Slots
from whence.lang.types import TypeEnvironment

LITERALS = (syntax.Number, syntax.String, syntax.Nil, syntax.Record)


class Inference:
    """What is inferred of one flat clause."""

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
        self.slots = Slots(types)
        self.clashes = Clashes(report)
        self._slot_of: dict[str | int, int] = {}  # by name of a variable, by `id` of any other node
        self._numbers: list[tuple[int, syntax.Number]] = []
        self._records: list[tuple[int, syntax.Record]] = []
        self._casts: list[tuple[int, int, syntax.Cast]] = []
        self._wrong: set[int] = set()  # slots that a clash was reported of; more about them would say nothing new

    # Results

    def kind(self, node: syntax.Argument) -> Kind:
        return first_kind(self.slots.kinds(self.slot(node)))

    def record_type(self, node: syntax.Argument) -> str:
        types = self.slots.types_of(self.slot(node))
        assert types is not None
        return next(iter(types))

    # The run

    def run(self, head: syntax.Atom, body: FlatBody) -> bool:
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
        self.sink_atom(head)
        self.settle_records()
        self.settle_literals()
        if not self.clashes.found:
            self.check_head(head)
        return not self.clashes.found

    def inner_literals(self, head: syntax.Atom, body: FlatBody) -> Iterator[FlatLiteral]:
        """The literals inside all aggregates of the clause, at any depth."""
        if self.bodies:
            for node in syntax.walk((*head.args, *arguments_of(body))):
                if isinstance(node, syntax.Aggregate):
                    yield from self.bodies[id(node)]

    def source_atom(self, atom: syntax.Atom) -> None:
        for argument, column in zip(atom.args, self.relations[atom.name].columns, strict=True):
            reason = Reason(argument, f"column `{column.name}` of `{atom.name}`")
            self.narrow_type(self.term(argument), column.type, reason)

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
        word = constraint.op.removeprefix("not ")
        if word not in ("=", "!="):
            wanted = SYMBOL if word in ("match", "contains") else ORDERED
            sides = ((left, constraint.left), (right, constraint.right))
            if not all(self.narrow_kind(slot, wanted, Reason(node, f"`{word}`")) for slot, node in sides):
                return
        slots = self.slots
        kinds = slots.kinds(left), slots.kinds(right)
        if not kinds[0] & kinds[1]:
            told = (f", {a_kind(kind)}," for kind in kinds)
            hint = conversion(kinds[0]) or conversion(kinds[1])
            self.clashes.comparison(constraint, next(told), next(told).rstrip(","), hint)
            return
        left_types, right_types = slots.types_of(left), slots.types_of(right)
        if not slots.same_type(left, right):
            assert left_types is not None
            assert right_types is not None
            told = (f" of type {any_of(types)}" for types in (left_types, right_types))
            self.clashes.comparison(constraint, next(told), next(told), "no value has both types")

    # Terms

    def slot(self, node: syntax.Argument) -> int:
        key = self.scopes.name(node) if isinstance(node, syntax.Variable) else id(node)
        slot = self._slot_of.get(key)
        if slot is None:
            slot = self._slot_of[key] = self.slots.new()
        return slot

    def term(self, node: syntax.Argument) -> int:
        """The slot of a term, with everything the term itself says about it."""
        if id(node) in self._slot_of:
            return self._slot_of[id(node)]
        slot = self.slot(node)
        match node:
            case syntax.Number():
                self._numbers.append((slot, node))
                mask = MASK[node.kind] if node.kind is not None else NUMERIC
                self.narrow_kind(slot, mask, Reason(node, "itself"))
            case syntax.String():
                self.narrow_kind(slot, SYMBOL, Reason(node, "itself"))
            case syntax.Nil():
                self.narrow_kind(slot, RECORD, Reason(node, "itself"))
            case syntax.Record():
                self.narrow_kind(slot, RECORD, Reason(node, "itself"))
                self._records.append((slot, node))
                for part in node.fields:
                    self.term(part)
            case syntax.Functor():
                self.functor(node, slot)
            case syntax.Cast():
                value = self.term(node.value)
                self.narrow_type(slot, node.type, Reason(node, "the cast"))
                if isinstance(node.value, LITERALS):
                    self.narrow_type(value, node.type, Reason(node.value, "the cast"))
                self._casts.append((slot, value, node))
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
            if not self.narrow_kind(inner, mask, Reason(part, owner)):
                self._wrong.add(slot)
            elif not self.slots.same_kind(slot, inner):
                self.clashes.argument(node, part, self.slots.kinds(inner), self.slots.kinds(slot))
                self._wrong.add(slot)

    def aggregate(self, node: syntax.Aggregate, slot: int) -> None:
        if node.target is None:
            self.narrow_kind(slot, NUMBER, Reason(node, "itself"))
            return
        target = self.term(node.target)
        mask = FLOAT if node.op == "mean" else NUMERIC
        self.narrow_kind(slot, mask, Reason(node, "itself"))
        if self.narrow_kind(target, mask, Reason(node.target, f"`{node.op}`")):
            self.slots.same_type(target, slot)

    def narrow_kind(self, slot: int, mask: int, reason: Reason) -> bool:
        if slot in self._wrong:
            return False
        before, earlier = self.slots.kinds(slot), self.slots.kind_reason(slot)
        if self.slots.narrow_kind(slot, mask, reason):
            return True
        self.clashes.kind(reason, mask, before, earlier)
        self._wrong.add(slot)
        return False

    def narrow_type(self, slot: int, name: str, reason: Reason) -> None:
        if not self.narrow_kind(slot, MASK[self.types.kind(name)], reason):
            return
        before, earlier = self.slots.types_of(slot), self.slots.type_reason(slot)
        if not self.slots.narrow_type(slot, name, reason):
            assert before is not None
            self.clashes.type(reason, name, before, earlier)

    # Settling: what can be decided only when all of the clause has been seen

    def settle_records(self) -> None:
        """Gives the fields of records their types as soon as the record's own type is known."""
        waiting, before = self._records, -1
        while len(waiting) != before:
            before = len(waiting)
            still: list[tuple[int, syntax.Record]] = []
            for slot, node in waiting:
                types = self.slots.types_of(slot)
                if types is None:
                    still.append((slot, node))
                else:
                    self.record_fields(next(iter(types)), node)
            waiting = still
        if not self.clashes.found:
            for _, node in waiting:
                self.clashes.unknown_record(node)

    def record_fields(self, type_name: str, node: syntax.Record) -> None:
        fields = self.types.fields(type_name)
        if fields is None:
            return  # a clash, reported where it arose
        if len(fields) != len(node.fields):
            self.clashes.record_fields(node, type_name, fields)
            return
        for part, (name, field_type) in zip(node.fields, fields, strict=True):
            self.narrow_type(self.slot(part), field_type, Reason(part, f"field `{name}` of `{type_name}`"))

    def settle_literals(self) -> None:
        for slot, node in self._numbers:
            mask = MASK[first_kind(self.slots.kinds(slot))]
            least, most = NUMBER_RANGE if mask == NUMBER else UNSIGNED_RANGE
            if mask != FLOAT and isinstance(node.value, int) and not least <= node.value <= most:
                self.clashes.range(node, mask)
        for slot, value, cast in self._casts:
            source, target = (MASK[first_kind(self.slots.kinds(one))] for one in (value, slot))
            if source != target and not self.clashes.found:
                self.clashes.cast(cast, source, target)

    def check_head(self, head: syntax.Atom) -> None:
        for argument, column in zip(head.args, self.relations[head.name].columns, strict=True):
            slot = self.slot(argument)
            types = self.slots.types_of(slot)
            if types is not None and not all(self.types.is_subtype(name, column.type) for name in types):
                why = Reason(argument, f"column `{column.name}` of `{head.name}`")
                self.clashes.head(argument, why, column.type, types, self.slots.type_reason(slot))
