"""Sessions whose rules change: which strata are touched, what is kept, what is undone, what happens when it fails."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

import whence
from maintain.changing import opened, with_inputs
from maintain.changing import state as annotated
from maintain.test_endurance import PLACES, breaking
from maintain.test_rules import STRATEGIES, epochs, part
from oracle.generate import program as random_program
from whence.engines.local.revision import LocalRevision
from whence.errors import WhenceError
from whence.lang import ProgramError, compile_text
from whence.maintain import elastic
from whence.state import impact_of
from whence.store import Store

CLOSURE = """\
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
.decl back(x: number, y: number)
back(x, y) :- path(y, x).
.decl alone(x: number)
alone(x) :- edge(x, x).
"""
STEP = "path(x, z) :- path(x, y), edge(y, z)."
EDGES = [(1, 2), (2, 3), (3, 4), (4, 4)]


def closure(strategy: str = "update", **options: Any) -> whence.Session:
    session = whence.open(text=CLOSURE, file="closure.dl", strategy=strategy, **options)
    session.load(edge=EDGES)
    session.run()
    return session


def fresh(text: str, **facts: Any) -> Any:
    with whence.open(text=text) as session:
        session.load(**facts)
        session.run()
        return annotated(session)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_rule_comes_and_goes(strategy: str) -> None:
    session = closure(strategy)
    before = annotated(session)
    impact = session.add_rule(STEP)
    assert set(impact.inserted["path"]) == {(1, 3), (1, 4), (2, 4)}
    assert {name: set(rows) for name, rows in impact.inserted.items()}["back"] == {(3, 1), (4, 1), (4, 2)}
    assert annotated(session) == fresh(CLOSURE + STEP, edge=EDGES)
    assert session.epoch == 1
    impact = session.remove_rule("path(A, C) :- path(A, B), edge(B, C).")
    assert set(impact.deleted["path"]) == {(1, 3), (1, 4), (2, 4)}
    assert annotated(session) == before
    assert session.text == (CLOSURE, "closure.dl")
    session.undo()
    assert annotated(session) == fresh(CLOSURE + STEP, edge=EDGES)
    assert session.text[0] == CLOSURE + STEP + "\n"
    session.undo()
    assert (annotated(session), session.text[0], session.epoch) == (before, CLOSURE, 0)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_strata_merge_and_split(strategy: str) -> None:
    """`path` and `back` become one stratum: iterations of both count from its beginning then."""
    session = closure(strategy)
    before = annotated(session)
    assert before["back"][2, 1] == (1, 1)
    impact = session.add_rule("path(x, y) :- back(x, y).")
    after = annotated(session)
    assert after == fresh(CLOSURE + "path(x, y) :- back(x, y).", edge=EDGES)
    assert after["back"][2, 1] == (2, 1)
    assert after["path"][2, 1] == (3, 1)
    reasons = {report.relations: report.reason for report in impact.strata}
    assert reasons == {("path", "back"): "its relations were not a stratum before"}
    impact = session.remove_rule("path(x, y) :- back(x, y).")
    assert annotated(session) == before
    assert [report.relations for report in impact.strata] == [("path",), ("back",)]


def test_only_what_is_affected_is_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    touched: list[tuple[str, ...]] = []
    for name in ("begin", "recompute"):
        whole = getattr(LocalRevision, name)

        def noted(self: LocalRevision, stratum: Any, *rest: Any, whole: Any = whole) -> Any:
            touched.append(stratum.relations)
            return whole(self, stratum, *rest)

        monkeypatch.setattr(LocalRevision, name, noted)
    session = closure()
    session.add_rule("alone(x) :- edge(x, _), !edge(_, x).")
    session.add_rule("back(x, x) :- edge(x, _).")
    session.add_rule("back(x, y) :- path(y, x), path(x, y).")  # derives nothing new, so `alone` would see nothing
    assert touched == [("alone",), ("back",), ("back",)]
    touched.clear()
    session.add_rule("path(x, z) :- path(x, y), edge(y, z), x > 100.")  # nothing comes of it
    assert touched == [("path",)]
    session.update(insert={"edge": [(9, 9)]})
    facts = [*EDGES, (9, 9)]
    assert annotated(session) == fresh(session.text[0], edge=facts)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rules_and_facts_in_one_epoch(strategy: str) -> None:
    session = closure(strategy)
    impact = session.apply(f"""
        + {STEP}
        - edge(3, 4). + edge(3, 5).
        .decl far(x: number, n: number)
        + far(x, n) :- path(x, _), n = count : {{ path(x, _) }}, n > 1.
        - alone(x) :- edge(x, x).
    """)
    assert annotated(session) == fresh(session.text[0], edge=[(1, 2), (2, 3), (4, 4), (3, 5)])
    assert set(impact.inserted["far"]) == {(1, 3), (2, 2)}
    assert list(impact.deleted["alone"]) == [(4,)]
    assert session.epoch == 1
    session.undo()
    assert annotated(session) == fresh(CLOSURE, edge=EDGES)


def test_derived_relations_become_input_and_the_other_way_round() -> None:
    session = closure()
    session.remove_rule("alone(x) :- edge(x, x).")
    session.update(insert={"alone": [(7,)]})  # without rules it is input
    session.add_rule("alone(x) :- edge(x, x).\nalone(x) :- back(x, _), x > 3.")
    assert annotated(session)["alone"] == {(7,): (0, 1), (4,): (1, 3)}
    session.update(delete={"alone": [(7,)]})
    assert annotated(session)["alone"] == {(4,): (1, 3)}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_another_program(strategy: str, tmp_path: Path) -> None:
    other = """\
    .type Node <: number
    .decl edge(from: Node, to: Node)
    .input edge
    edge(8, 4 + 5). edge(1, 2).
    .decl path(x: Node, y: Node)
    path(x, z) :- edge(x, y), path(y, z).
    path(x, y) :- edge(x, y).
    .decl root(x: Node)
    root(x) :- edge(x, _), !edge(_, x).
    .limitsize root(n=1)
    """
    session = closure(strategy)
    before = annotated(session)
    (tmp_path / "other.dl").write_text(other)
    impact = session.replace_program(tmp_path / "other.dl")
    assert annotated(session) == fresh(other, edge=EDGES)
    assert list(session) == ["edge", "path", "root"]
    assert set(impact.inserted["edge"]) == {(8, 9)}
    assert set(impact.deleted) == {"back", "alone"}
    session.replace_program(text=CLOSURE)
    assert annotated(session) == {**before, "edge": {row: (0, 1) for row in EDGES if row != (1, 2)}} | {
        name: rows for name, rows in annotated(session).items() if name != "edge"
    }
    assert (1, 2) not in session["edge"]  # the text that went had it
    session.undo()
    session.undo()
    assert annotated(session) == before


def test_what_is_wrong_is_refused_and_nothing_changes() -> None:
    session = closure()
    before, program = annotated(session), session.program
    for text, message in [
        ("path(x) :- edge(x, _).", "`path` has 2 columns"),
        ("path(x, y) :- edge(x, _).", "`y`"),
        ("path(x, y) :- hop(x, y).", "unknown relation `hop`"),
        ("path(x, y) :- edge(x, y), !back(x, y).", "depends on itself through negation"),
        ('path(x, y) :- edge(x, y), x = "a".', "cannot compare"),
        ("path(x, y) :- edge(x, y).", "in the program already"),
        ("path(x, y) :- edge(x, y), x / 0 > 1.", "division"),
    ]:
        with pytest.raises(WhenceError, match=message):
            session.add_rule(text)
        assert (annotated(session), session.epoch) == (before, 0)
        assert session.program is program
    with pytest.raises(ProgramError, match="the nearest is: back"):
        session.remove_rule("back(x, y) :- path(x, y).")
    with pytest.raises(WhenceError, match="run the session"):
        whence.open(text=CLOSURE).add_rule(STEP)
    session.add_rule(STEP)
    assert annotated(session) == fresh(CLOSURE + STEP, edge=EDGES)


@pytest.mark.parametrize("strategy", ["update", "bootstrap", "dense"])
def test_an_epoch_that_is_interrupted_leaves_the_one_before(strategy: str) -> None:
    interrupted = 0
    for seed in range(25):
        random = Random(seed)
        whole = random_program(random)
        session = opened(part(random, whole), strategy=strategy)
        for epoch in epochs(whole, random, 3):
            after = compile_text(with_inputs(epoch.program))
            before, program = annotated(session), session.program
            try:
                with breaking(PLACES, int(2 ** random.uniform(0, 8)), random.random() < 0.5, KeyboardInterrupt):
                    session.update(epoch.insert, epoch.delete, program=after)
            except KeyboardInterrupt:
                interrupted += 1
                assert annotated(session) == before, seed
                assert session.program is program
                session.update(epoch.insert, epoch.delete, program=after)
            assert annotated(session) == fresh(
                with_inputs(epoch.program), **{name: list(rows) for name, rows in epoch.program.facts.items()}
            ), seed
    assert interrupted > 10


def test_the_state_on_disk(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    session = closure()
    session.save(folder)
    session.add_rule(STEP)
    session.save(folder)
    session.apply(".decl far(x: number)\n+ far(x) :- path(x, y), y > x + 1.\n- .decl alone\n- alone(x) :- edge(x, x).")
    session.save(folder)
    session.update(insert={"edge": [(4, 5)]})
    session.save(folder)
    store = Store.open(folder)
    texts = [CLOSURE, CLOSURE + STEP + "\n"]
    assert [store.program_text(number) for number in (0, 1)] == texts
    assert store.epoch(3).program == store.epoch(2).program
    assert store.epoch(1).relations["edge"] == store.epoch(0).relations["edge"]
    assert store.epoch(1).summary["program"] == {"added": [STEP], "removed": []}
    assert store.epoch(2).summary["program"]["removed"] == [".decl alone(x: number)", "alone(x) :- edge(x, x)."]
    for number, text in enumerate(texts):
        with whence.open_state(folder, number) as past:
            assert annotated(past) == fresh(text, edge=EDGES)
            assert past.program.text == text
    with whence.open_state(folder) as last:
        assert annotated(last) == fresh(session.text[0], edge=[*EDGES, (4, 5)])
        assert "closure.dl:7" in str(last.explain("path(1, 3)"))
    assert impact_of(store, 2) == ({"far": [(1,), (2,)]}, {"alone": [(4,)]})
    assert whence.query(folder, "far(X)", 2).tuples == ((1,), (2,))
    store.undo()
    store.undo()
    with whence.open_state(folder) as back:
        assert back.text == (texts[1], "closure.dl")
        back.remove_rule(STEP)
        back.save(folder)
    assert Store.open(folder).program_text() == CLOSURE


def test_explanations_speak_of_the_rules_that_there_are() -> None:
    session = closure()
    session.add_rule(STEP)
    assert "path(x, z) :- path(x, y), edge(y, z).  closure.dl:9" in str(session.explain("path(1, 3)"))
    session.remove_rule("path(x, y) :- edge(x, y).")
    assert "closure.dl:8" in str(session.why_not("path(1, 3)"))
    with pytest.raises(WhenceError, match="nothing matches"):
        session.explain("path(1, 2)")


def test_questions_of_a_session() -> None:
    session = closure()
    assert session.query("path(1, X)").tuples == ((1, 2),)
    session.add_rule(STEP)
    assert session.query("path(X, 4), !edge(X, 4)").to_json() == {"columns": ["X"], "tuples": [[1], [2]]}
    assert session.query("path(X, Y)", limit=1).found == len(session["path"])
    assert annotated(session) == fresh(CLOSURE + STEP, edge=EDGES)


def test_a_fact_may_come_with_the_text_and_with_the_change() -> None:
    session = closure()
    impact = session.update(insert={"edge": [(7, 8)]}, program=compile_text(CLOSURE + "edge(7, 8). edge(7, 8)."))
    assert list(impact.inserted["edge"]) == [(7, 8)]
    assert annotated(session) == fresh(CLOSURE, edge=[*EDGES, (7, 8)])
    session.undo()
    assert annotated(session) == fresh(CLOSURE, edge=EDGES)


def test_what_went_with_its_type_can_be_read_in_the_impact() -> None:
    with whence.open(text=".type List = [head: number, tail: List]\n.decl l(x: List)\n.input l\n") as session:
        session.load(l=[((1, (2, None)),)])
        session.run()
        impact = session.replace_program(text=".decl m(x: number)\n")
        assert list(impact.deleted["l"]) == [((1, (2, None)),)]
        session.undo()
        assert list(session["l"]) == [((1, (2, None)),)]


def test_elastic_gives_up_a_rule_that_costs_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elastic, "ALWAYS", 0.0)
    edges = [(x, (x * 7 + 1) % 400) for x in range(400)]
    session = whence.open(text=CLOSURE, strategy="elastic")
    session.load(edge=edges)
    session.run()
    impact = session.add_rule("path(x, z) :- edge(x, _), edge(_, z), x + z > 2.", share=1e-9)
    report = next(report for report in impact.strata if report.relations == ("path",))
    assert (report.strategy, report.reason[:19]) == ("bootstrap", "Update was given up")
    assert annotated(session) == fresh(session.text[0], edge=edges)
