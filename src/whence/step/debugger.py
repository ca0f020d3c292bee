"""The debugger: interactions over the machine (001, 6.1), with breakpoints and a history to go back in.

    d = session.debug("path(1, Y)")
    d.into(); d.over(); d.out(); d.resume(); d.back()
    d.frames[0].bindings.rows()

A step is one reduction, or goes on to the next atom (`by="atom"`). Parts of rules that the user did not write are
passed over, and so are the remaining atoms of a rule whose supplementary table is empty.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from whence.engines.local.tables import LocalTables
from whence.errors import WhenceError
from whence.lang.program import Column, Var
from whence.step.breakpoints import (
    Breakpoint,
    Reach,
    Target,
    at_atom,
    at_line,
    at_relation,
    at_rule,
    meets,
    named_atom,
    rules_of,
)
from whence.step.expression import Expression, compiled
from whence.step.machine import Machine
from whence.step.query import asked
from whence.step.reach import reachable
from whence.step.source import FrameShown, Shown, Source
from whence.step.state import Frame, State
from whence.step.value_table import UNIT, ValueTable

if TYPE_CHECKING:
    from whence.session import Session

By = Literal["reduction", "atom"]
HISTORY = 10_000  # states that one can go back to


@dataclass(frozen=True)
class Stop:
    """Why the debugger stopped, and by which reduction rules it came there, the last ones if they are many.

    `reason` is `step`, `breakpoint`, `done`, `paused` or `beginning`.
    """

    reason: str
    rules: tuple[str, ...] = ()
    breakpoints: tuple[Breakpoint, ...] = ()

    @property
    def rule(self) -> str:
        """The reduction rule that was applied last."""
        return self.rules[-1] if self.rules else ""


class Debugger:
    """One query, stepped through. It reads the session's relations, which must not change meanwhile."""

    def __init__(self, session: Session, query: str, history: int = HISTORY) -> None:
        tables = session.engine.tables
        if not isinstance(tables, LocalTables):
            raise WhenceError("the debugger needs engine='local': save the session, and debug the state that is saved")
        if not tables.counts:
            raise WhenceError("derivations were not counted: open the session with counts=True to debug it")
        self.session = session
        self.epoch = session.epoch
        self.asked = asked(query, session.program)
        self.program = self.asked.program
        self.machine = Machine(tables, self.program)
        self.source = Source(self.program, tables)
        self.reaching = reachable(self.program)
        self.breakpoints: list[Breakpoint] = []
        self.watches: list[str] = []
        self.history: deque[tuple[State, bool]] = deque(maxlen=history)  # and whether each was shown
        self.paused: Callable[[], bool] = lambda: False
        self._numbers = 0
        self._once: tuple[Target, ...] = ()  # of a run to some place
        self.state = self.machine.start(self.asked.atom)
        self.stop = self._begun()

    # What there is

    @property
    def done(self) -> bool:
        return self.state.done

    @property
    def answer(self) -> Shown | None:
        """The values of the query's variables, once it is done."""
        if not self.state.done:
            return None
        return self.source.answer(self.state, self.asked.atom, self.asked.names)

    @property
    def frames(self) -> list[FrameShown]:
        """The calls that are under way, the innermost first."""
        return self.calls()

    def calls(self, start: int = 0, count: int | None = None) -> list[FrameShown]:
        """Some of them, where the stack is deep."""
        return self.source.frames(self._frames(), start, count)

    @property
    def depth(self) -> int:
        """How many calls are under way."""
        return 0 if self.state.stack is None else self.state.stack.depth

    @property
    def frame(self) -> FrameShown:
        self._must_go_on()
        return self.calls(0, 1)[0]

    def known(self, relation: str) -> Shown:
        """IDB: what the debugger has derived of a relation so far."""
        known = self.state.known.get(relation)
        if known is None:
            raise WhenceError(f"{relation} is not derived by rules")
        arity = self.program.relations[relation].arity
        return self.source.relation(relation, ValueTable(tuple(range(arity)), known.rows))

    def _frames(self) -> Iterator[Frame]:
        return iter(self.state.stack or ())

    # Interactions

    def into(self, by: By = "reduction") -> Stop:
        """One step, into a call if one is next."""
        return self._step(False, by)

    def over(self, by: By = "reduction") -> Stop:
        """One step, over a call if one is next. If the call may come to a breakpoint, it is run until one is met."""
        return self._step(True, by)

    def out(self) -> Stop:
        """Leaves the current call: it is stepped over instead. If what is left of it may come to a breakpoint, it is
        run until one is met."""
        self._must_go_on()
        depth = self.depth
        return self._run(lambda state: state.stack is None or state.stack.depth < depth, depth)

    def resume(self) -> Stop:
        """Runs to the next breakpoint, or to the end."""
        self._must_go_on()
        return self._run(lambda state: False, 1)

    def run_to(self, line: int, column: int | None = None) -> Stop:
        """Runs to a line, or to the atom at a place."""
        targets = at_line(self.program, line)[1] if column is None else at_atom(self.program, line, column)
        self._once = targets
        try:
            return self.resume()
        finally:
            self._once = ()

    def back(self, by: By = "reduction") -> Stop:
        """Takes the last step back."""
        rules: list[str] = []
        while self.history:
            rules.append(self.state.applied)
            self.state, shown = self.history.pop()
            if shown and (by == "reduction" or self._rests(self.state)):
                return self._stopped("step", rules)
        return self._stopped("beginning", rules)

    def back_to_breakpoint(self) -> Stop:
        """Goes back until a breakpoint is met, or to the beginning of the history."""
        while self.history:
            self.state, _ = self.history.pop()
            met = tuple(b for b in self.breakpoints if b.enabled and self._meets(b, self.state))
            if met:
                self.stop = Stop("breakpoint", (self.state.applied,), met)
                return self.stop
        return self._stopped("beginning", [])

    def restart(self) -> Stop:
        """Begins the query anew; breakpoints and watches stay."""
        for one in self.breakpoints:
            one.met = 0
        self.history.clear()
        self.state = self.machine.start(self.asked.atom)
        self.stop = self._begun()
        return self.stop

    # Breakpoints

    def break_at(
        self,
        where: str | int | None = None,
        *,
        rule: int | None = None,
        atom: int | None = None,
        column: int | None = None,
        condition: str | None = None,
        hits: str = "",
    ) -> Breakpoint:
        """Sets a breakpoint: at a relation, `rule=2` of it and `atom=1` of that (counted from 1), or at a line.

        `condition` is a body over the variables of the rule, or over the columns of the relation; it must hold for some
        row. `hits` says at which of the times it is met to stop: `3`, `>= 3`, `% 3`.
        """
        line: int | None = None
        if isinstance(where, int):
            if column is None:
                line, targets = at_line(self.program, where)
            else:
                line, targets = where, at_atom(self.program, where, column)
            text = f"line {line}" + (f", column {column}" if column is not None else "")
        elif where is None:
            raise WhenceError("give a relation or a line to stop at")
        elif rule is None:
            text, targets = where, at_relation(self.program, where)
        else:
            at_relation(self.program, where)
            targets = named_atom(self.program, where, rule, atom or 1)
            text = f"{where}, rule {rule}" + (f", atom {atom}" if atom else "")
            if atom is None:
                targets = tuple(dict.fromkeys(at_rule(one) for one in rules_of(self.program, where)[rule - 1]))
        self._numbers += 1
        expression = None if not condition else self._condition(condition, targets[0])
        made = Breakpoint(self._numbers, text, targets, expression, hits, line=line)
        self.breakpoints.append(made)
        return made

    def delete(self, number: int) -> None:
        kept = [one for one in self.breakpoints if one.number != number]
        if len(kept) == len(self.breakpoints):
            raise WhenceError(f"there is no breakpoint {number}")
        self.breakpoints = kept

    def _condition(self, text: str, target: Target) -> Expression:
        """A condition over the variables of a rule, or over the columns of a relation."""
        scope: dict[str, Column] = {}
        if target.rule is None:
            scope = {column.name: column for column in self.program.relations[target.relation].columns}
        else:
            for rule in self.program.rules:
                if at_rule(rule) == Target(target.relation, target.rule):
                    columns = tuple(range(self.program.relations[target.relation].arity))
                    for one in self.machine.rulebook.rules(self.program.relations[target.relation], columns):
                        if one.rule is rule:
                            scope |= self._scope(one.head, [v for p in one.parts for v in (*p.bound, *p.new)], one)
        return compiled(text, self.program, scope)

    def _scope(self, head: tuple[Var, ...], others: list[Var], ordered: Any) -> dict[str, Column]:
        types = self.source.types(ordered)
        return {
            variable.name: Column(variable.name, types.get(variable.name, variable.kind), variable.kind)
            for variable in (*head, *others)
            if " " not in variable.name and (variable.kind != "record" or variable.name in types)
        }

    # Watches

    def evaluate(self, text: str, frame: int = 0, final: bool = False) -> Shown:
        """The values for which a body such as `edge(X, Z), Z > 3` holds, with the current values of the frame's
        variables. What is derived is read as far as it is known; `final` reads what it will be in the end. The name of
        a variable alone asks for its values."""
        frames = list(self._frames())
        scope: dict[str, Column] = {}
        bindings = UNIT
        if frame < len(frames) and (ordered := frames[frame].ordered) is not None:
            bindings = frames[frame].supplementary
            scope = self._scope((), [one for one in bindings.columns if isinstance(one, Var)], ordered)
        text = text.strip().removesuffix(".")
        if text in scope:
            text = f"{text} = {text}"
        return compiled(text, self.program, scope).value(self.machine.database, bindings, self.state.known, final)

    def watch(self, text: str) -> Shown:
        """Evaluates an expression at every stop from now on, and once now."""
        found = self.evaluate(text)
        self.watches.append(text)
        return found

    def watched(self) -> Mapping[str, Shown | str]:
        """The values of the watches here, or why one has none."""
        found: dict[str, Shown | str] = {}
        for text in self.watches:
            try:
                found[text] = self.evaluate(text)
            except WhenceError as error:
                found[text] = str(error)
        return found

    # Steps

    def _begun(self) -> Stop:
        """Where a query begins: at the first part that the user wrote."""
        rules, met = self._come_to(["A-Into"])
        return Stop("breakpoint" if met else "step", tuple(rules), met)

    def _come_to(self, rules: list[str]) -> tuple[list[str], tuple[Breakpoint, ...]]:
        """Passes over what the user did not write, and says which breakpoints were met before or after that."""
        met = self._met()
        state = self.state
        rules = self._pass_over(rules)
        return rules, met if met or self.state is state else self._met()

    def _must_go_on(self) -> None:
        if self.state.done:
            raise WhenceError("the query is done; restart it, or go back")
        if self.session.epoch != self.epoch:
            raise WhenceError("the session has changed since the debugger was opened; open another one")

    def _reduce(self, over: bool, shown: bool = True) -> None:
        self.history.append((self.state, shown))
        self.state = self.machine.step(self.state, over)

    def _step(self, over: bool, by: By) -> Stop:
        self._must_go_on()
        state = self.state
        if over and not self._vain(state) and state.frame.atom is None and self._forbidden(state):
            depth, steps = self.depth, state.steps

            def returned(state: State) -> bool:
                if state.stack is None or state.stack.depth < depth:
                    return True
                return state.stack.depth == depth and state.steps > steps and state.frame.atom is not None

            stop = self._run(returned, depth + 1)
            if stop.reason != "step" or by == "reduction":
                return stop
            return self._stopped("step", self._settle([*stop.rules]), self._met())
        rules: list[str] = []
        if self._vain(state):
            while not self.state.done and self.state.frame.current is not None:
                self._reduce(True, self.state is state)
                rules.append(self.state.applied)
        else:
            self._reduce(over)
            rules.append(self.state.applied)
        rules, met = self._come_to(rules)
        if by == "atom" and not self._rests(self.state):
            rules = self._settle(rules)
            met = self._met()
        return self._stopped("step", rules, met)

    def _settle(self, rules: list[str]) -> list[str]:
        """Goes on to where an atom's turn is."""
        while not self._rests(self.state):
            self._reduce(True)
            rules = self._pass_over([*rules, self.state.applied])
        return rules

    def _rests(self, state: State) -> bool:
        return state.done or (state.frame.current is not None and state.frame.atom is None and not self._silent(state))

    def _pass_over(self, rules: list[str]) -> list[str]:
        """Passes over what the user did not write."""
        while self._silent(self.state):
            self._reduce(True, False)
            rules.append(self.state.applied)
        return rules

    def _silent(self, state: State) -> bool:
        if state.done:
            return False
        part = state.frame.current
        return part is not None and part.silent

    def _vain(self, state: State) -> bool:
        """Whether the current rule has come to nothing."""
        frame = state.frame
        return frame.current is not None and frame.atom is None and not len(frame.supplementary)

    def _stopped(self, reason: str, rules: list[str], met: tuple[Breakpoint, ...] = ()) -> Stop:
        if self.state.done:
            reason = "done"
        elif met:
            reason = "breakpoint"
        self.stop = Stop(reason, tuple(rules[-20:]), met)
        return self.stop

    # Running

    def _run(self, returned: Callable[[State], bool], depth: int) -> Stop:
        """001, 6.1: step out if that is possible, else over if that is, else into, until a breakpoint is met. Frames
        below `depth` are not left."""
        rules: deque[str] = deque(maxlen=20)
        reach = self._reach()
        first = True
        while not self.state.done:
            if not first and self.paused():
                return self._stopped("paused", list(rules))
            first = False
            leaves = self._can_leave(reach, depth)
            if leaves:
                self.history.append((self.state, True))
                self.state = self.machine.abandoned(self.state, leaves)
            else:
                self._reduce(not self._forbidden(self.state, reach), not self._silent(self.state))
            rules.append(self.state.applied)
            if self.state.done:
                break
            met = self._met()
            if met or self._arrived():
                return self._stopped("step", self._pass_over(list(rules)), met)
            if returned(self.state):
                break
        return self._stopped("step", self._pass_over(list(rules)))

    def _can_leave(self, reach: Reach, depth: int) -> int:
        """How many calls can be stepped out of at once. The query itself is no relation of the bottom-up database,
        unless it is a call of one."""
        frames = list(self._frames())
        most = len(frames) - depth + 1
        if depth == 1 and not self.asked.whole:
            most -= 1
        return next((left for left, frame in enumerate(frames[:most]) if reach.rest(frame)), max(0, most))

    def _reach(self) -> Reach:
        targets = [target for one in self.breakpoints if one.enabled for target in one.targets]
        return Reach((*targets, *self._once), self.reaching, self.machine.rulebook)

    def _forbidden(self, state: State, reach: Reach | None = None) -> bool:
        """Whether the current call must not be stepped over, because it may come to a breakpoint."""
        part = state.frame.current
        if part is None or part.atom is None or not self.machine.rulebook.derived(part.atom.relation):
            return False
        return (reach or self._reach()).call(part.atom.relation)

    def _arrived(self) -> bool:
        return any(meets(target, self.state, self.machine.rulebook) for target in self._once) and not self._vain(
            self.state
        )

    def _met(self) -> tuple[Breakpoint, ...]:
        """The breakpoints that are met here, each counted."""
        if self.state.done or self._vain(self.state):
            return ()
        return tuple(one for one in self.breakpoints if one.enabled and self._meets(one, self.state) and one.stops())

    def _meets(self, one: Breakpoint, state: State) -> bool:
        if state.done or not any(meets(target, state, self.machine.rulebook) for target in one.targets):
            return False
        return one.condition is None or self._holds(one.condition, one.targets[0], state)

    def _holds(self, condition: Expression, target: Target, state: State) -> bool:
        frame = state.frame
        bindings = frame.supplementary
        if target.rule is None:
            declared = self.program.relations[frame.relation].columns
            names = {i: Var(column.name, column.kind) for i, column in enumerate(declared)}
            bindings = ValueTable(
                tuple(names[i] for i in frame.arguments.columns if isinstance(i, int)), frame.arguments.rows
            )
        if not set(condition.given) <= set(bindings.columns):
            return False  # a variable that has no value yet
        return condition.holds(self.machine.database, bindings, state.known)
