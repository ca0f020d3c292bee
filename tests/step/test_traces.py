"""The reduction traces of 001, sections 3.4, 4.2 and 5, state for state.

In 3.4 the text has the inner subquery return (2, 2) in the first iteration already. That tuple is a path through node
1, whose query is active and of which IDB has nothing yet, so it comes in the second iteration; section 5 agrees.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import whence
from step.running import machine_of, values
from whence.step.machine import Machine
from whence.step.state import Frame, State
from whence.step.value_table import ValueTable

PATH = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, y) :- edge(x, z), path(z, y).
"""
SECTION_3 = PATH + "edge(1, 2). edge(2, 3). edge(3, 1). edge(3, 4)."
SECTION_5 = PATH + "edge(1, 2). edge(2, 3). edge(3, 1). edge(1, 4). edge(4, 5). edge(5, 4)."
FAMILY = """
.decl father(x: symbol, y: symbol)
.decl mother(x: symbol, y: symbol)
father("Bob", "Charlie"). father("Bob", "Dave"). father("Dave", "Mallory").
mother("Alice", "Charlie"). mother("Eve", "Dave").
.decl parent(x: symbol, y: symbol)
parent(x, y) :- father(x, y).
parent(x, y) :- mother(x, y).
.decl grandparent(x: symbol, y: symbol)
grandparent(x, y) :- parent(x, z), parent(z, y).
"""


class Trace:
    """A machine with its state, and what the state holds as the paper writes it."""

    def __init__(self, text: str, query: str) -> None:
        self.session = whence.open(text=text)
        self.session.run()
        self.machine: Machine
        self.state: State
        self.machine, self.asked, self.state = machine_of(self.session, query)
        self.rules: list[str] = []

    def step(self, over: bool = False) -> str:
        self.state = self.machine.step(self.state, over)
        self.rules.append(self.state.applied)
        return self.state.applied

    def until(self, holds: Callable[[Frame], bool], over: bool = False) -> None:
        while not holds(self.state.frame):
            self.step(over)

    @property
    def frame(self) -> Frame:
        return self.state.frame

    def shown(self, table: ValueTable | None) -> tuple[list[str], set[tuple[object, ...]]]:
        """The names of a table's columns, and its tuples."""
        assert table is not None
        names = [getattr(name, "name", str(name)) for name in table.columns]
        symbols = "symbol" in {c.kind for r in self.session.program.relations.values() for c in r.columns}
        decode = self.session.engine.tables.values.decode
        columns = [decode(table.rows[:, i], "", "symbol" if symbols else "number") for i in range(len(names))]
        return names, set(zip(*columns, strict=True)) if columns else set(table.sets)

    def rest(self) -> list[str]:
        """What is left of the current rule's body, and the rules after it."""
        frame = self.frame
        if frame.ordered is None:
            return []
        here = [self.relation(part.atom) for part in frame.ordered.parts[frame.position :]]
        return [f"<- {', '.join(here)}", *(f"rule {n + 1}" for n in range(frame.rule + 1, len(frame.rules)))]

    @staticmethod
    def relation(atom: object) -> str:
        return getattr(atom, "relation", "?")


def at(rule: int, position: int) -> Callable[[Frame], bool]:
    return lambda frame: (frame.rule, frame.position, frame.atom, frame.value) == (rule, position, None, None)


def test_section_3_4() -> None:
    trace = Trace(SECTION_3, "path(1, Y)")
    # sq(path(1, Y), v_q, ∅, v_q, both rules); Γ is path_bf ↦ v_q
    assert trace.state.applied == "A-Into"
    assert trace.shown(trace.frame.arguments) == (["0"], {(1,)})
    assert trace.shown(trace.frame.supplementary) == (["x"], {(1,)})
    assert not len(trace.frame.result)
    assert [len(list(active)) for active in trace.state.active.values()] == [1]
    assert trace.rest() == ["<- edge", "rule 2"]
    # the first rule has become v = {(1, 2)}
    assert [trace.step() for _ in range(3)] == ["A-EDB", "R-Merge", "R-Result"]
    assert trace.shown(trace.frame.value) == (["0", "1"], {(1, 2)})
    assert trace.shown(trace.frame.supplementary) == (["x", "y"], {(1, 2)})
    # Q-Union: v_r = v, the supplementary table is v_q again
    assert trace.step() == "Q-Union"
    assert trace.shown(trace.frame.result)[1] == {(1, 2)}
    assert trace.shown(trace.frame.supplementary) == (["x"], {(1,)})
    # path(x, y) :- path(z, y), under v_sup = {(1, 2)}
    assert [trace.step() for _ in range(2)] == ["A-EDB", "R-Merge"]
    assert trace.shown(trace.frame.supplementary) == (["x", "z"], {(1, 2)})
    assert trace.rest() == ["<- path"]
    # A-Into: Γ is path_bf ↦ v'_q, v_q
    assert trace.step() == "A-Into"
    assert trace.state.stack is not None
    assert trace.state.stack.depth == 2
    (active,) = trace.state.active.values()
    assert [table.sets for table in active] == [{(2,)}, {(1,)}]
    assert trace.shown(trace.frame.supplementary) == (["x"], {(2,)})
    assert trace.rest() == ["<- edge", "rule 2"]
    # The inner subquery returns; A-Skip has ended its recursion.
    outer = trace.state.stack.below
    assert outer is not None
    trace.until(lambda frame: trace.state.stack.depth == 1)  # type: ignore[union-attr]
    assert "A-Skip" in trace.rules
    assert trace.rules[-2:] == ["Q-Stable", "Q-Result"]
    assert trace.shown(trace.frame.atom) == (["z", "y"], {(2, 3), (2, 4), (2, 1)})
    (active,) = trace.state.active.values()
    assert [table.sets for table in active] == [{(1,)}]
    # R-Merge, R-Result, Q-Union
    assert trace.step() == "R-Merge"
    assert trace.shown(trace.frame.supplementary) == (["x", "z", "y"], {(1, 2, 3), (1, 2, 4), (1, 2, 1)})
    assert trace.step() == "R-Result"
    assert trace.shown(trace.frame.value)[1] == {(1, 3), (1, 4), (1, 1)}
    assert trace.step() == "Q-Union"
    assert trace.shown(trace.frame.result)[1] == {(1, 2), (1, 3), (1, 4), (1, 1)}
    assert trace.rest() == []
    # Q-Iterate: IDB has what is new, and the subquery is as it was at first
    assert trace.step() == "Q-Iterate"
    assert {tuple(row) for row in trace.state.known["path"].rows.tolist()} >= {(1, 2), (1, 3), (1, 4), (1, 1)}
    assert not len(trace.frame.result)
    assert trace.shown(trace.frame.supplementary) == (["x"], {(1,)})
    assert trace.rest() == ["<- edge", "rule 2"]
    # The second iteration takes the same way; now the inner subquery has (2, 2) too.
    trace.until(lambda frame: trace.state.stack.depth == 1 and trace.rules[-1] == "Q-Result")  # type: ignore[union-attr]
    assert trace.shown(trace.frame.atom)[1] == {(2, 3), (2, 4), (2, 1), (2, 2)}
    assert trace.step() == "R-Merge"
    assert trace.shown(trace.frame.supplementary)[1] == {(1, 2, 3), (1, 2, 4), (1, 2, 1), (1, 2, 2)}
    assert [trace.step() for _ in range(2)] == ["R-Result", "Q-Union"]
    assert trace.shown(trace.frame.result)[1] == {(1, 2), (1, 3), (1, 4), (1, 1)}
    # Q-Stable: Γ is empty, a value table remains
    assert trace.step() == "Q-Stable"
    assert trace.state.done
    assert not trace.state.active
    assert values(trace.session, trace.asked, trace.state) == {(1, 2), (1, 3), (1, 4), (1, 1)}


def test_section_4_2() -> None:
    trace = Trace(FAMILY, 'grandparent("Bob", Y)')
    assert trace.shown(trace.frame.arguments) == (["0"], {("Bob",)})
    assert trace.rest() == ["<- parent, parent"]
    assert set(trace.session["parent"]) == {
        ("Bob", "Charlie"),
        ("Bob", "Dave"),
        ("Dave", "Mallory"),
        ("Alice", "Charlie"),
        ("Eve", "Dave"),
    }
    assert set(trace.session["grandparent"]) == {("Bob", "Mallory"), ("Eve", "Mallory")}
    before = trace.state
    assert trace.step(over=True) == "A-Over"
    assert trace.shown(trace.frame.atom) == (["x", "z"], {("Bob", "Charlie"), ("Bob", "Dave")})
    assert not len(trace.frame.result)
    # The state before has not changed: the same call can be stepped into instead.
    assert trace.machine.step(before).applied == "A-Into"
    while not trace.state.done:
        trace.step(over=True)
    assert values(trace.session, trace.asked, trace.state) == {("Bob", "Mallory")}


def test_section_5() -> None:
    trace = Trace(SECTION_5, "path(1, Y)")
    assert (2, 5) in trace.session["path"]
    trace.until(at(1, 1))
    # sq(path(1, Y), v_q, v_r, v_sup, path(X, Y) :- path(Z, Y)). Node 1 has two edges here, the text follows one.
    assert trace.shown(trace.frame.result)[1] == {(1, 2), (1, 4)}
    assert trace.shown(trace.frame.supplementary) == (["x", "z"], {(1, 2), (1, 4)})
    assert trace.step(over=True) == "A-OverRecursive"
    # Not (2, 2), (2, 4) and (2, 5): these lead through node 1, whose query is active.
    assert trace.shown(trace.frame.atom) == (["z", "y"], {(2, 3), (2, 1), (4, 5), (4, 4)})


def test_section_5_1_an_inner_subquery_is_blacklisted_too() -> None:
    trace = Trace(SECTION_5, "path(1, Y)")
    trace.until(at(1, 1))
    trace.step()
    trace.until(at(1, 1))
    assert trace.shown(trace.frame.arguments)[1] == {(2,), (4,)}
    assert trace.shown(trace.frame.supplementary) == (["x", "z"], {(2, 3), (4, 5)})
    assert trace.step(over=True) == "A-OverRecursive"
    # Paths from 1 are visible only in later iterations, and so are those that go on from 4.
    assert trace.shown(trace.frame.atom) == (["z", "y"], {(3, 1), (5, 4)})


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        ("x = 1, y = 2", ["A-Eq-L", "R-Merge", "A-Eq-L", "R-Merge"]),
        ("1 = x, 2 = y", ["A-Eq-R", "R-Merge", "A-Eq-R", "R-Merge"]),
        ("x = 1, y = 2, x = y", ["A-Eq-L", "R-Merge", "A-Eq-L", "R-Merge", "A-Eq", "R-Merge"]),
        ("x = 1, y = x, x != y", ["A-Eq-L", "R-Merge", "A-Eq-L", "R-Merge", "A-Neq", "R-Merge"]),
        ("x = 1, y = x + 1", ["A-Eq-L", "R-Merge", "A-Prim", "R-Merge"]),
        ("x = 1, y = count : { e(_, _) }", ["A-Eq-L", "R-Merge", "A-Agg", "R-Merge", "A-Eq-L", "R-Merge"]),
        ("e(x, y)", ["A-EDB", "R-Merge"]),
        ("e(x, y), !e(y, x)", ["A-EDB", "R-Merge", "A-EDB", "R-Merge"]),
    ],
)
def test_literals_reduce_by_the_rules_of_figure_4(body: str, rules: list[str]) -> None:
    text = f".decl e(x: number, y: number)\ne(1, 2).\n.decl p(x: number, y: number)\np(x, y) :- {body}."
    trace = Trace(text, "p(X, Y)")
    while not trace.state.done:
        trace.step()
    assert trace.rules == [*rules, "R-Result", "Q-Union", "Q-Stable"]


def test_section_3_2_equations_bind_and_filter() -> None:
    """edge(X, Y) :- X = 1, Y = 2, which begins with {2, 3, 4} for Y."""
    text = """
    .decl n(y: number)
    n(2). n(3). n(4).
    .decl edge(x: number, y: number)
    edge(x, y) :- x = 1, y = 2.
    .decl q(x: number, y: number)
    q(x, y) :- n(y), edge(x, y).
    """
    trace = Trace(text, "q(X, Y)")
    trace.until(at(0, 1))
    assert trace.step() == "A-Into"
    assert trace.shown(trace.frame.supplementary) == (["y"], {(2,), (3,), (4,)})
    trace.until(at(0, 1))
    assert trace.shown(trace.frame.supplementary) == (["y", "x"], {(2, 1), (3, 1), (4, 1)})
    trace.until(at(0, 2))
    assert trace.shown(trace.frame.supplementary) == (["y", "x"], {(2, 1)})
