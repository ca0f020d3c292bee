"""The papers' worked examples of maintenance: what each iteration's multiset becomes, and its diff."""

from __future__ import annotations

from collections import Counter

import pytest

import whence
from test_papers import ALIASES, POINTS_TO, SESSIONS, iterations, once

STRATEGIES = ["update", "dense", "bootstrap"]


def multisets(session: whence.Session, relation: str) -> Counter[tuple[int, tuple[object, ...]]]:
    return Counter({(i, row): n for i, rows in iterations(session, relation).items() for row, n in rows.items()})


def diff(before: Counter, after: Counter) -> dict[tuple[int, tuple[object, ...]], int]:  # type: ignore[type-arg]
    return {key: after[key] - before[key] for key in before.keys() | after.keys() if after[key] != before[key]}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_update_of_the_elastic_paper(strategy: str) -> None:
    """000 section 3.2: assign(b, a) goes, store(d, f, c) comes."""
    session = whence.open(text=POINTS_TO + ALIASES, strategy=strategy)
    session.load(
        new=[("a", "L1"), ("c", "L3"), ("d", "L4")],
        assign=[("a", "b"), ("b", "a")],
        store=[("c", "f", "a")],
        load=[("e", "d", "f"), ("b", "c", "f")],
    )
    session.run()
    before = multisets(session, "vpt")
    impact = session.update(insert={"store": [("d", "f", "c")]}, delete={"assign": [("b", "a")]})
    assert iterations(session, "assign") == {0: once(("a", "b"))}
    assert iterations(session, "store") == {0: once(("d", "f", "c"), ("c", "f", "a"))}
    assert iterations(session, "vpt") == {
        1: once(("a", "L1"), ("c", "L3"), ("d", "L4")),
        2: once(("b", "L1"), ("e", "L3")),
    }
    assert diff(before, multisets(session, "vpt")) == {(2, ("b", "L1")): -1, (2, ("e", "L3")): 1}
    assert {name: set(rows) for name, rows in impact.inserted.items()} == {
        "store": {("d", "f", "c")},
        "vpt": {("e", "L3")},
        "alias": {("c", "e"), ("e", "c"), ("e", "e")},
    }
    assert {name: set(rows) for name, rows in impact.deleted.items()} == {"assign": {("b", "a")}}


def sessions(strategy: str) -> whence.Session:
    """The running example of 002 chapter 5."""
    session = whence.open(text=POINTS_TO + SESSIONS, strategy=strategy)
    session.load(
        new=[("admin", "L1"), ("sec", "L2"), ("ins", "L3"), ("userSession", "nullptr"), ("superuser", "nullptr")],
        store=[("admin", "session", "ins"), ("admin", "session", "sec")],
        load=[("superuser", "admin", "session")],
        assign=[("userSession", "ins"), ("superuser", "sec"), ("superuser", "userSession")],
    )
    session.run()
    return session


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_update_of_the_thesis(strategy: str) -> None:
    """002 section 5.4.2: assign(superuser, sec) goes, load(userSession, admin, session) comes."""
    session = sessions(strategy)
    before = multisets(session, "vpt")
    first = iterations(session, "vpt")[1]
    session.update(insert={"load": [("userSession", "admin", "session")]}, delete={"assign": [("superuser", "sec")]})
    second = once(("userSession", "L2"), ("userSession", "L3"), ("superuser", "L2"), ("superuser", "L3"))
    second[("userSession", "L3")] = 2
    # The text has one derivation of vpt(userSession, L3); its new load gives another by r3 through ins.
    assert iterations(session, "vpt") == {1: first, 2: second}
    assert diff(before, multisets(session, "vpt")) == {
        (2, ("superuser", "L2")): -1,
        (2, ("userSession", "L2")): 1,
        (2, ("userSession", "L3")): 1,
    }


def test_dense_counts_of_the_thesis() -> None:
    """002 section 5.3.1: vpt(superuser, L3) is derived in iteration 2 and, in another way, in iteration 3."""
    session = sessions("dense")
    tables = session.engine.tables
    table = tables.vectors["vpt"].table  # type: ignore[attr-defined]
    decoded = [tables.values.decode(table.rows[:, i], "symbol", "symbol") for i in (0, 1)]
    counted = dict(zip(zip(*decoded, table.rows[:, 2].tolist(), strict=True), table.counts.tolist(), strict=True))
    assert counted == {
        ("admin", "L1", 1): 1,
        ("sec", "L2", 1): 1,
        ("ins", "L3", 1): 1,
        ("userSession", "nullptr", 1): 1,
        ("superuser", "nullptr", 1): 1,
        ("userSession", "L3", 2): 1,
        ("superuser", "L2", 2): 2,
        ("superuser", "L3", 2): 1,
        ("superuser", "L3", 3): 1,
        ("superuser", "nullptr", 2): 1,  # which the text leaves out: by assign(superuser, userSession)
    }


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_negation_of_the_thesis(strategy: str) -> None:
    """002 section 5.4.3: inserting edge(a, c) takes path(a, c) away, deleting it gives it back."""
    session = whence.open(
        text="""
        .decl edge(x: symbol, y: symbol)
        .decl step(x: symbol, y: symbol)
        .decl path(x: symbol, y: symbol)
        path(X, Y) :- step(X, Y).
        path(X, Z) :- step(X, Y), path(Y, Z), !edge(X, Z).
        """,
        strategy=strategy,
    )
    session.load(step=[("a", "b"), ("b", "c")])
    session.run()
    assert ("a", "c") in session["path"]
    impact = session.update(insert={"edge": [("a", "c")]})
    assert list(impact.deleted["path"]) == [("a", "c")]
    assert "path" not in impact.inserted
    assert list(session.update(delete={"edge": [("a", "c")]}).inserted["path"]) == [("a", "c")]
