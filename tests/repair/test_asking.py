"""What can be asked of a session, and what it says to what is no fault."""

from __future__ import annotations

import signal
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

import whence
from maintain.changing import state
from whence.state import open_state

CLOSURE = """
.decl edge(x: number, y: number) .input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


def session_on(text: str, **facts: list[tuple[object, ...]]) -> whence.Session:
    session = whence.open(text=text)
    session.load(**facts)
    session.run()
    return session


def two_ways() -> whence.Session:
    """1 reaches 4 by 2 and by 3 since the update; 5 was there before."""
    session = session_on(CLOSURE, edge=[(1, 5), (7, 8)])
    session.update(insert={"edge": [(1, 2), (2, 4), (1, 3), (3, 4)]}, delete={"edge": [(7, 8)]})
    return session


def test_several_answers_of_one_size() -> None:
    repair = two_ways().repair(unwanted=["path(1, 4)"], answers=10)
    found = {frozenset(answer.tuples) for answer in repair.suggestions}
    by_two, by_three = ("+ edge(1, 2).", "+ edge(2, 4)."), ("+ edge(1, 3).", "+ edge(3, 4).")
    assert found == {frozenset((one, other)) for one in by_two for other in by_three}
    assert all(answer.smallest and answer.of == 5 for answer in repair.suggestions)
    assert len(two_ways().repair(unwanted=["path(1, 4)"], answers=3).suggestions) == 3


def test_what_is_kept_is_in_the_answer_and_what_is_rejected_is_not() -> None:
    repair = two_ways().repair(unwanted=["path(1, 4)"], keep=["+ edge(2, 4)."], reject=["edge(1, 3)"])
    assert repair.suggestion.tuples == ["+ edge(2, 4).", "+ edge(3, 4)."]
    assert repair.again(reject=["edge(1, 2)"]).suggestion.tuples == repair.suggestion.tuples
    wider = two_ways().repair(unwanted=["path(1, 4)"], keep=["- edge(7, 8)"]).suggestion
    assert (len(wider), "- edge(7, 8)." in wider.tuples, wider.smallest) == (3, True, True)
    with pytest.raises(whence.WhenceError, match="nothing is left that could be left out"):
        two_ways().repair(unwanted=["path(1, 4)"], reject=["edge(_, 4)", "edge(1, _)"])
    with pytest.raises(whence.WhenceError, match=r"edge\(1, 5\) is no part of the change between epochs 0 and 1"):
        two_ways().repair(unwanted=["path(1, 4)"], reject=["edge(1, 5)"])
    with pytest.raises(whence.WhenceError, match="cannot be both kept in the answer and rejected"):
        two_ways().repair(unwanted=["path(1, 4)"], reject=["edge(1, 2)"], keep=["edge(1, 2)"])


@pytest.mark.parametrize(
    ("unwanted", "missing", "sentence"),
    [
        (["path(1, 5)"], [], "was there before the change as well"),
        (["path(9, 9)"], [], "path(9, 9) is not there, which is as wanted"),
        (["path(7, 8)"], [], "path(7, 8) is not there, which is as wanted"),
        ([], ["path(1, 4)"], "path(1, 4) is there, which is as wanted"),
        ([], ["path(9, 9)"], "was not there before the change either"),
        ([], ["path(9, X)"], "nothing that matches path(9, X) went with the change"),
        (["path(X, X)"], [], "nothing matches path(X, X), which is as wanted"),
        (["path(_, 5)"], [], "nothing that matches path(_, 5) came with the change: 1 tuple was there before"),
        ([], [], "say what is wrong"),
        ("path(1, 4)", [], "give lists"),
        (["path(1, 4)"], ["path(1, 4)"], "cannot be both unwanted and missing"),
        (["path(1, X + 1)"], [], "a set of faults is named by values and variables only"),
    ],
)
def test_what_is_no_fault_gets_a_sentence(unwanted: list[str], missing: list[str], sentence: str) -> None:
    with pytest.raises(whence.WhenceError) as told:
        two_ways().repair(unwanted=unwanted, missing=missing)
    assert sentence in str(told.value)


def test_a_sentence_beside_an_answer() -> None:
    repair = two_ways().repair(unwanted=["path(1, X)", "path(7, 8)"])
    assert sorted(repair.unwanted) == ["path(1, 2)", "path(1, 3)", "path(1, 4)"]
    assert sorted(repair.suggestion.tuples) == ["+ edge(1, 2).", "+ edge(1, 3)."]
    assert repair.faults.notes == (
        "1 tuple matching path(1, X) was there before the change as well; the change did not cause that",
        "path(7, 8) is not there, which is as wanted",
    )


def test_what_is_as_wanted_stays_so() -> None:
    """Taking back `b` alone would bring `bad` about, which is in neither epoch."""
    session = session_on(
        """
        .decl a(x: number) .input a
        .decl b(x: number) .input b
        .decl fault(x: number)
        fault(x) :- a(x), b(x).
        .decl bad(x: number)
        bad(x) :- a(x), !b(x).
        """
    )
    session.update(insert={"a": [(1,)], "b": [(1,)]})
    for unwanted in (["fault(1)", "bad(1)"], ["fault(X)", "bad(X)"]):
        assert session.repair(unwanted=unwanted, answers=5).suggestion.tuples == ["+ a(1)."]
        assert len(session.repair(unwanted=unwanted, answers=5).suggestions) == 1
    assert len(session.repair(unwanted=["fault(1)"], answers=5).suggestions) == 2


def test_several_updates_are_one_change() -> None:
    session = session_on(CLOSURE, edge=[(1, 2)])
    session.update(insert={"edge": [(2, 3), (8, 9)]})
    session.update(insert={"edge": [(3, 4)]}, delete={"edge": [(8, 9)]})
    assert session.repair(unwanted=["path(1, 4)"]).suggestion.of == 2
    repair = session.repair(unwanted=["path(1, 4)"], since=0, answers=5)
    assert sorted(answer.tuples for answer in repair.suggestions) == [["+ edge(2, 3)."], ["+ edge(3, 4)."]]
    assert repair.suggestion.of == 2
    for since in (2, 7):
        with pytest.raises(whence.WhenceError, match=f"there is no epoch {since} before epoch 2"):
            session.repair(unwanted=["path(1, 4)"], since=since)


def test_the_repaired_epoch() -> None:
    session = two_ways()
    repair = session.repair(unwanted=["path(1, 4)"])
    impact = repair.apply()
    assert (1, 4) in set(impact.deleted["path"])
    with pytest.raises(whence.WhenceError, match="has gone on from epoch 1"):
        repair.apply()
    session.undo()
    assert (1, 4) in session["path"]


def test_before_any_change() -> None:
    session = session_on(CLOSURE, edge=[(1, 2)])
    with pytest.raises(whence.WhenceError, match="there was no update in this session yet"):
        session.repair(unwanted=["path(1, 2)"])
    with pytest.raises(whence.WhenceError, match="run the session before it is repaired"):
        whence.open(text=CLOSURE).repair(unwanted=["path(1, 2)"])


def test_any_two_epochs_of_a_state(tmp_path: Path) -> None:
    session = session_on(CLOSURE, edge=[(1, 2), (5, 6)])
    session.save(tmp_path / "state")
    session.update(insert={"edge": [(2, 3)]}, delete={"edge": [(5, 6)]})
    session.save(tmp_path / "state")
    session.update(insert={"edge": [(3, 4)]})
    session.save(tmp_path / "state")
    with open_state(tmp_path / "state") as opened:
        assert opened.repair(unwanted=["path(1, 4)"]).suggestion.of == 1
        repair = opened.repair(unwanted=["path(1, 4)"], missing=["path(5, 6)"], since=0)
        assert (repair.suggestion.of, "- edge(5, 6)." in repair.suggestion.tuples) == (3, True)
    with open_state(tmp_path / "state", 1) as opened:
        assert opened.repair(unwanted=["path(1, 3)"]).suggestion.tuples == ["+ edge(2, 3)."]
        assert opened.repair(missing=["path(1, 4)"], since=2).suggestion.tuples == ["- edge(3, 4)."]
    with (
        open_state(tmp_path / "state", 0) as opened,
        pytest.raises(whence.WhenceError, match="epoch 0 is the first, so no change led to it"),
    ):
        opened.repair(unwanted=["path(1, 2)"])


# What is not rules alone


def test_aggregates() -> None:
    session = session_on(
        """
        .decl item(basket: symbol, price: number) .input item
        .decl total(basket: symbol, price: number)
        total(b, s) :- item(b, _), s = sum p : { item(b, p) }.
        .decl dear(basket: symbol)
        dear(b) :- total(b, s), s > 100.
        """,
        item=[("a", 90), ("b", 10)],
    )
    session.update(insert={"item": [("a", 50), ("a", 30), ("a", 1), ("b", 20)]}, delete={"item": [("b", 10)]})
    repair = session.repair(unwanted=['dear("a")'])
    assert sorted(repair.suggestion.tuples) == ['+ item("a", 30).', '+ item("a", 50).']
    assert not repair.suggestion.smallest
    assert "aggregate" in repair.suggestion.reason
    assert session.repair(missing=['total("b", 10)']).suggestion.tuples == ['- item("b", 10).', '+ item("b", 20).']


def test_a_relation_that_is_cut_off() -> None:
    session = session_on(CLOSURE + ".limitsize path(n=3)\n", edge=[(1, 2)])
    session.update(insert={"edge": [(2, 3), (8, 9)]})
    repair = session.repair(unwanted=["path(2, 3)"])
    assert repair.suggestion.tuples == ["+ edge(2, 3)."]
    few = session_on(CLOSURE + ".limitsize path(n=3)\n", edge=[(1, 2)])
    few.update(insert={"edge": [(2, 3), (8, 9)]})
    both = few.repair(unwanted=["path(2, 3)", "path(8, 9)"]).suggestion
    assert (len(both), both.smallest, ".limitsize" in both.reason) == (2, False, True)


# Size and time


def test_a_fault_with_very_many_proofs() -> None:
    """Every path through thirty layers of ten nodes: 3,000 instantiations, 10 to the 30th proofs."""
    layers, width = 30, 10
    nodes = [[layer * width + i for i in range(width)] for layer in range(layers)]
    edges = [(one, other) for here, there in pairwise(nodes) for one in here for other in there]
    session = session_on(CLOSURE, edge=[(-1, node) for node in nodes[0]] + [(node, -2) for node in nodes[-1]])
    session.update(insert={"edge": edges})
    started = time.perf_counter()
    repair = session.repair(unwanted=["path(-1, -2)"])
    assert len(repair.suggestion) == width * width  # the least cut
    assert repair.suggestion.smallest
    assert time.perf_counter() - started < 60


def test_when_the_time_is_up() -> None:
    session = two_ways()
    before = state(session)
    answer = session.repair(unwanted=["path(1, 4)"], seconds=0).suggestion
    assert answer.reason == "the time was up"
    assert not answer.smallest
    assert answer.verified
    assert len(answer) == 5  # the earlier epoch has no fault
    assert state(session) == before
    with pytest.raises(whence.WhenceError, match="no answer was found in this time"):
        session.repair(unwanted=["path(1, 4)"], reject=["edge(7, 8)"], seconds=0)


def test_an_interrupt_leaves_the_session_as_it_was() -> None:
    """At many moments, the first of them early."""
    layers, width = 12, 6
    nodes = [[layer * width + i for i in range(width)] for layer in range(layers)]
    edges = [(one, other) for here, there in pairwise(nodes) for one in here for other in there]
    session = session_on(CLOSURE, edge=[(-1, node) for node in nodes[0]] + [(node, -2) for node in nodes[-1]])
    session.update(insert={"edge": edges[::2]}, delete={"edge": [(-1, nodes[0][0])]})
    before, learned = state(session), session.engine.learned()
    interrupted = 0
    for moment in (1, 3, 6, 12, 24):
        timer = threading.Timer(0.005 * moment, signal.raise_signal, [signal.SIGINT])
        try:
            timer.start()
            str(session.repair(unwanted=["path(-1, -2)", "path(0, X)"], missing=["path(-1, 0)"]))
        except KeyboardInterrupt:
            interrupted += 1
        finally:
            try:
                timer.join()
                time.sleep(0.001)
            except KeyboardInterrupt:
                interrupted += 1
        assert state(session) == before
        assert session.engine.learned() == learned
    assert interrupted
    session.undo()
    assert session.update(insert={"edge": edges[::2]}, delete={"edge": [(-1, nodes[0][0])]})
    assert state(session) == before
