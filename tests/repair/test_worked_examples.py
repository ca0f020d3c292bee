"""The running example of 002, section 6.2, end to end, and the example of section 6.4.4."""

from __future__ import annotations

import pytest

import whence
from test_papers import POINTS_TO, SESSIONS
from whence.repair import Repair
from whence.repair.cone import cone_of
from whence.repair.encoding import Encoding, Task
from whence.repair.finding import Finder
from whence.repair.trial import Wishes


def upgraded() -> whence.Session:
    """Fig. 2.2, and the method that upgrades a session."""
    session = whence.open(text=POINTS_TO + SESSIONS)
    session.load(
        new=[("admin", "L1"), ("sec", "L2"), ("ins", "L3"), ("userSession", "nullptr"), ("superuser", "nullptr")],
        store=[("admin", "session", "ins"), ("admin", "session", "sec")],
        load=[("superuser", "admin", "session")],
        assign=[("userSession", "ins"), ("superuser", "sec"), ("superuser", "userSession")],
    )
    session.run()
    session.update(
        insert={"assign": [("upgradedSession", "userSession")], "load": [("userSession", "admin", "session")]}
    )
    return session


def finder_of(repair: Repair) -> Finder:
    task = Task(frozenset(repair.faults.unwanted), frozenset())
    return Finder(repair.laboratory, Wishes(task.absent, task.present), task)


def test_the_localisation_and_the_suggestion_are_the_load() -> None:
    repair = upgraded().repair(unwanted=['alias("userSession", "sec")'])
    for answer in (repair.suggestion, repair.localisation):
        assert answer.tuples == ['+ load("userSession", "admin", "session").']
        assert (answer.of, answer.verified, answer.smallest) == (2, True, True)


def test_the_integer_program_of_section_6_4_5() -> None:
    """load - vpt <= 0, vpt - alias <= 0, alias = 0, max load. The assign has nothing to do with it."""
    repair = upgraded().repair(unwanted=['alias("userSession", "sec")'])
    finder = finder_of(repair)
    finder._collect()
    load, vpt, alias = ["load", "vpt", "alias"]
    bodies = {
        head[0]: [[(key[0], sign) for key, sign in body] for body in found]
        for head, found in finder.graph.bodies.items()
    }
    assert bodies == {alias: [[(vpt, True)]], vpt: [[(load, True)]]}
    encoding = Encoding(finder.graph, finder.task, finder.epochs.part_of)
    assert encoding.solve(60.0) == frozenset(repair.suggestion.parts)
    assert encoding._program is not None
    names = {number: key[0] for key, number in encoding._there.items()}
    rows = [({names[c]: v for c, v in row.items()}, low, high) for row, low, high in encoding._program.rows]
    inf = float("inf")
    assert rows == [
        ({alias: 1.0}, 0.0, 0.0),
        ({alias: -1.0, vpt: 1.0}, -inf, 0.0),
        ({vpt: -1.0, load: 1.0}, -inf, 0.0),
    ]


def test_the_incremental_proof_of_figure_6_2() -> None:
    [proof] = upgraded().repair(unwanted=['alias("userSession", "sec")']).why().values()
    marked = {line.strip("│├└─ ").split(" (+)")[0] for line in proof.splitlines() if "(+)" in line}
    assert marked == {
        'alias("userSession", "sec")',
        'vpt("userSession", "L2")',
        'load("userSession", "admin", "session")',
    }


OPPOSED = """
.decl B(x: number) .input B
.decl D(x: number) .input D
.decl E(x: number) .input E
.decl C(x: number)
.decl A(x: number)
A(x) :- B(x), !C(x).
C(x) :- D(x), !E(x).
"""


@pytest.mark.parametrize("inserted", [True, False])
def test_negations_lead_from_appearing_to_disappearing_and_back(inserted: bool) -> None:
    """A appears because C disappears because E appears."""
    session = whence.open(text=OPPOSED)
    session.load(B=[(1,), (2,)], D=[(1,), (2,)], E=[] if inserted else [(1,), (2,)])
    session.run()
    change = {"E": [(1,), (2,)]}
    session.update(**({"insert": change} if inserted else {"delete": change}))
    repair = session.repair(**({"unwanted": ["A(1)"]} if inserted else {"missing": ["A(1)"]}))
    assert repair.suggestion.tuples == [f"{'+' if inserted else '-'} E(1)."]
    assert repair.localisation.tuples == repair.suggestion.tuples
    assert repair.suggestion.smallest


def test_both_epochs_input_together_derives_what_neither_has() -> None:
    """`n(2)` is in neither epoch, but comes back with `a(1)`, as the link stays: one part is enough."""
    session = whence.open(
        text="""
        .decl a(x: number) .input a
        .decl link(x: number, y: number) .input link
        .decl node(x: number) .input node
        .decl n(x: number)
        n(x) :- a(x).
        n(y) :- n(x), link(x, y).
        .decl free(x: number)
        free(x) :- node(x), !n(x).
        """
    )
    session.load(a=[(1,)], node=[(1,)])
    session.run()
    session.update(insert={"link": [(1, 2)], "node": [(2,)]}, delete={"a": [(1,)]})
    repair = session.repair(unwanted=["free(X)"], missing=["n(1)"])
    assert sorted(repair.unwanted) == ["free(1)", "free(2)"]
    assert repair.suggestion.tuples == ["- a(1)."]
    assert repair.suggestion.smallest


def test_what_may_be_reasoned_about_is_read_off_the_rules() -> None:
    program = whence.open(text=OPPOSED).program
    below = cone_of(program, {"C"}, {"E"})
    assert (below.positive, below.flat) == (False, True)
    above = cone_of(program, {"A"}, {"E"})
    assert (above.positive, above.flat) == (False, False)
    assert cone_of(program, {"A"}, {"B"}).positive
