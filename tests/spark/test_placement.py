"""Where a stratum is evaluated: by the size of its input, by its rules, or where the user says."""

from __future__ import annotations

import pytest

from whence.engines.spark.options import Options, Place
from whence.engines.spark.placement import place, reads
from whence.lang import compile_text

CLOSURE = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
SAME_GENERATION = """
.decl parent(x: number, y: number)
.decl same(x: number, y: number)
same(x, y) :- parent(x, p), parent(y, p).
same(x, y) :- parent(x, p), same(p, q), parent(y, q).
"""
NOT_RECURSIVE = """
.decl edge(x: number, y: number)
.decl back(x: number, y: number)
back(y, x) :- edge(x, y), !edge(y, x).
"""
NUMBERED = """
.decl name(x: symbol)
.decl number(x: number)
number(ord(x)) :- name(x).
"""


def placed(text: str, rows: int, forced: Place | None = None, here: bool = False) -> tuple[str, str]:
    program = compile_text(text)
    [stratum] = [stratum for stratum in program.strata if stratum.rules]
    options = Options(placement=forced, driver_rows=1_000, broadcast_rows=10_000)
    found = place(stratum, program, lambda name: rows, lambda name: here, options)
    return found.place, found.reason


@pytest.mark.parametrize("text", [CLOSURE, SAME_GENERATION, NOT_RECURSIVE])
def test_small_input_stays_on_the_driver(text: str) -> None:
    found, reason = placed(text, 500)
    assert found == "driver"
    assert reason == "its input is small: 1,000 tuples, of up to 1,000"


def test_what_is_here_already_stays_here() -> None:
    found = placed(CLOSURE, 600, here=True)
    assert found == ("driver", "its input, 1,200 tuples, is in the driver's process already")
    assert placed(CLOSURE, 6_000, here=True)[0] == "decomposed"


def test_a_stratum_that_falls_apart_is_decomposed() -> None:
    assert placed(CLOSURE, 600) == ("decomposed", "its rules carry x of path unchanged")


def test_unless_too_much_would_be_sent() -> None:
    found, reason = placed(CLOSURE, 10_001)
    assert (found, reason) == ("exchanged", "`edge`, 10,001 tuples, are too many to send to every task")


def test_what_does_not_fall_apart_is_exchanged() -> None:
    found, reason = placed(SAME_GENERATION, 600)
    assert found == "exchanged"
    assert "does not carry a column of `same` unchanged" in reason


def test_without_recursion_nothing_is_decomposed() -> None:
    assert placed(NOT_RECURSIVE, 600) == ("exchanged", "it is not recursive and reads 1,200 tuples")
    assert placed(NOT_RECURSIVE, 1, "decomposed")[0] == "exchanged"


@pytest.mark.parametrize("forced", ["driver", "decomposed", "exchanged"])
def test_a_placement_is_forced(forced: Place) -> None:
    assert placed(CLOSURE, 600, forced)[0] == forced
    assert placed(CLOSURE, 1_000_000, forced)[0] == forced


@pytest.mark.parametrize("forced", [None, "decomposed", "exchanged"])
def test_numbers_of_symbols_are_those_of_one_process(forced: Place | None) -> None:
    assert placed(NUMBERED, 1_000_000, forced)[0] == "driver"


def test_reads() -> None:
    text = CLOSURE + ".decl n(x: number)\nn(c) :- edge(_, x), !path(x, x), c = count : { same(_, x) }, c > 1.\n"
    program = compile_text(text + ".decl same(x: number, y: number)\n")
    rule = next(rule for rule in program.rules if rule.head.relation == "n")
    assert reads([rule]) == {"edge", "path", "same"}
