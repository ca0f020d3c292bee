"""Interactions: steps over calls, out of them, to breakpoints and back; what they show is what the user wrote."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import whence
from oracle.evaluate import TooLarge, evaluate
from oracle.generate import programs
from oracle.render import render
from oracle.rules import Program
from step.running import some_query
from step.test_traces import FAMILY, PATH, SECTION_3
from whence.errors import WhenceError
from whence.step import Debugger

WORDY = """
.decl edge(x: number, y: number)
edge(1, 2). edge(2, 3). edge(3, 1). edge(3, 4).
.decl node(x: number)
.decl label(x: number, t: symbol)
node(x), label(x, cat("n", to_string(x))) :- edge(x, _); edge(_, x).
.decl out(x: number, n: number)
out(x, n) :- node(x),
    n = count : { edge(x, _) },
    (n > 1, !edge(x, 7) ; n < 1).
"""


def debugged(text: str, query: str) -> Debugger:
    session = whence.open(text=text, file="program.dl")
    session.run()
    return session.debug(query)


def answer(debugger: Debugger) -> set[tuple[object, ...]]:
    assert debugger.answer is not None
    return set(debugger.answer.rows())


def test_each_step_says_which_reduction_rule_it_was() -> None:
    d = debugged(SECTION_3, "path(1, Y)")
    assert d.stop.rule == "A-Into"
    assert [d.into().rule for _ in range(7)] == [
        "A-EDB", "R-Merge", "R-Result", "Q-Union", "A-EDB", "R-Merge", "A-Into",
    ]  # fmt: skip
    assert d.over().rule == "A-EDB"


def test_steps_by_atom() -> None:
    d = debugged(SECTION_3, "path(1, Y)")
    assert d.frame.atom == "edge(x, y)"
    assert d.over(by="atom").rules == ("A-EDB", "R-Merge", "R-Result", "Q-Union")
    assert (d.frame.atom, d.frame.result.rows()) == ("edge(x, z)", [(1, 2)])
    d.over(by="atom")
    assert (d.frame.atom, d.frame.bindings.rows()) == ("path(z, y)", [(1, 2)])  # type: ignore[union-attr]
    d.into(by="atom")
    assert [frame.call for frame in d.frames] == ["path(2, y)", "path(1, Y)"]
    assert [frame.place.line for frame in d.frames] == [4, 5]


def test_out_steps_over_the_call_instead() -> None:
    d = debugged(SECTION_3, "path(1, Y)")
    while len(d.frames) < 3:
        d.into()
    assert d.out().rule == "A-OverRecursive"
    assert [frame.call for frame in d.frames] == ["path(2, y)", "path(1, Y)"]
    assert set(d.frame.value.rows()) == {(3, 1), (3, 4)}  # type: ignore[union-attr]
    assert d.out().rule == "A-OverRecursive"
    assert d.out().reason == "done"
    assert answer(d) == {(1,), (2,), (3,), (4,)}


def test_resume_without_breakpoints_reads_the_bottom_up_database() -> None:
    d = debugged(SECTION_3, "path(1, Y)")
    stop = d.resume()
    assert (stop.reason, stop.rules) == ("done", ("A-Over",))


def test_back_goes_back_and_other_ways_can_be_taken() -> None:
    d = debugged(SECTION_3, "path(1, Y)")
    seen = [repr(d.frames)]
    for _ in range(30):
        d.into()
        seen.append(repr(d.frames))
    for shown in reversed(seen[:-1]):
        d.back()
        assert repr(d.frames) == shown
    assert d.back().reason == "beginning"
    d.over("atom")
    d.over("atom")
    d.over()
    d.back()
    d.into()
    d.resume()
    assert answer(d) == {(1,), (2,), (3,), (4,)}


def test_the_history_is_bounded() -> None:
    session = whence.open(text=SECTION_3)
    session.run()
    d = Debugger(session, "path(1, Y)", history=5)
    for _ in range(20):
        d.into()
    stops = [d.back().reason for _ in range(6)]
    assert stops == ["step"] * 5 + ["beginning"]


def test_restart() -> None:
    d = debugged(SECTION_3, "path(1, Y)")
    first = repr(d.frames)
    d.break_at("path", hits="2")
    assert d.resume().reason == "breakpoint"
    d.restart()
    assert repr(d.frames) == first
    assert d.breakpoints[0].met == 1  # the query itself is such a call


# Breakpoints


@pytest.mark.parametrize(
    ("options", "call", "atom"),
    [
        ({"where": "path"}, "path(2, y)", "edge(x, y)"),
        ({"where": "path", "rule": 2}, "path(1, Y)", "edge(x, z)"),
        ({"where": "path", "rule": 2, "atom": 2}, "path(1, Y)", "path(z, y)"),
        ({"where": 5}, "path(1, Y)", "edge(x, z)"),
        ({"where": 5, "column": 30}, "path(1, Y)", "path(z, y)"),
        ({"where": "path", "condition": "x = 3"}, "path(3, y)", "edge(x, y)"),
        ({"where": "path", "rule": 2, "atom": 2, "condition": "z = 4, x > 2"}, "path(3, y)", "path(z, y)"),
        ({"where": "path", "rule": 2, "atom": 2, "condition": "edge(z, 1)"}, "path(2, y)", "path(z, y)"),
        ({"where": "path", "hits": "2"}, "path(3, y)", "edge(x, y)"),
        ({"where": "path", "hits": ">= 3"}, "path(4, y)", "edge(x, y)"),
        ({"where": "path", "hits": "% 2"}, "path(3, y)", "edge(x, y)"),
        ({"where": "edge", "hits": "2"}, "path(2, y)", "edge(x, y)"),
    ],
)
def test_breakpoints(options: dict[str, object], call: str, atom: str) -> None:
    d = debugged(SECTION_3, "path(1, Y)")
    made = d.break_at(**options)  # type: ignore[arg-type]
    stop = d.resume()
    assert (stop.reason, stop.breakpoints) == ("breakpoint", (made,))
    assert (d.frame.call, d.frame.atom) == (call, atom)


def test_a_breakpoint_is_not_stepped_over() -> None:
    d = debugged(FAMILY, 'grandparent("Bob", Y)')
    d.break_at("mother")
    stop = d.over("atom")
    assert stop.reason == "breakpoint"
    assert [frame.call for frame in d.frames] == ['parent("Bob", z)', 'grandparent("Bob", Y)']
    assert d.frame.atom == "mother(x, y)"
    # What is left of the call reaches none, so it is left.
    d.over("atom")
    assert (d.frame.call, d.frame.atom) == ('grandparent("Bob", Y)', "parent(z, y)")


def test_a_breakpoint_that_cannot_be_reached_does_not_matter() -> None:
    d = debugged(FAMILY + ".decl other(x: symbol)\nother(x) :- mother(x, _).\n", 'grandparent("Bob", Y)')
    d.break_at("other")
    assert d.over().rule == "A-Over"
    assert d.resume().reason == "done"


def test_resume_meets_all_breakpoints_that_single_steps_meet() -> None:
    """001, 6.1: what is stepped over or out of has no breakpoint in it."""
    for options in ({"where": "path"}, {"where": "path", "rule": 2, "atom": 2, "condition": "z = 3"}):
        ones: list[list[str]] = []
        for run in (False, True):
            d = debugged(SECTION_3, "path(1, Y)")
            d.break_at(**options)  # type: ignore[arg-type]
            met: list[str] = []
            while not d.done:
                stop = d.resume() if run else d.into()
                if stop.reason == "breakpoint":
                    met.append(repr(d.frames))
            ones.append(met)
        assert ones[0] == ones[1]
        assert ones[0]


def test_run_to() -> None:
    d = debugged(SECTION_3, "path(1, Y)")
    d.run_to(5, 30)
    assert (d.frame.call, d.frame.atom) == ("path(1, Y)", "path(z, y)")
    assert not d.breakpoints


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"where": "pth"}, "no relation 'pth'"),
        ({"where": 99}, "no rule at or after line 99"),
        ({"where": "path", "rule": 3}, "no rule 3"),
        ({"where": "path", "rule": 1, "atom": 2}, "no atom 2"),
        ({"where": "path", "condition": "x >"}, "`x >`: "),
        ({"where": "path", "condition": "w = 1, w > z"}, "`w = 1, w > z`: "),
        ({"where": "path", "hits": "often"}, "does not count hits"),
        ({"where": "path", "hits": "% 0"}, "does not count hits"),
    ],
)
def test_breakpoints_that_cannot_be_set(options: dict[str, object], said: str) -> None:
    d = debugged(SECTION_3, "path(1, Y)")
    with pytest.raises(WhenceError, match=re.escape(said)):
        d.break_at(**options)  # type: ignore[arg-type]
    assert not d.breakpoints


# What is shown


def test_the_user_sees_the_clause_that_was_written() -> None:
    d = debugged(WORDY, "out(X, N)")
    texts, shown = set(), []
    while not d.done:
        for frame in d.frames:
            tables = (frame.arguments, frame.result, frame.bindings, frame.value)
            texts |= {frame.call, frame.rule, frame.atom}
            texts |= {name for table in tables if table is not None for name in table.names}
        if d.frames[0].relation == "out":
            shown.append(d.frames[0].atom)
        d.into(by="atom")
    clauses = {rule.text for rule in d.session.program.rules}
    assert {text for text in texts if ":-" in text} <= clauses
    for text in texts - clauses:  # generated names are a letter, a space and a number
        assert not re.search(r"\b[_a-z] \d", text), text
    # The prefix that both alternatives have is gone through once (6.2).
    assert list(dict.fromkeys(shown)) == [
        "node(x)", "n = count : { edge(x, _) }", "n > 1", "!edge(x, 7)", "n < 1",
    ]  # fmt: skip
    assert shown.count("node(x)") == 1
    assert answer(d) == {(3, 2), (4, 0)}


def test_rules_of_several_heads_and_computed_columns() -> None:
    d = debugged(WORDY, 'label(X, "n3")')
    assert d.frame.rule.startswith("node(x), label(x,")
    while not d.done:
        d.into()
    assert answer(d) == {(3,)}


def test_a_body_can_be_asked() -> None:
    d = debugged(SECTION_3, "path(1, Y), !edge(1, Y), Y < 4")
    assert (d.frame.relation, d.frame.atom, d.frame.place.file) == ("the query", "path(1, Y)", "<query>")
    d.into("atom")
    assert d.frame.call == "path(1, Y)"
    d.resume()
    assert answer(d) == {(1,), (3,)}


def test_input_relations_constants_and_repeated_variables_can_be_asked() -> None:
    for query, expected in [
        ("edge(1, Y)", {(1, 2)}),
        ("path(X, X)", {(1,), (2,), (3,)}),
        ("path(1, 4)", {()}),
        ("path(4, 1)", set()),
    ]:
        d = debugged(SECTION_3, query)
        while not d.done:
            d.into()
        assert answer(d) == expected, query


def test_watches_and_expressions() -> None:
    d = debugged(SECTION_3, "path(1, Y)")
    d.watch("path(1, Q)")
    d.watch("edge(z, W), W != 1")
    assert set(d.watched()["path(1, Q)"]) == set()  # type: ignore[arg-type]
    d.run_to(5, 30)
    assert d.evaluate("z").rows() == [(2,)]
    assert d.evaluate("edge(z, W)").rows() == [(2, 3)]
    assert set(d.evaluate("path(z, W)", final=True).rows()) == {(2, 1), (2, 2), (2, 3), (2, 4)}
    assert list(d.watched()["edge(z, W), W != 1"]) == [(2, 3)]  # type: ignore[arg-type]
    while d.state.stack is not None and d.state.stack.top.iteration == 1:
        d.over()
    assert set(d.watched()["path(1, Q)"]) == {(1,), (2,), (3,), (4,)}  # type: ignore[arg-type]
    with pytest.raises(WhenceError, match="not bound"):
        d.evaluate("Z > 3")


def test_the_session_must_be_run_and_must_not_change() -> None:
    session = whence.open(text=SECTION_3.replace(".decl path", ".input edge\n.decl path"))
    with pytest.raises(WhenceError, match="run the session"):
        session.debug("path(1, Y)")
    session.run()
    d = session.debug("path(1, Y)")
    session.update(insert={"edge": [(4, 5)]})
    with pytest.raises(WhenceError, match="has changed"):
        d.into()


def test_after_updates(tmp_path: Path) -> None:
    """What an update deleted is not seen, and what it inserted is; in a state on disk too."""
    session = whence.open(text=SECTION_3.replace(".decl path", ".input edge\n.decl path"))
    session.run()
    session.update(delete={"edge": [(3, 1)]}, insert={"edge": [(4, 5), (5, 4)]})
    session.update(insert={"edge": [(3, 1)]}, delete={"edge": [(1, 2)]})
    session.save(tmp_path / "state")
    for one in (session, whence.open_state(tmp_path / "state")):
        for query in ("path(3, Y)", "path(X, 5)", "path(1, Y)", "path(X, Y)"):
            expected = {row for row in session["path"] if f"path({row[0]}, Y)" == query or query[5] == "X"}
            expected = {row for row in expected if query != "path(X, 5)" or row[1] == 5}
            for step in (Debugger.into, Debugger.over):
                d = one.debug(query)
                while not d.done:
                    step(d)
                assert d.answer is not None
                assert len(d.answer) == len(expected), query


def test_relations_without_columns_and_without_tuples() -> None:
    text = """
    .decl e(x: number)
    .decl some()
    .decl none()
    .decl both(x: number)
    some() :- e(_).
    none() :- !some().
    both(x) :- x = 1, none(), !some().
    both(x) :- x = 2, none().
    """
    for facts, expected in [("", {(1,), (2,)}), ("e(7).", set())]:
        d = debugged(text + facts, "both(X)")
        while not d.done:
            d.into()
        assert answer(d) == expected
        for query, holds in [("some()", bool(facts)), ("none()", not facts)]:
            d = debugged(text + facts, query)
            while not d.done:
                d.into()
            assert (answer(d) == {()}) == holds


def test_a_deep_recursion() -> None:
    session = whence.open(text=PATH)
    session.load(edge=[(n, n + 1) for n in range(400)])
    session.run()
    d = session.debug("path(0, Y)")
    while d.state.stack is not None and d.state.stack.top.arguments.sets != {(399,)}:
        d.into()
    assert len(d.frames) == 400
    assert d.frames[0].call == "path(399, y)"
    for _ in range(20):
        d.over()
    for _ in range(3):
        d.out()
    d.resume()
    assert d.answer is not None
    assert len(d.answer) == 400


def test_sessions_that_cannot_be_debugged() -> None:
    session = whence.open(text=SECTION_3, counts=False)
    session.run()
    with pytest.raises(WhenceError, match="counts=True"):
        session.debug("path(1, Y)")


# Any program


@settings(max_examples=25, deadline=None)
@given(programs(), st.integers(0, 2**32 - 1))
def test_any_interactions_give_the_answer_and_can_be_taken_back(program: Program, seed: int) -> None:
    try:
        model = evaluate(program, 60_000)
    except TooLarge:
        assume(False)
        raise
    random = Random(seed)
    query, expected = some_query(program, model, random)
    d = debugged(render(program), query)
    if random.random() < 0.5:
        d.break_at(random.choice([name for name in program.relations if not name.startswith("no")]))
    for _ in range(60):
        if d.done:
            break
        act = random.choice([d.into, d.over, d.out, d.resume, lambda: d.into("atom"), lambda: d.over("atom"), d.back])
        act()
        repr(d.frames)
    for one in d.breakpoints:
        one.enabled = False
    if not d.done:
        d.resume()
    assert d.answer is not None
    assert len(d.answer) == len(expected)
