"""Changes of rules (002, 6.4.4): a rule that came or went is a part of the change like any tuple."""

from __future__ import annotations

from pathlib import Path

import pytest

import whence
from whence.cli import main
from whence.state import open_state

CLOSURE = """
.decl edge(x: number, y: number) .input edge
.decl path(x: number, y: number) .output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
BACK = "path(y, x) :- path(x, y)."
LOOP = ".decl loop(x: number)\nloop(x) :- path(x, x).\n"


def closed() -> whence.Session:
    session = whence.open(text=CLOSURE + LOOP)
    session.load(edge=[(1, 2), (2, 3)])
    session.run()
    return session


def test_a_rule_that_came() -> None:
    session = closed()
    session.apply(f"+ {BACK}\n+ edge(3, 4).")
    repair = session.repair(unwanted=["loop(X)"])
    assert sorted(repair.unwanted) == ["loop(2)", "loop(3)", "loop(4)"]
    assert repair.suggestion.tuples == [f"+ {BACK}"]
    assert (repair.suggestion.of, repair.suggestion.smallest) == (2, True)
    assert repair.suggestion.to_json()["parts"] == [{"kind": "rule", "change": "inserted", "text": BACK}]
    assert sorted(repair.localisation.tuples) == ["+ edge(3, 4).", f"+ {BACK}"]
    assert "rule " not in "".join(repair.why().values())
    alone = session.repair(unwanted=["loop(4)"], reject=[f"+ {BACK.replace(' ', '  ')}"])
    assert alone.suggestion.tuples == ["+ edge(3, 4)."]
    repair.apply()
    assert (len(session["loop"]), (1, 4) in session["path"]) == (0, True)
    assert len(session.program.rules) == 3


def test_a_rule_that_went() -> None:
    session = closed()
    session.apply("- path(x, z) :- path(x, y), edge(y, z).\n- edge(1, 2).")
    repair = session.repair(missing=["path(1, 3)"])
    assert sorted(repair.suggestion.tuples) == ["- edge(1, 2).", "- path(x, z) :- path(x, y), edge(y, z)."]
    assert session.repair(missing=["path(1, 2)"]).suggestion.tuples == ["- edge(1, 2)."]
    repair.apply()
    assert (1, 3) in session["path"]


def test_a_clause_is_one_part_whatever_rules_it_stands_for() -> None:
    session = closed()
    session.add_rule("path(x, y), loop(x) :- (edge(y, x), x > 0 ; edge(x, y), x = 2).")
    repair = session.repair(unwanted=["loop(2)", "path(2, 1)"])
    assert (len(repair.suggestion), repair.suggestion.of) == (1, 1)


def test_rules_of_stored_epochs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = tmp_path / "state"
    session = closed()
    session.save(state)
    session.apply(f"+ {BACK}\n+ edge(3, 4).")
    session.save(state)
    with open_state(state) as opened:
        assert opened.repair(unwanted=["loop(2)"]).suggestion.tuples == [f"+ {BACK}"]
    with open_state(state, 0) as opened:
        repair = opened.repair(missing=["path(4, 4)"], since=1)
        assert sorted(repair.suggestion.tuples) == ["- edge(3, 4).", f"- {BACK}"]
    assert main(["repair", str(state), "--unwanted", "loop(X)", "--apply"]) == 0
    assert f"  + {BACK}\n" in capsys.readouterr().out
    with open_state(state) as opened:
        assert (opened.epoch, len(opened["loop"]), (1, 4) in opened["path"]) == (2, 0, True)


def test_rules_that_cannot_be_compared() -> None:
    session = whence.open(text=CLOSURE + ".decl far(x: number)\nfar(x) :- edge(x, _), !path(1, x).\n")
    session.load(edge=[(1, 2), (5, 6)])
    session.run()
    session.replace_program(text=CLOSURE + ".decl far(x: number)\nfar(6).\npath(x, x) :- far(x).\n")
    with pytest.raises(whence.WhenceError, match="compare epochs whose rules differ less"):
        session.repair(unwanted=["path(6, 6)"])


def test_the_session_is_as_it_was() -> None:
    session = closed()
    session.add_rule(BACK)
    before = {name: set(session[name]) for name in session}
    session.repair(unwanted=["loop(2)"])
    assert {name: set(session[name]) for name in session} == before
    session.update(insert={"edge": [(7, 7)]})
    assert session.repair(unwanted=["path(7, 7)"]).suggestion.tuples == ["+ edge(7, 7)."]
    both = session.repair(unwanted=["path(7, 7)", "path(3, 1)"], since=0)
    assert sorted(both.suggestion.tuples) == ["+ edge(7, 7).", f"+ {BACK}"]
