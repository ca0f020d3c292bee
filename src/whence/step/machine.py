"""The reduction rules (001, fig. 4, with those of sections 4.1, 5.2 and 6.1), each a function from a state to the next.

The stack of frames takes the place of nested subqueries, so the congruence rules (R-Step, A-Step, Q-Step) are the way
from a frame to its current atom, and Q-Result hands a stable subquery's table to its caller. Four things are added:

- Literals that the paper does not have reduce like A-Eq: A-Prim for other comparisons and functors, A-Agg for
  aggregates, which read relations of lower strata and so their final tables.
- A relation with input of its own begins with a rule that reads it.
- A relation that is not recursive is stable after one iteration (6.1).
- Q-Stable also asks that IDB has gained nothing for the subquery's arguments since the iteration began. In one
  adornment no other subquery can add such tuples; but `p(X, Y)`, called while `p(1, Y)` is active, does, and what was
  read of `p(1, Y)` before is then out of date.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from whence.engines.local.tables import LocalTables
from whence.lang.program import Aggregate, Atom, Call, Comparison, Const, Program, Record, Term, Var
from whence.step.blacklist import Blacklists
from whence.step.database import Database
from whence.step.rules import Part, Rulebook
from whence.step.state import Active, Adorned, Frame, Stack, State
from whence.step.value_table import UNIT, ValueTable, anti_join, empty, join, minus, project, rename, union


class Machine:
    """Reduces queries to a program, which may have relations and rules beside those that `tables` hold."""

    def __init__(self, tables: LocalTables, program: Program) -> None:
        self.program = program
        self.database = Database(tables, program)
        self.rulebook = Rulebook(program, self.database.inputs)
        self.blacklists = Blacklists(tables)

    def start(self, query: Atom) -> State:
        """The subquery of an atom of constants and variables, whose relation has rules."""
        columns = tuple(i for i, term in enumerate(query.args) if isinstance(term, Const))
        new = tuple(dict.fromkeys(term for term in query.args if isinstance(term, Var) and not term.anonymous))
        part = Part(query, (), new, columns=columns)
        state = State(None, self.database.nothing)
        return self._pushed(state, part, self.database.constants(part, UNIT))

    def prepare(self, state: State) -> None:
        """Makes ready what stepping over recursive calls needs, which takes a while where relations are large."""
        frame = state.frame
        found: dict[Adorned, None] = {frame.adorned: None}
        waiting = [frame.adorned]
        while waiting:
            relation, columns = waiting.pop()
            for ordered in self.rulebook.rules(self.program.relations[relation], columns):
                for part in ordered.parts:
                    if part.atom is not None and self.rulebook.derived(part.atom.relation):
                        called = (part.atom.relation, part.columns)
                        if called not in found:
                            found[called] = None
                            waiting.append(called)
        self.blacklists.prepare([one for one in found if one[0] in self.rulebook.recursive])

    def step(self, state: State, over: bool = False) -> State:
        """One reduction. Calls are stepped into, or over."""
        frame = state.frame
        if frame.returned is not None:
            return self._q_result(state)
        ordered = frame.ordered
        if ordered is None:
            return self._q_end(state)
        if frame.value is not None:
            return self._q_union(state)
        if frame.atom is not None:
            return self._r_merge(state)
        if frame.position == len(ordered.parts):
            value = project(frame.supplementary, ordered.head)
            return _with(state, "R-Result", value=rename(value, {name: i for i, name in enumerate(value.columns)}))
        return self._r_step(state, ordered.parts[frame.position], over)

    # Atoms

    def _r_step(self, state: State, part: Part, over: bool) -> State:
        """R-Step: the first atom is reduced under the supplementary table."""
        frame = state.frame
        if part.atom is None:
            return _with(state, _test(part), atom=self.database.final.extended(part, frame.supplementary))
        if not self.rulebook.derived(part.atom.relation):
            table = self.database.look_up(part, frame.supplementary, state.known)
            return _with(state, "A-EDB", atom=table)
        arguments = self.database.constants(part, frame.supplementary)  # eval
        fresh = self._fresh(state, part, arguments)
        if not len(fresh):
            return _with(state, "A-Skip", atom=self.database.look_up(part, frame.supplementary, state.known))
        if over:
            rule, table = self.over(state, part, frame.supplementary)
            return _with(state, rule, atom=table)
        return self._pushed(state, part, arguments, fresh)

    def enters(self, state: State, part: Part) -> bool:
        """Whether the next reduction of the current atom is A-Into."""
        if part.atom is None or not self.rulebook.derived(part.atom.relation):
            return False
        return len(self._fresh(state, part, self.database.constants(part, state.frame.supplementary))) > 0

    def over(self, state: State, part: Part, supplementary: ValueTable) -> tuple[str, ValueTable]:
        """The result of a call, without going through it."""
        assert part.atom is not None
        relation = part.atom.relation
        if not any(self.rulebook.together(relation, other) for other, _ in state.active):
            return "A-Over", self.database.final.matches(part, supplementary)
        found = self.database.look_up(part, supplementary, state.known)
        final = self.database.final.matches(part, supplementary)
        if len(found) < len(final):  # else everything is known already
            found = union(found, self.blacklists.reader(relation, state).matches(part, supplementary))
        return "A-OverRecursive", found

    def _fresh(self, state: State, part: Part, arguments: ValueTable) -> ValueTable:
        """The arguments that are not active (pushQuery's v')."""
        assert part.atom is not None
        if part.computed:
            arguments = self.database.met(part, arguments)
        active = state.active.get((part.atom.relation, part.columns))
        return arguments if active is None else minus(arguments, active.together)

    def _pushed(self, state: State, part: Part, arguments: ValueTable, fresh: ValueTable | None = None) -> State:
        """A-Into: pushQuery, and a frame for the subquery."""
        assert part.atom is not None
        relation = part.atom.relation
        fresh = arguments if fresh is None else fresh
        rules = self.rulebook.rules(self.program.relations[relation], part.columns)
        frame = Frame(
            relation,
            part,
            fresh,
            arguments,
            empty(range(self.program.relations[relation].arity)),
            _for_rule(fresh, rules[0].head),
            rules,
            known=state.known[relation].size,
        )
        active = {**state.active, frame.adorned: _push(state.active.get(frame.adorned), arguments)}
        return replace(state, stack=Stack(frame, state.stack), active=active, applied="A-Into", steps=state.steps + 1)

    # Rules

    def _r_merge(self, state: State) -> State:
        """The table that the first atom was reduced to is joined with the supplementary table."""
        frame = state.frame
        assert frame.atom is not None
        assert frame.current is not None
        part = frame.current
        if part.atom is None:
            merged = frame.atom  # it has the rows of the supplementary table already
        elif part.positive:
            merged = join(frame.supplementary, frame.atom)
        else:
            merged = anti_join(frame.supplementary, frame.atom)
        return _with(state, "R-Merge", atom=None, supplementary=merged, position=frame.position + 1)

    # Queries

    def _q_union(self, state: State) -> State:
        frame = state.frame
        assert frame.value is not None
        number = frame.rule + 1
        supplementary = frame.arguments
        if number < len(frame.rules):
            supplementary = _for_rule(frame.arguments, frame.rules[number].head)
        result = union(frame.result, frame.value)
        return _with(state, "Q-Union", value=None, result=result, rule=number, position=0, supplementary=supplementary)

    def _q_end(self, state: State) -> State:
        """Q-Stable or Q-Iterate."""
        frame = state.frame
        known = state.known[frame.relation]
        if frame.relation not in self.rulebook.recursive:
            known = known.with_rows(frame.result.rows)
            return self._q_stable(replace(state, known={**state.known, frame.relation: known}))
        held = known.holds(frame.result.rows)
        if held and not known.grew_for(frame.known, frame.part.columns, frame.arguments):
            return self._q_stable(state)
        if not held:
            known = known.with_rows(frame.result.rows)
        return replace(
            _with(
                state,
                "Q-Iterate",
                result=empty(frame.result.columns),
                rule=0,
                supplementary=_for_rule(frame.arguments, frame.rules[0].head),
                iteration=frame.iteration + 1,
                known=known.size,
            ),
            known={**state.known, frame.relation: known},
        )

    def _q_stable(self, state: State) -> State:
        """popQuery; the subquery is what IDB has for the arguments of the call."""
        frame, stack = state.frame, state.stack
        assert stack is not None
        supplementary = UNIT if stack.below is None else stack.below.top.supplementary
        table = self.database.look_up(frame.part, supplementary, state.known)
        active = _popped(state.active, frame.adorned)
        if stack.below is None:
            return replace(state, stack=None, active=active, answer=table, applied="Q-Stable", steps=state.steps + 1)
        return replace(_with(state, "Q-Stable", returned=table), active=active)

    def _q_result(self, state: State) -> State:
        """The table of a subquery takes the place of the call (6.1)."""
        stack = state.stack
        assert stack is not None
        assert stack.below is not None
        caller = replace(stack.below.top, atom=stack.top.returned)
        return replace(state, stack=Stack(caller, stack.below.below), applied="Q-Result", steps=state.steps + 1)

    def abandoned(self, state: State, frames: int = 1) -> State:
        """Step out, of so many calls: the subqueries are discarded, and the outermost call is stepped over (6.1)."""
        stack, active = state.stack, state.active
        for _ in range(frames):
            assert stack is not None
            left, stack = stack.top, stack.below
            if left.returned is None:
                active = _popped(active, left.adorned)
        supplementary = UNIT if stack is None else stack.top.supplementary
        before = replace(state, stack=stack, active=active)
        rule, table = self.over(before, left.part, supplementary)
        if stack is None:
            return replace(before, answer=table, applied=rule, steps=state.steps + 1)
        return _with(before, rule, atom=table)


def _with(state: State, applied: str, **changes: object) -> State:
    """The state with another frame on top."""
    stack = state.stack
    assert stack is not None
    frame = replace(stack.top, **changes)  # type: ignore[arg-type]
    return replace(state, stack=Stack(frame, stack.below), applied=applied, steps=state.steps + 1)


def _for_rule(arguments: ValueTable, head: Sequence[Var]) -> ValueTable:
    """The arguments of a subquery under the names that a rule has for its columns."""
    return ValueTable(tuple(head[column] for column in arguments.columns if isinstance(column, int)), arguments.rows)


def _push(active: Active | None, arguments: ValueTable) -> Active:
    together = arguments.rows
    if active is not None:
        together = union(arguments, ValueTable(arguments.columns, active.together)).rows
    return Active(arguments, together, active)


def _popped(active: Mapping[Adorned, Active], adorned: Adorned) -> dict[Adorned, Active]:
    """popQuery: without the latest query of p_α."""
    left = dict(active)
    below = left.pop(adorned).below
    return left if below is None else {**left, adorned: below}


def _test(part: Part) -> str:
    """The name of the rule that reduces a literal that is not an atom."""
    literal = part.literal
    if isinstance(literal, Aggregate):
        return "A-Agg"
    assert isinstance(literal, Comparison)
    if literal.op not in ("=", "!=") or _computed(literal.left) or _computed(literal.right):
        return "A-Prim"
    if literal.op == "!=":
        return "A-Neq"
    if not part.new:
        return "A-Eq"
    return "A-Eq-L" if isinstance(literal.left, Var) and literal.left in part.new else "A-Eq-R"


def _computed(term: Term) -> bool:
    return isinstance(term, Call | Record)
