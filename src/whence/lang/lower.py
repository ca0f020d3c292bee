"""Flat clauses to core rules: arguments of atoms become variables and constants, aggregates become literals.

Generated variables have a space in their name, which no name of a user can have: `_ 1` stands for a `_`, `v 1` for a
term or an aggregate that was moved out of the place it was written in.
"""

from __future__ import annotations

from collections.abc import Mapping

from whence.lang import program as core
from whence.lang import syntax
from whence.lang.clauses import FlatBody, NegatedAtom
from whence.lang.diagnostics import Report
from whence.lang.inference import Inference
from whence.lang.scopes import Scopes

TRUE = core.Comparison("=", core.Const(0, "number"), core.Const(0, "number"))
FALSE = core.Comparison("!=", core.Const(0, "number"), core.Const(0, "number"))


class Lowering:
    """Lowers one flat clause. `sound` turns false when something is found that no core rule can say."""

    def __init__(self, typed: Inference, scopes: Scopes, bodies: Mapping[int, FlatBody], report: Report) -> None:
        self.typed = typed
        self.scopes = scopes
        self.bodies = bodies
        self.report = report
        self.sound = True
        self.anonymous = 0
        self.generated = 0
        self.written: list[tuple[int, int]] = []  # for each literal of the rule's body, where it was written

    def rule(self, head: syntax.Atom, body: FlatBody) -> tuple[core.Atom, list[core.Literal]]:
        for argument in head.args:
            self.forbid_anonymous(argument, "the head of a rule", "only a body may leave a column open")
        literals: list[core.Literal] = []
        for literal in body:
            literals += self.body((literal,))
            node = literal.atom if isinstance(literal, NegatedAtom) else literal
            self.written += [(node.start, node.end)] * (len(literals) - len(self.written))
        args = tuple(self.term(argument, literals, split=False) for argument in head.args)
        if not literals:
            literals.append(TRUE)
        return core.Atom(head.name, args), literals

    def body(self, body: FlatBody) -> list[core.Literal]:
        literals: list[core.Literal] = []
        for literal in body:
            match literal:
                case syntax.Atom():
                    self.atom(literal, literals)
                case NegatedAtom():
                    self.negation(literal.atom, literals)
                case syntax.Constraint():
                    self.constraint(literal, literals)
                case syntax.Truth():
                    if not literal.value:
                        literals.append(FALSE)
        return literals

    def atom(self, atom: syntax.Atom, literals: list[core.Literal]) -> None:
        later: list[core.Literal] = []
        args = tuple(self.atom_argument(argument, later) for argument in atom.args)
        literals.append(core.Atom(atom.name, args))
        literals += later

    def negation(self, atom: syntax.Atom, literals: list[core.Literal]) -> None:
        for argument in atom.args:
            if isinstance(argument, syntax.Record):
                self.forbid_anonymous(argument, "a record of a negated atom", "bind the field in a positive atom")
        args = tuple(self.atom_argument(argument, literals) for argument in atom.args)
        literals.append(core.Negation(core.Atom(atom.name, args)))

    def atom_argument(self, argument: syntax.Argument, literals: list[core.Literal]) -> core.Var | core.Const:
        term = self.term(argument, literals, split=True)
        if isinstance(term, core.Const) or (isinstance(term, core.Var) and not isinstance(argument, syntax.Aggregate)):
            return term
        variable = self.generate(term.kind)
        literals.append(core.Comparison("=", variable, term))
        return variable

    def constraint(self, constraint: syntax.Constraint, literals: list[core.Literal]) -> None:
        sides = (constraint.left, constraint.right)
        if not any(isinstance(side, syntax.Aggregate) for side in sides):
            for side in sides:
                if isinstance(side, syntax.Anonymous):
                    self.no_value(side, "a comparison")
        elif isinstance(constraint.left, syntax.Anonymous) or isinstance(constraint.right, syntax.Anonymous):
            # `_ = max x : { … }` asks only for the aggregate, and for the witnesses it may have.
            for side in sides:
                if isinstance(side, syntax.Aggregate):
                    self.aggregate(side, literals)
            return
        left = self.term(constraint.left, literals, split=True)
        right = self.term(constraint.right, literals, split=True)
        literals.append(core.Comparison(constraint.op, left, right))

    # Terms

    def generate(self, kind: core.Kind) -> core.Var:
        self.generated += 1
        return core.Var(f"v {self.generated}", kind)

    def term(self, node: syntax.Argument, literals: list[core.Literal], split: bool) -> core.Term:
        """The core term of an argument. Aggregates in it, and with `split` calls inside records, go to `literals`."""
        match node:
            case syntax.Variable():
                return core.Var(self.scopes.name(node), self.typed.kind(node))
            case syntax.Number():
                kind = self.typed.kind(node)
                return core.Const(float(node.value) if kind == "float" else node.value, kind)
            case syntax.String():
                return core.Const(node.value, "symbol")
            case syntax.Nil():
                return core.Const(None, "record")
            case syntax.Anonymous():
                self.anonymous += 1
                return core.Var(f"_ {self.anonymous}", self.typed.kind(node))
            case syntax.Functor():
                for part in node.args:
                    if isinstance(part, syntax.Anonymous):
                        self.no_value(part, f"the arguments of `{node.word}`")
                args = tuple(self.term(part, literals, split) for part in node.args)
                return core.Call(node.name, args, self.typed.kind(node))
            case syntax.Record():
                fields = tuple(self.field(part, literals, split) for part in node.fields)
                return core.Record(self.typed.record_type(node), fields)
            case syntax.Cast():
                return self.term(node.value, literals, split)
            case syntax.Aggregate():
                return self.aggregate(node, literals)

    def field(self, node: syntax.Argument, literals: list[core.Literal], split: bool) -> core.Term:
        term = self.term(node, literals, split)
        if not split or not isinstance(term, core.Call):
            return term
        variable = self.generate(term.kind)
        literals.append(core.Comparison("=", variable, term))
        return variable

    def aggregate(self, node: syntax.Aggregate, literals: list[core.Literal]) -> core.Var:
        inside = self.body(self.bodies[id(node)])
        target = None
        if node.target is not None:
            if isinstance(node.target, syntax.Anonymous):
                self.no_value(node.target, f"the expression of `{node.op}`")
            target = self.term(node.target, inside, split=True)
        result = self.generate(self.typed.kind(node))
        # `outer` is filled in by `with_outer`, once all of the rule is there to compare with.
        literals.append(core.Aggregate(node.op, result, target, tuple(inside), ()))
        return result

    # What has no value

    def no_value(self, node: syntax.Anonymous, where: str) -> None:
        if self.sound:
            self.sound = False
            message = f"`_` has no value, so it cannot be used in {where}"
            self.report.error(node.start, node.end, message, "name the variable, and bind it in a positive atom")

    def forbid_anonymous(self, argument: syntax.Argument, where: str, hint: str) -> None:
        match argument:
            case syntax.Anonymous():
                self.sound = False
                self.report.error(argument.start, argument.end, f"`_` in {where}", hint)
            case syntax.Functor(args=parts) | syntax.Record(fields=parts):
                for part in parts:
                    self.forbid_anonymous(part, where, hint)
