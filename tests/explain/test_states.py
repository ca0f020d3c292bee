"""States in a store: the same answers as in memory, and only what is needed is read."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whence
from explain.test_figures import sessions
from explain.test_forms import CLOSURE
from explain.test_properties import evaluated, some_tuples
from maintain.changing import opened
from oracle.generate import programs
from oracle.render import fact, render
from oracle.rules import Program
from whence.explain import Explainer, explain, in_store, why_not, window
from whence.store import Store

QUESTIONS = ['alias("userSession", "ins")', 'vpt("superuser", X)', 'safevar("ins")']
ABSENT = ['alias("admin", "sec")', 'vpt("userSession", "L4")', 'safevar("userSession")']


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small, a state is not read whole."""
    monkeypatch.setattr(window, "ALL_AT_ONCE", -1)


@pytest.fixture
def state(tmp_path: Path) -> Store:
    sessions().save(tmp_path / "state")
    return Store.open(tmp_path / "state")


@pytest.mark.usefixtures("little")
def test_only_what_is_needed_is_read(state: Store) -> None:
    explainer = Explainer(in_store(state))
    found = explain(explainer, QUESTIONS[0])
    read = {name: len(stored.table) for name, stored in explainer.state.tables.stored.items()}
    assert read == {"new": 1, "assign": 1, "load": 0, "store": 0, "vpt": 3, "alias": 1, "safevar": 0}
    assert found.text() == sessions().explain(QUESTIONS[0]).text()


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("metric", [None, "height", "size"])
def test_answers_are_those_of_the_session(state: Store, metric: str | None) -> None:
    session = sessions()
    explainer = Explainer(in_store(state), metric)
    for query in QUESTIONS:
        assert explain(explainer, query).json() == session.explain(query, metric=metric).json()
    for query in ABSENT:
        assert why_not(explainer, query).json() == session.why_not(query).json()


@pytest.mark.usefixtures("little")
def test_layers_that_delete(tmp_path: Path) -> None:
    """What a later epoch has deleted is not met, and an earlier epoch still has it."""
    session = whence.open(text=CLOSURE)
    session.load(edge=[(i, i + 1) for i in range(200)])
    session.run()
    session.save(tmp_path / "state")
    store = Store.open(tmp_path / "state")
    every = store.read("edge")
    with store.commit(strategy="update") as writer:
        writer.change("edge", every.slice(0, 0), every.slice(7, 1))
        writer.keep_others()
    assert any(layer.deleted for layer in store.layers("edge"))
    assert explain(Explainer(in_store(store, store.numbers[0])), "edge(7, X)").tuple == "edge(7, 8)"
    assert explain(Explainer(in_store(store)), "edge(8, X)").tuple == "edge(8, 9)"
    with pytest.raises(whence.WhenceError, match="nothing matches"):
        explain(Explainer(in_store(store)), "edge(7, X)")


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(program=programs(), seed=st.integers(0, 2**32 - 1))
def test_random_states_through_the_window(
    program: Program, seed: int, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "ALL_AT_ONCE", -1)
    model, _ = evaluated(program)
    session = opened(program)
    folder = tmp_path_factory.mktemp("state")
    session.save(folder / "state")
    explainer = Explainer(in_store(Store.open(folder / "state")))
    for name, row in some_tuples(model, Random(seed))[:5]:
        query = fact(name, row, program)
        found, wanted = explain(explainer, query, depth=1000), session.explain(query, depth=1000)
        assert found.height == wanted.height, f"{query} in\n{render(program)}"
        assert len(found.derivations()) == len(wanted.derivations()), f"{query} in\n{render(program)}"
