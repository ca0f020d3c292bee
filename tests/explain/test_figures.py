"""The figures of chapter 4 of the thesis (002)."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

import whence
from test_papers import POINTS_TO, SESSIONS

R2 = "vpt(Var, Obj) :- assign(Var, Var2), vpt(Var2, Obj)."
FAULTY_R2 = "vpt(Var, Obj) :- assign(Var, Var2), vpt(Var3, Obj)."


def sessions(text: str = POINTS_TO + SESSIONS, more: list[tuple[str, str]] | None = None) -> whence.Session:
    """The program of fig. 2.2 on its input."""
    session = whence.open(text=text)
    session.load(
        new=[("admin", "L1"), ("sec", "L2"), ("ins", "L3"), ("userSession", "nullptr"), ("superuser", "nullptr")],
        store=[("admin", "session", "ins"), ("admin", "session", "sec")],
        load=[("superuser", "admin", "session")],
        assign=[("userSession", "ins"), ("superuser", "sec"), *(more or [])],
    )
    session.run()
    return session


def tree(explanation: whence.explain.Explanation) -> Any:
    """A proof as nested lists: what it proves, the rule, the children; leaves are plain texts."""

    def part(node: dict[str, Any]) -> Any:
        if node["rule"] is None:
            return node["tuple"] + (" …" if node.get("cut") else "")
        return [node["tuple"], node["rule"]["number"], *map(part, node["children"])]

    return part(json.loads(explanation.json()))


DRAWING = """\
                                new("ins", "L3").
                                -----------------(R1)
assign("userSession", "ins").   vpt("ins", "L3")            new("ins", "L3").
-----------------------------------------------------(R2)   -----------------(R1)   "userSession" != "ins"
              vpt("userSession", "L3")                      vpt("ins", "L3")        "L3" != "nullptr"
----------------------------------------------------------------------------------------------------------(R4)
                                       alias("userSession", "ins")

R1  vpt(Var, Obj) :- new(Var, Obj).  <program>:7
R2  vpt(Var, Obj) :- assign(Var, Var2), vpt(Var2, Obj).  <program>:8
R4  alias(Var1, Var2) :- vpt(Var1, Obj), vpt(Var2, Obj), Var1 != Var2, Obj != "nullptr".  <program>:13"""
INS = ['vpt("ins", "L3")', 1, 'new("ins", "L3")']


def test_figure_4_1_and_4_12() -> None:
    explanation = sessions().explain('alias("userSession", "ins")')
    assert tree(explanation) == [
        'alias("userSession", "ins")',
        4,
        ['vpt("userSession", "L3")', 2, 'assign("userSession", "ins")', INS],
        INS,
        '"userSession" != "ins"',
        '"L3" != "nullptr"',
    ]
    assert explanation.height == 3
    assert explanation.text(width=120) == DRAWING


def test_figure_4_2_a_circle_does_not_make_a_proof_higher() -> None:
    explanation = sessions(more=[("ins", "userSession")]).explain('vpt("ins", "L3")')
    assert tree(explanation) == INS
    assert [tree(proof) for proof in explanation.proofs(10)] == [INS]  # the other derivation rests on the tuple itself
    assert len(explanation.derivations()) == 2


def test_figure_4_4_two_levels_at_a_time() -> None:
    session = sessions((POINTS_TO + SESSIONS).replace(R2, FAULTY_R2))
    assert tree(session.explain('alias("userSession", "admin")', depth=2)) == [
        'alias("userSession", "admin")',
        4,
        ['vpt("userSession", "L1")', 2, 'assign("userSession", "ins")', 'vpt("admin", "L1") …'],
        ['vpt("admin", "L1")', 1, 'new("admin", "L1")'],
        '"userSession" != "admin"',
        '"L1" != "nullptr"',
    ]


HEIGHTS = """
.decl new(variable: symbol, object: symbol)
.decl early(height: number, variable: symbol, source: symbol)
.decl later(height: number, variable: symbol, source: symbol)
.decl assign(variable: symbol, source: symbol)
later(n - 1, v, w) :- early(n, v, w), n > 1.
later(n - 1, v, w) :- later(n, v, w), n > 1.
assign(v, w) :- early(1, v, w).
assign(v, w) :- later(1, v, w).
.decl vpt(variable: symbol, object: symbol)
vpt(v, o) :- new(v, o).
vpt(v, o) :- assign(v, w), vpt(w, o).
"""


def test_figure_4_8_heights_across_strata() -> None:
    """The figure leaves out vpt(a, L3), which assign(a, b) and vpt(b, L3) derive."""
    session = whence.open(text=HEIGHTS)
    session.load(
        new=[("a", "L1"), ("c", "L3")],
        early=[(3, "b", "a"), (1, "b", "c"), (1, "c", "a"), (2, "a", "b")],
    )
    session.run()

    def heights(relation: str, metric: str | None) -> dict[Any, int]:
        query = '{}("{}", "{}")'
        return {row: session.explain(query.format(relation, *row), metric=metric).height for row in session[relation]}

    assert heights("assign", "height") == {("b", "a"): 3, ("b", "c"): 1, ("c", "a"): 1, ("a", "b"): 2}
    minimal = {("a", "L1"): 1, ("c", "L3"): 1, ("b", "L1"): 3, ("b", "L3"): 2, ("c", "L1"): 2, ("a", "L3"): 3}
    assert heights("vpt", "height") == minimal
    # The second iteration derives vpt(b, L1) from assign(b, a), the highest; the third would lower it.
    assert heights("vpt", None) == {**minimal, ("b", "L1"): 4}


def test_figure_4_10_negations_and_constraints_are_leaves() -> None:
    session = whence.open(
        text="""
        .decl edg(x: symbol, y: symbol)
        .decl path2(x: symbol, y: symbol)
        path2(X, Z) :- edg(X, Y), edg(Y, Z), !edg(X, Z), X != Z.
        path2(X, Z) :- edg(X, Y), path2(Y, Z), !edg(X, Z), X != Z.
        """
    )
    session.load(edg=[("a", "b"), ("b", "c"), ("c", "d")])
    session.run()
    inner = ['path2("b", "d")', 1, 'edg("b", "c")', 'edg("c", "d")', '!edg("b", "d")', '"b" != "d"']
    assert tree(session.explain('path2("a", "d")')) == [
        'path2("a", "d")', 2, 'edg("a", "b")', inner, '!edg("a", "d")', '"a" != "d"',
    ]  # fmt: skip


def parts(session: whence.Session, query: str, **options: Any) -> dict[int, list[tuple[str, str]]]:
    answer = json.loads(session.why_not(query, **options).json())
    return {
        attempt["rule"]["number"]: [(part["text"], part["status"]) for part in attempt["children"]]
        for attempt in answer["attempts"]
    }


def test_figure_4_13_why_not() -> None:
    session = sessions()
    wanted = [('assign("userSession", "ins")', "holds"), ('vpt("ins", "L4")', "fails")]
    found = parts(session, 'vpt("userSession", "L4")')
    assert sorted(found) == [1, 2, 3]
    assert found[2] == wanted  # the value that the paper's user picks is found
    assert parts(session, 'vpt("userSession", "L4")', rule=2, values={"Var2": "ins"}) == {2: wanted}
    assert session.why_not('vpt("userSession", "L4")', rule=2).text() == (
        'assign("userSession", "ins") ✓   vpt("ins", "L4") ✗\n'
        "---------------------------------------------------(R2)\n"
        '             vpt("userSession", "L4")\n'
        'There are: vpt("userSession", "L3"), vpt("userSession", "nullptr")\n\n'
        "R2  vpt(Var, Obj) :- assign(Var, Var2), vpt(Var2, Obj).  <program>:8"
    )


def test_the_example_of_4_3_4() -> None:
    found = parts(sessions(), 'vpt("sec", "L3")', rule=2, values={"Var2": "ins"})
    assert found == {2: [('assign("sec", "ins")', "fails"), ('vpt("ins", "L3")', "holds")]}


def test_figure_4_9_updates_of_heights() -> None:
    """reach(a, e) is lowered each time that a longer way over lower edges arrives."""
    k = 6
    session = whence.open(
        text="""
        .decl raw(level: number, x: symbol, y: symbol)
        .decl later(level: number, x: symbol, y: symbol)
        later(n, x, y) :- raw(n, x, y).
        later(n - 1, x, y) :- later(n, x, y), n > 0.
        .decl edge(x: symbol, y: symbol)
        edge(x, y) :- later(0, x, y).
        .decl reach(x: symbol)
        reach("a").
        reach(y) :- reach(x), edge(x, y).
        """
    )
    spine = ["a", *(f"s{i}" for i in range(1, k + 1))]
    leg = ["e", *(f"l{i}" for i in range(1, k + 1))]
    raw = [(0, one, other) for one, other in pairwise(spine)]
    raw += [(0, one, other) for one, other in pairwise(leg)]
    raw += [(3 * k - 3 * i, node, "e") for i, node in enumerate(spine)]
    session.load(raw=raw)
    session.run()
    # An edge of level n has height n + 2; over the i-th node it is max(i + 2, 3k - 3i + 2) + 1.
    least = min(max(i + 2 if i else 0, 3 * k - 3 * i + 2) + 1 for i in range(len(spine)))
    assert session.explain('reach("e")', metric="height").height == least
    assert session.explain(f'reach("l{k}")', metric="height").height == least + k
    assert session.explain('reach("e")').height == 3 * k + 3


@pytest.mark.parametrize("metric", ["height", "size"])
def test_metrics_agree_where_the_order_of_iterations_is_enough(metric: str) -> None:
    session = sessions()
    query = 'alias("userSession", "ins")'
    assert tree(session.explain(query, metric=metric)) == tree(session.explain(query))
