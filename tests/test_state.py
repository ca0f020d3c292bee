"""States that are kept: an epoch opened again is what was committed, and changes go on from there."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whence
from whence.changes import Change, parse_change
from whence.errors import WhenceError
from whence.state import Applied, apply_change, impact_of, open_state
from whence.store import Store, StoreError

GRAPH = """
.type List = [head: number, tail: List]
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl isolated(x: number)
isolated(x) :- edge(x, _), !path(_, x).
.decl degree(x: number, n: number)
degree(x, n) :- edge(x, _), n = count : { edge(x, _) }.
.decl cycle()
cycle() :- path(x, x).
.decl item(name: symbol, u: unsigned, f: float, l: List)
.input item
item("from the text", 18446744073709551615, -0.0, [1, [2, nil]]).
"""


def annotated(session: whence.Session) -> dict[str, list[Any]]:
    return {name: sorted(session[name].tuples(annotated=True), key=repr) for name in session}


def bootstrapped(edges: set[tuple[int, int]]) -> whence.Session:
    session = whence.open(text=GRAPH)
    session.load(edge=sorted(edges))
    session.run()
    return session


def kept(folder: Path, edges: set[tuple[int, int]]) -> Store:
    bootstrapped(edges).save(folder)
    return Store.open(folder)


def applied(store: Store, change: Change, **options: Any) -> Applied:
    with open_state(store) as session:
        return apply_change(session, change, **options)


def test_an_epoch_opened_again_is_the_state_that_was_saved(tmp_path: Path) -> None:
    session = bootstrapped({(1, 2), (2, 3), (3, 1), (3, 4)})
    session.save(tmp_path / "state", 0.5)
    again = whence.open_state(tmp_path / "state")
    assert annotated(again) == annotated(session)
    assert again.epoch == 0
    assert repr(again).endswith("evaluated>")


def test_more_can_be_loaded_and_run(tmp_path: Path) -> None:
    kept(tmp_path / "state", {(1, 2)})
    session = whence.open_state(tmp_path / "state")
    session.load(edge=[(2, 3)])
    session.run()
    assert annotated(session) == annotated(bootstrapped({(1, 2), (2, 3)}))


edges = st.tuples(st.integers(0, 5), st.integers(0, 5))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sets(edges, max_size=12), st.lists(st.sets(edges, min_size=1, max_size=4), min_size=1, max_size=5), st.data())
def test_every_epoch_is_bootstrap_on_its_input(
    tmp_path_factory: pytest.TempPathFactory, first: set[Any], toggled: list[set[Any]], data: st.DataObject
) -> None:
    """Iteration by iteration and count by count, however many changes lie between; the store knows each impact."""
    store = kept(tmp_path_factory.mktemp("kept") / "state", first)
    inputs = [set(first)]
    for edges in toggled:
        before = inputs[-1]
        change = Change({"edge": tuple(edges - before)}, {"edge": tuple(edges & before)})
        strategy = data.draw(st.sampled_from(["elastic", "update", "bootstrap"]))
        done = applied(store, change, strategy=strategy)
        inputs.append(before ^ edges)
        inserted, deleted = impact_of(store, done.epoch)
        for told, stored in ((done.impact.inserted, inserted), (done.impact.deleted, deleted)):
            assert {name: set(tuples) for name, tuples in told.items()} == {n: set(t) for n, t in stored.items()}
    for epoch, edges in enumerate(inputs):
        assert annotated(open_state(store, epoch)) == annotated(bootstrapped(edges))
    store.check()


def test_deltas_are_small_until_they_are_not(tmp_path: Path) -> None:
    """A change costs as much as it is large; a relation is written whole again when its deltas add up."""
    chain = {(i, i + 1) for i in range(0, 400, 2)}
    store = kept(tmp_path / "state", chain)
    with open_state(store) as session:
        for number in range(36):
            apply_change(session, Change({"edge": ((1000 + number, 2000 + number),)}))
    assert [e.number for e in store.epochs if len(e.relations["edge"].files) == 1] == [0, 33]
    assert len(store.relation("edge", 32).files) == 33
    assert store.relation("item").files == store.relation("item", 0).files
    applied(store, Change({}, {"edge": tuple((i, i + 1) for i in range(0, 200, 2))}))
    assert len(store.relation("path").files) == 1, "half of it has changed"
    assert len(open_state(store)["path"]) == 136


def test_the_summary_says_what_happened_and_what_was_learned(tmp_path: Path) -> None:
    store = kept(tmp_path / "state", {(1, 2), (2, 3)})
    done = applied(store, Change({"edge": ((3, 4),)}, {"edge": ((1, 2),)}), strategy="update")
    summary = store.latest.summary
    assert summary["change"] == {"edge": {"inserted": 1, "deleted": 1}}
    assert summary["impact"]["path"] == {"inserted": 2, "deleted": 2}
    assert {tuple(s["relations"]): s["strategy"] for s in summary["strata"]}[("path",)] == "update"
    assert summary["learned"]["path"]["changed"] > 0
    assert (store.latest.strategy, store.latest.seconds) == (done.impact.strategy, done.impact.seconds)
    with open_state(store) as session:
        assert session.engine.learned() == summary["learned"]


def test_a_past_epoch_is_read_only_because_the_store_has_moved_on(tmp_path: Path) -> None:
    store = kept(tmp_path / "state", {(1, 2)})
    late = Store.open(tmp_path / "state")
    applied(store, Change({"edge": ((2, 3),)}))
    with pytest.raises(StoreError, match="is at epoch 1 now, and was at 0 when it was opened; open it again"):
        applied(late, Change({"edge": ((3, 4),)}))
    assert late.refresh() is None
    assert late.latest.number == 1
    with open_state(late, 0) as past:
        assert sorted(past["path"]) == [(1, 2)]
        with pytest.raises(WhenceError, match="is opened at epoch 0"):
            apply_change(past, Change({"edge": ((3, 4),)}))


def test_a_session_saves_what_has_changed(tmp_path: Path) -> None:
    """All of it first, then a delta an update; all of it again when several updates lie between."""
    session = bootstrapped({(i, i + 1) for i in range(0, 80, 2)})
    assert session.save(tmp_path / "state").number == 0
    session.update(insert={"edge": [(200, 201)]}, strategy="update")
    second = session.save(tmp_path / "state")
    assert (second.number, second.strategy, second.summary["change"]) == (
        1,
        "update",
        {"edge": {"inserted": 1, "deleted": 0}},
    )
    assert len(second.relations["path"].files) == 2
    assert session.save(tmp_path / "state").number == 1, "nothing has changed since"
    session.update(insert={"edge": [(300, 301)]})
    session.update(insert={"edge": [(400, 401)]})
    third = session.save(tmp_path / "state")
    assert [len(stored.files) for stored in third.relations.values()] == [1] * len(third.relations)
    session.undo()
    assert len(session.save(tmp_path / "state").relations["edge"].files) == 2
    assert session.epoch == 3
    assert annotated(open_state(tmp_path / "state")) == annotated(session)
    assert (400, 401) not in session["path"]
    elsewhere = session.save(tmp_path / "other")
    assert (elsewhere.number, elsewhere.strategy) == (0, "bootstrap")
    assert annotated(open_state(tmp_path / "other")) == annotated(session)


def test_states_have_counts(tmp_path: Path) -> None:
    session = whence.open(text=GRAPH, counts=False)
    session.run()
    with pytest.raises(WhenceError, match="derivations were not counted: open the session with counts=True to save it"):
        session.save(tmp_path / "state")
    store = kept(tmp_path / "state", {(1, 2)})
    with store.commit() as writer:
        writer.write("edge", store.read("edge").drop_columns("count"))
        writer.keep_others()
    with pytest.raises(WhenceError, match=r"epoch 1 of the store .*state has no derivation counts of 'edge'; evaluate"):
        open_state(store)


def test_an_interrupted_update_leaves_the_epoch(tmp_path: Path) -> None:
    store = kept(tmp_path / "state", {(i, i + 1) for i in range(50)})

    class Impatient:
        def stratum(self, *_: object) -> None: ...
        def placed(self, *_: object) -> None: ...
        def iteration(self, *_: object) -> None:
            raise KeyboardInterrupt

    with open_state(store) as session:
        before = annotated(session)
        with pytest.raises(KeyboardInterrupt):
            apply_change(session, Change({}, {"edge": ((25, 26),)}), progress=Impatient())
        assert annotated(session) == before
    assert Store.open(tmp_path / "state").numbers == (0,)


def test_undo_goes_back_and_the_next_epoch_goes_on_from_there(tmp_path: Path) -> None:
    store = kept(tmp_path / "state", {(1, 2)})
    applied(store, Change({"edge": ((2, 3),)}))
    store.undo()
    done = applied(store, Change({"edge": ((2, 4),)}))
    assert (done.epoch, store.numbers) == (2, (0, 2))
    assert annotated(open_state(store)) == annotated(bootstrapped({(1, 2), (2, 4)}))
    assert impact_of(store, 2)[0]["path"] == [(2, 4), (1, 4)]


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    store = kept(tmp_path / "state", {(1, 2)})
    path = next((tmp_path / "state").glob("epochs/0/path/*.parquet"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"is damaged at epochs/0/path/part-00000.parquet: its content is not"):
        open_state(store)


def test_texts_of_every_kind_of_value_survive(tmp_path: Path) -> None:
    store = kept(tmp_path / "state", set())
    program = open_state(store).program
    text = '+ item("a\\n\\"b\\" é", 7u, 2.5, nil). - item("from the text", 18446744073709551615u, -0.0, [1, [2, nil]]).'
    applied(store, parse_change(text, program))
    assert list(open_state(store)["item"]) == [('a\n"b" é', 7, 2.5, None)]
    inserted, deleted = impact_of(store, 1)
    assert inserted["item"] == [('a\n"b" é', 7, 2.5, None)]
    assert deleted["item"] == [("from the text", 2**64 - 1, -0.0, (1, (2, None)))]


@pytest.mark.slow
def test_many_epochs(tmp_path: Path) -> None:
    """A session that stays open and is stored after each of its changes."""
    choose = random.Random(4)
    now = {(choose.randrange(30), choose.randrange(30)) for _ in range(60)}
    store = kept(tmp_path / "state", now)
    with open_state(store) as session:
        for _ in range(300):
            edges = {(choose.randrange(30), choose.randrange(30)) for _ in range(choose.randrange(1, 4))}
            change = Change({"edge": tuple(edges - now)}, {"edge": tuple(edges & now)})
            apply_change(session, change)
            now ^= edges
        assert annotated(session) == annotated(open_state(store)) == annotated(bootstrapped(now))
