"""The circuit engine: facts and rules come and go, and what follows is what the oracle and the local engine say."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whence
from maintain.changing import steps, with_inputs
from oracle.evaluate import TooLarge, evaluate
from oracle.generate import programs
from oracle.rules import Program, Tuple
from whence.engines.circuit.engine import CircuitEngine
from whence.errors import WhenceError
from whence.lang import compile_text
from whence.maintain import Impact

STEPS = 40_000
Relations = dict[str, set[Tuple]]

PATHS = """
.decl edge(x: symbol, y: symbol)
.input edge
.decl path(x: symbol, y: symbol)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


def opened(text: str, **facts: list[Tuple]) -> whence.Session:
    session = whence.open(text=text, engine="circuit", warn=lambda message: None)
    session.load(**facts)
    session.run()
    return session


def changed(
    session: whence.Session,
    text: str,
    insert: dict[str, list[Tuple]] | None = None,
    delete: dict[str, list[Tuple]] | None = None,
) -> Impact:
    """Goes on with another program."""
    return session.update(insert, delete, program=compile_text(text, warn=lambda message: None))


def held(session: whence.Session) -> Relations:
    return {name: set(session[name]) for name in session}


def wanted(program: Program) -> Relations:
    return {name: set(model) for name, model in evaluate(program, STEPS).items()}


def by_the_local_engine(program: Program) -> Relations:
    session = whence.open(text=with_inputs(program), warn=lambda message: None)
    session.load(**{name: list(rows) for name, rows in program.facts.items()})
    session.run()
    return held(session)


def rule_changes(program: Program, random: Random, count: int) -> Iterator[tuple[Program, dict, dict]]:  # type: ignore[type-arg]
    """Programs with other facts and with some of the rules, each with the change of facts that leads there."""
    rules = program.rules
    for step in steps(program, random, count):
        kept = tuple(rule for rule in rules if random.random() < 0.7) if random.random() < 0.7 else rules
        yield replace(step.program, rules=kept), step.insert, step.delete


def check(program: Program, random: Random, count: int) -> None:
    try:
        first = wanted(program)
    except TooLarge:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = opened(with_inputs(program), **{name: list(rows) for name, rows in program.facts.items()})
        assert held(session) == first
        for after, insert, delete in rule_changes(program, random, count):
            try:
                model = wanted(after)
            except TooLarge:
                return
            before = held(session)
            impact = changed(session, with_inputs(after), insert, delete)
            now = held(session)
            assert now == model == by_the_local_engine(after)
            for name in session:
                assert set(impact.inserted.get(name, ())) == now[name] - before[name]
                assert set(impact.deleted.get(name, ())) == before[name] - now[name]


@settings(max_examples=40, deadline=None)
@given(programs(), st.integers(0, 1 << 30))
def test_facts_and_rules_come_and_go(program: Program, seed: int) -> None:
    """After any change the circuit, the oracle and the local engine, both afresh, agree on every relation."""
    check(program, Random(seed), 3)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(programs(), st.integers(0, 1 << 30))
def test_facts_and_rules_come_and_go_many_times(program: Program, seed: int) -> None:
    check(program, Random(seed), 6)


@settings(max_examples=15, deadline=None)
@given(programs(), st.integers(0, 1 << 30))
def test_without_the_index_operator_results_are_the_same(program: Program, seed: int) -> None:
    text = with_inputs(program)
    compiled = compile_text(text, warn=lambda message: None)
    sessions = [
        whence.Session(compiled, CircuitEngine(compiled, lambda message: None, None, indexed))
        for indexed in (True, False)
    ]
    for session in sessions:
        session.load(**{name: list(rows) for name, rows in program.facts.items()})
        session.run()
    assert held(sessions[0]) == held(sessions[1])
    for step in steps(program, Random(seed), 2):
        for session in sessions:
            session.update(step.insert, step.delete)
        assert held(sessions[0]) == held(sessions[1])


def test_a_rule_over_an_old_relation_and_a_rule_that_goes() -> None:
    session = opened(PATHS, edge=[("a", "b"), ("b", "c")])
    backward = PATHS + ".decl back(x: symbol)\nback(x) :- path(_, x), !edge(x, _).\n"
    impact = changed(session, backward)
    assert {name: set(rows) for name, rows in impact.inserted.items()} == {"back": {("c",)}}
    session.update(insert={"edge": [("c", "d")]})
    assert set(session["back"]) == {("d",)}
    without = backward.replace("path(x, z) :- path(x, y), edge(y, z).\n", "")
    impact = changed(session, without)
    assert {name: set(rows) for name, rows in impact.deleted.items()} == {"path": {("a", "c"), ("b", "d"), ("a", "d")}}
    session.undo()
    assert set(session["path"]) == {("a", "b"), ("b", "c"), ("c", "d"), ("a", "c"), ("b", "d"), ("a", "d")}


def test_relations_move_between_strata() -> None:
    """`low` gets a negation, so that what negates `low` moves up by one; then it moves down again."""
    text = """
    .decl a(x: number)
    .input a
    .decl b(x: number)
    .input b
    .decl low(x: number)
    low(x) :- a(x), x < 10.
    .decl high(x: number)
    high(x) :- a(x), !low(x).
    high(x) :- high(y), b(y), x = y + 1, x < 30.
    """
    session = opened(text, a=[(i,) for i in range(14)], b=[(13,), (14,), (5,), (6,)])
    assert {x for (x,) in session["high"]} == {10, 11, 12, 13, 14, 15}
    moved = text.replace("low(x) :- a(x), x < 10.", "low(x) :- a(x), x < 10, !b(x).\n low(x) :- mid(x).") + (
        ".decl mid(x: number)\n mid(x) :- a(x), !b(x), x > 11.\n"
    )
    changed(session, moved)
    assert {x for (x,) in session["high"]} == {5, 6, 7, 10, 11, 13, 14, 15}
    changed(session, text)
    assert {x for (x,) in session["high"]} == {10, 11, 12, 13, 14, 15}


def test_rules_written_twice_and_facts_of_derived_relations() -> None:
    twice = PATHS + ".input path\npath(x, y) :- edge(x, y).\n"
    session = opened(twice, edge=[("a", "b")], path=[("a", "b"), ("p", "q")])
    session.update(delete={"edge": [("a", "b")]})
    assert set(session["path"]) == {("a", "b"), ("p", "q")}
    session.update(insert={"edge": [("a", "b"), ("q", "r")]}, delete={"path": [("a", "b")]})
    assert set(session["path"]) == {("a", "b"), ("p", "q"), ("p", "r"), ("q", "r")}
    changed(session, PATHS + ".input path\n")
    assert set(session["path"]) == {("a", "b"), ("p", "q"), ("p", "r"), ("q", "r")}


def test_cycles_constants_repeated_variables_arity_zero_and_unicode() -> None:
    text = PATHS + (
        ".decl loop(x: symbol)\nloop(x) :- path(x, x).\n"
        '.decl size_of(n: number)\nsize_of(n) :- n = count : { path("ä", _) }.\n'
        ".decl any()\nany() :- loop(_).\n.decl none()\nnone() :- !any().\n"
        '.decl mark(x: symbol, y: symbol)\nmark("☃", x) :- edge(x, x).\n'
    )
    session = opened(text, edge=[("ä", "b"), ("b", "ä"), ("ü", "ü")])
    assert set(session["loop"]) == {("ä",), ("b",), ("ü",)}
    assert set(session["size_of"]) == {(2,)}
    assert (len(session["any"]), len(session["none"])) == (1, 0)
    assert set(session["mark"]) == {("☃", "ü")}
    session.update(delete={"edge": [("ä", "b"), ("ü", "ü")]})
    assert set(session["loop"]) == set()
    assert set(session["size_of"]) == {(0,)}
    assert (len(session["any"]), len(session["none"])) == (0, 1)
    assert len(session["mark"]) == 0


def test_groups_that_come_out_of_their_own_recursion() -> None:
    """A fold must not be looked at before its instances have come, or a wrong count would support itself."""
    text = """
    .decl next(x: number, y: number)
    .input next
    .decl reached(x: number)
    .input reached
    reached(y) :- reached(x), n = count : { next(x, _) }, n = 1, next(x, y).
    reached(y) :- reached(x), n = count : { next(x, _) }, n = 0, y = x - 100, y > -200.
    """
    session = opened(text, next=[(1, 2), (2, 3), (3, 4), (3, 5)], reached=[(1,)])
    assert {x for (x,) in session["reached"]} == {1, 2, 3}
    session.update(delete={"next": [(3, 5)]})
    assert {x for (x,) in session["reached"]} == {1, 2, 3, 4, -96, -196}
    session.update(insert={"next": [(3, 5)]})
    assert {x for (x,) in session["reached"]} == {1, 2, 3}


def test_results_are_what_other_engines_give(tmp_path: Path) -> None:
    session = opened(PATHS, edge=[("a", "b"), ("b", "c")])
    assert len(session["path"]) == 3
    assert ("a", "c") in session["path"]
    assert ("c", "a") not in session["path"]
    assert ("never", "seen") not in session["path"]
    assert session["path"].to_arrow().num_rows == 3
    assert session["path"].nbytes > 0
    session.write_outputs(tmp_path)
    assert sorted((tmp_path / "path.csv").read_text().split("\n")) == ["", "a\tb", "a\tc", "b\tc"]
    session.load(edge=[("c", "d")])  # input again: results are dropped
    assert set(session["path"]) == set()
    session.run()
    assert len(session["path"]) == 6
    assert session.update(insert={"edge": [("d", "e")]}).epoch == 1
    assert len(session.undo().deleted["path"]) == 4


def test_what_the_engine_does_not_have_is_said_in_a_sentence(tmp_path: Path) -> None:
    session = opened(PATHS, edge=[("a", "b")])
    for asked in (
        lambda: list(session["path"].tuples(annotated=True)),
        lambda: session["path"].to_arrow(annotated=True),
        lambda: session.explain('path("a", "b")'),
        lambda: session.why_not('path("b", "a")'),
        lambda: session.save(tmp_path / "state"),
    ):
        with pytest.raises(WhenceError, match=r"keeps no iterations and no numbers of derivations.*engine='local'"):
            asked()
    with pytest.raises(WhenceError, match="one strategy, update"):
        session.update(strategy="bootstrap")
    with pytest.raises(WhenceError, match="whose one strategy is update"):
        whence.open(text=PATHS, engine="circuit", strategy="dense")
    with pytest.raises(WhenceError, match="for engine='spark'"):
        whence.open(text=PATHS, engine="circuit", options=object())  # type: ignore[arg-type]


def test_changes_that_do_not_fit_are_refused() -> None:
    session = opened(PATHS, edge=[("a", "b"), ("b", "c")])
    for change, message in (
        ({"insert": {"edge": [("a", "b")]}}, "cannot be inserted: it is there"),
        ({"delete": {"edge": [("a", "x")]}}, "cannot be deleted: it is not there"),
        ({"delete": {"path": [("a", "c")]}}, "path is derived by rules"),
        ({"insert": {"edge": [("x", "y")]}, "delete": {"edge": [("x", "y")]}}, "both inserted and deleted"),
        ({"insert": {"edge": [("x",)]}}, "should be a tuple of 2 values"),
    ):
        with pytest.raises(WhenceError, match=message):
            session.update(**change)  # type: ignore[arg-type]
    assert len(session["path"]) == 3
    assert session.update(insert={"edge": [("a", "b")]}, delete={"edge": [("q", "q")]}, lenient=True).ignored == 2


def test_rules_facts_and_relations_by_the_ways_of_a_session() -> None:
    session = opened(PATHS, edge=[("a", "b"), ("b", "c")])
    impact = session.add_rule(".decl back(x: symbol)\nback(x) :- path(_, x), !edge(x, _).")
    assert {name: set(rows) for name, rows in impact.inserted.items()} == {"back": {("c",)}}
    impact = session.apply('+ edge("c", "d"). - path(x, z) :- path(x, y), edge(y, z).')
    assert (set(impact.inserted["back"]), set(impact.deleted["back"])) == ({("d",)}, {("c",)})
    assert set(impact.deleted["path"]) == {("a", "c")}
    assert set(session.undo().inserted["path"]) == {("a", "c")}
    impact = session.replace_program(text=PATHS + 'edge("x", "y").\n')
    assert set(impact.deleted["back"]) == {("c",)}
    assert "back" not in session
    assert set(impact.inserted["path"]) == {("x", "y")}
    session.add_rule(".decl back(x: symbol, y: symbol)\nback(y, x) :- path(x, y).")  # with other columns
    assert set(session["back"]) == {(y, x) for x, y in session["path"]}
    with pytest.raises(WhenceError, match="has other columns than before"):
        session.replace_program(
            text=PATHS.replace("edge(x: symbol, y: symbol)", "edge(x: symbol, y: number)", 1)
            .replace("path(x, y) :- edge(x, y).", "")
            .replace("path(x, z) :- path(x, y), edge(y, z).", "")
        )
    with pytest.raises(WhenceError, match="depends on itself through negation"):
        session.add_rule("path(x, x) :- edge(x, _), !back(x, x).")
    with pytest.raises(WhenceError, match=r"has no \.limitsize"):
        whence.open(text=PATHS + ".limitsize path(n=3)\n", engine="circuit")


DIVISIONS = """
.decl n(x: number)
.input n
.decl d(x: number)
d(12 / x) :- n(x).
.decl e(x: number)
e(x) :- d(x), !n(x).
"""


def test_an_update_that_fails_leaves_the_epoch_before() -> None:
    session = opened(DIVISIONS, n=[(1,), (3,), (4,)])
    before = held(session)
    with pytest.raises(WhenceError, match=r"<program>:5:1: division by zero, in `d\(12 / x\) :- n\(x\).`"):
        session.update(insert={"n": [(0,), (6,)]}, delete={"n": [(1,)]})
    assert held(session) == before
    session.update(insert={"n": [(6,)]}, delete={"n": [(1,)]})
    assert held(session) == {"n": {(3,), (4,), (6,)}, "d": {(4,), (3,), (2,)}, "e": {(2,)}}


def test_an_interrupted_update_leaves_the_epoch_before() -> None:
    session = opened(PATHS, edge=[(str(i), str(i + 1)) for i in range(60)])
    before = held(session)
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        ticks += 1
        if ticks == 20:
            raise KeyboardInterrupt

    session.on_tick(tick)
    with pytest.raises(KeyboardInterrupt):
        session.update(delete={"edge": [("30", "31")]})
    assert held(session) == before
    session.update(delete={"edge": [("30", "31")]})
    assert len(session["path"]) == 30 * 31 // 2 + 29 * 30 // 2


def test_prefixes_and_orders_of_rules_that_went_are_given_up() -> None:
    session = opened(PATHS, edge=[("a", "b"), ("b", "c")])
    more = PATHS + ".decl q(x: symbol)\nq(z) :- edge(x, y), edge(y, z), !path(z, x), path(x, z).\n"
    engine = session.engine
    assert isinstance(engine, CircuitEngine)

    def kept() -> tuple[int, int, int]:
        interpreter = engine.tables.interpreter
        assert interpreter is not None
        indexes = sum(len(trace.table.indexes) for trace in interpreter.index.facts.values())
        return len(interpreter.product.waiting_for), len(interpreter.index.keys), indexes

    session.update(insert={"edge": [("x", "y")]})
    before = kept()
    for _ in range(3):
        changed(session, more)
        assert set(session["q"]) == {("c",)}
        changed(session, PATHS)
        session.update(insert={"edge": [("c", "d")]})  # what is not needed goes when the next tick begins
        assert kept() == before
        session.update(delete={"edge": [("c", "d")]})
