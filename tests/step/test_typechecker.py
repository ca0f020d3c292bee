"""The scenario of 001, section 2: a breakpoint and steps find the wrong rule of the type checker, as the text tells.

In the text T and T' of the outer application are Nat; its function has the type (Nat → Nat) → Nat → Nat, so both are
Nat → Nat.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import whence
from whence.step import Debugger

FOLDER = Path(__file__).parent.parent.parent / "examples" / "typechecker"
NAT = ("Nat", None, None)
OUTER = ("λf. λy. f y", "λx. x + 1")


def arrow(argument: object, result: object) -> tuple[object, ...]:
    return ("->", argument, result)


@pytest.fixture
def debugger() -> Debugger:
    session = whence.open(FOLDER / "typechecker.dl")
    session.read_inputs(FOLDER / "facts")
    session.run()
    return session.debug('typeOf("p", T)')


def bindings(d: Debugger) -> dict[str, object]:
    shown = d.frame.bindings
    assert shown is not None
    (row,) = shown.rows()
    return dict(zip(shown.names, row, strict=True))


def test_the_scenario(debugger: Debugger) -> None:
    d = debugger
    application = d.break_at("typeOf", rule=6, atom=2)
    # The first breakpoint that is reached is for the outermost application,
    assert d.resume().breakpoints == (application,)
    assert bindings(d) == {"e": "p", "e1": OUTER[0], "e2": OUTER[1]}
    # the next one for the innermost.
    assert d.resume().breakpoints == (application,)
    assert bindings(d) == {"e": "f y", "e1": "f", "e2": "y"}
    # Stepping over the first typeOf atom:
    d.over(by="atom")
    assert bindings(d) == {"e": "f y", "e1": "f", "e2": "y", "T": NAT, "U": NAT}
    # into the second, to see how lookup validates that y is a Nat.
    d.into(by="atom")
    assert d.frame.call == 'typeOf("y", ["Nat", nil, nil])'
    d.over(by="atom")
    assert d.frame.atom == "lookup(e, x, T)"
    d.into(by="atom")
    assert d.frame.call == 'lookup("y", "y", ["Nat", nil, nil])'
    # Out, until the rule of the outermost application.
    d.breakpoints.clear()
    d.out()
    while len(d.frames) > 1:
        assert d.out().reason == "step"
    d.over(by="atom")
    assert bindings(d) == {
        "e": "p", "e1": OUTER[0], "e2": OUTER[1], "T": arrow(NAT, NAT), "U": arrow(NAT, NAT),
    }  # fmt: skip
    # Into the second typeOf call: no rule can derive it.
    d.into(by="atom")
    assert d.frame.call == 'typeOf("λx. x + 1", ["Nat", nil, nil])'
    seen = set()
    while len(d.frames) == 2:
        seen.add(d.frame.place.line)
        assert not len(d.frame.result)
        d.over(by="atom")
    assert seen == {31, 32, 33, 35, 36, 38, 39}
    if not d.done:
        d.resume()
    assert d.answer is not None
    assert not len(d.answer)


def test_the_rule_for_functions_fails_because_nat_is_none(debugger: Debugger) -> None:
    d = debugger
    d.break_at("typeOf", rule=6, atom=3, condition='e = "p"')
    d.resume()
    d.into(by="atom")
    while d.frame.place.line < 36:
        d.over(by="atom")
    assert d.frame.rule.startswith('typeOf(e, ["->", T, U]) :- lam')
    assert d.frame.bindings is not None
    assert not len(d.frame.bindings)


def test_with_the_rule_put_right_p_has_a_type() -> None:
    text = (FOLDER / "typechecker.dl").read_text()
    right = text.replace(
        'typeOf(e1, ["->", T, U]),\n    typeOf(e2, ["Nat", nil, nil])', 'typeOf(e1, ["->", T, U]),\n    typeOf(e2, T)'
    )
    assert right != text
    session = whence.open(text=right)
    session.read_inputs(FOLDER / "facts")
    session.run()
    d = session.debug('typeOf("p", T)')
    while not d.done:
        d.into()
    assert d.answer is not None
    assert d.answer.rows() == [(arrow(NAT, NAT),)]
