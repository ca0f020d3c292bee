"""The worked examples of the papers, to the iteration and the count of each tuple.

002 is the thesis, 000 the paper on elastic incrementalization; see `../shared/seeds`.
"""

from __future__ import annotations

import pytest

import whence

POINTS_TO = """
.decl new(variable: symbol, object: symbol)
.decl assign(variable: symbol, source: symbol)
.decl load(variable: symbol, base: symbol, field: symbol)
.decl store(base: symbol, field: symbol, source: symbol)
.decl vpt(variable: symbol, object: symbol)
vpt(Var, Obj) :- new(Var, Obj).                                                 // r1
vpt(Var, Obj) :- assign(Var, Var2), vpt(Var2, Obj).                             // r2
vpt(Var, Obj) :- load(Var, Inter, F), store(Inter2, F, Var2), vpt(Inter, InterObj),
                 vpt(Inter2, InterObj), vpt(Var2, Obj).                         // r3
.decl alias(one: symbol, other: symbol)
"""
SESSIONS = """
alias(Var1, Var2) :- vpt(Var1, Obj), vpt(Var2, Obj), Var1 != Var2, Obj != "nullptr".  // r4
.decl safevar(variable: symbol)
safevar(Var) :- vpt(Var, _), !vpt(Var, "nullptr").                                    // r5
"""
ALIASES = "alias(Var1, Var2) :- vpt(Var1, Obj), vpt(Var2, Obj)."

# One iteration: the tuples first derived in it, each with its number of derivations.
Iteration = dict[tuple[object, ...], int]


def iterations(session: whence.Session, relation: str) -> dict[int, Iteration]:
    found: dict[int, Iteration] = {}
    for row, iteration, count in session[relation].tuples(annotated=True):
        found.setdefault(iteration, {})[row] = count
    return found


def once(*tuples: tuple[object, ...]) -> Iteration:
    return dict.fromkeys(tuples, 1)


@pytest.mark.parametrize("assigned_twice", [False, True], ids=["fig. 2.4", "fig. 2.2b"])
def test_points_to_of_the_thesis(assigned_twice: bool) -> None:
    """002 fig. 2.4. Its E leaves out assign(superuser, userSession) of fig. 2.2b, which derives nothing earlier."""
    session = whence.open(text=POINTS_TO + SESSIONS)
    session.load(
        new=[("admin", "L1"), ("sec", "L2"), ("ins", "L3"), ("userSession", "nullptr"), ("superuser", "nullptr")],
        store=[("admin", "session", "ins"), ("admin", "session", "sec")],
        load=[("superuser", "admin", "session")],
        assign=[("userSession", "ins"), ("superuser", "sec")] + [("superuser", "userSession")] * assigned_twice,
    )
    session.run()
    assert set(iterations(session, "new")) == {0}
    assert iterations(session, "vpt") == {
        1: once(("admin", "L1"), ("sec", "L2"), ("ins", "L3"), ("userSession", "nullptr"), ("superuser", "nullptr")),
        2: once(("userSession", "L3"), ("superuser", "L3")) | {("superuser", "L2"): 2},  # by r2 and by r3
    }
    # The figure shows each pair one way round and leaves out superuser and userSession, which share L3.
    pairs = [("userSession", "ins"), ("superuser", "sec"), ("superuser", "ins"), ("superuser", "userSession")]
    assert iterations(session, "alias") == {1: once(*pairs, *((b, a) for a, b in pairs))}
    assert iterations(session, "safevar") == {1: once(("admin",), ("sec",), ("ins",))}


def test_bootstrap_of_the_elastic_paper() -> None:
    """000 sections 2.2 and 3.1: the multisets N# of its fig. 3."""
    session = whence.open(text=POINTS_TO + ALIASES)
    session.load(
        new=[("a", "L1"), ("c", "L3"), ("d", "L4")],
        assign=[("a", "b"), ("b", "a")],
        store=[("c", "f", "a")],
        load=[("e", "d", "f"), ("b", "c", "f")],
    )
    session.run()
    assert iterations(session, "assign") == {0: once(("a", "b"), ("b", "a"))}
    assert iterations(session, "load") == {0: once(("e", "d", "f"), ("b", "c", "f"))}
    assert iterations(session, "vpt") == {1: once(("a", "L1"), ("c", "L3"), ("d", "L4")), 2: {("b", "L1"): 2}}
    same = [(v, v) for v in "abcd"]
    assert iterations(session, "alias") == {1: once(*same, ("a", "b"), ("b", "a"))}


def test_transitive_closure_counts_the_ways_round_a_diamond() -> None:
    session = whence.open(
        text="""
        .decl edge(x: number, y: number)
        .decl path(x: number, y: number)
        path(x, y) :- edge(x, y).
        path(x, z) :- path(x, y), edge(y, z).
        """
    )
    session.load(edge=[(1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (5, 4)])
    session.run()
    assert iterations(session, "path") == {
        1: once((1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (5, 4)),
        2: once((2, 5), (3, 5), (4, 4), (5, 5)) | {(1, 4): 2},
        3: once((1, 5)),
    }


def test_same_generation() -> None:
    session = whence.open(
        text="""
        .decl parent(child: symbol, parent: symbol)
        .decl same(x: symbol, y: symbol)
        same(x, y) :- parent(x, p), parent(y, p), x != y.
        same(x, y) :- parent(x, p), same(p, q), parent(y, q).
        """
    )
    session.load(parent=[("a", "r"), ("b", "r"), ("c", "a"), ("d", "a"), ("e", "b"), ("f", "e"), ("g", "c")])
    session.run()
    assert iterations(session, "same") == {
        1: once(("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")),
        2: once(("c", "e"), ("d", "e"), ("e", "c"), ("e", "d")),
        3: once(("f", "g"), ("g", "f")),
    }


def test_negation_with_three_strata() -> None:
    """Reachable, then what is not, then who sees only what is not: each stratum negates the one before."""
    session = whence.open(
        text="""
        .decl edge(x: number, y: number)
        .decl node(x: number)
        .decl reached(x: number)
        .decl unreached(x: number)
        .decl kept(x: number)
        node(x), node(y) :- edge(x, y).
        reached(1).
        reached(y) :- reached(x), edge(x, y).
        unreached(x) :- node(x), !reached(x).
        kept(x) :- edge(x, y), !unreached(y), !unreached(x).
        """
    )
    session.load(edge=[(1, 2), (2, 3), (1, 3), (4, 3), (5, 4), (3, 1)])
    session.run()
    assert iterations(session, "node") == {1: {(1,): 3, (2,): 2, (3,): 4, (4,): 2, (5,): 1}}
    assert iterations(session, "reached") == {0: once((1,)), 1: once((2,), (3,))}
    assert iterations(session, "unreached") == {1: once((4,), (5,))}
    assert iterations(session, "kept") == {1: {(1,): 2, (2,): 1, (3,): 1}}
