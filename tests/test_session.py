"""Sessions from Python: loading, running, looking, running again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow
import pytest

import whence

CLOSURE = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
KINDS = """
.type Pair = [one: number, other: Pair]
.decl given(n: number, u: unsigned, f: float, s: symbol, r: Pair)
.decl same(n: number, u: unsigned, f: float, s: symbol, r: Pair)
same(n, u, f, s, r) :- given(n, u, f, s, r).
"""
ROWS = [
    (-(2**63), 0, 0.5, "", None),
    (2**63 - 1, 2**64 - 1, float("inf"), "größe\n\t日本", (1, (2, None))),
    (0, 7, -0.0, "x" * 100_000, (-5, None)),
]


@pytest.fixture
def closure() -> whence.Session:
    session = whence.open(text=CLOSURE)
    session.load(edge=[(1, 2), (2, 3)])
    session.run()
    return session


def test_results(closure: whence.Session) -> None:
    path = closure["path"]
    assert len(path) == 3
    assert set(path) == {(1, 2), (2, 3), (1, 3)}
    assert (1, 3) in path
    for missing in [(3, 1), (1,), (1, 2, 3), "12", (1, "2"), (1, 2.5), (2**70, 1)]:
        assert missing not in path
    assert list(path.tuples(annotated=True)) == [((1, 2), 1, 1), ((2, 3), 1, 1), ((1, 3), 2, 1)]
    assert repr(path) == "<path(x: number, y: number): 3 tuples>"
    assert path.to_arrow().to_pydict() == {"x": [1, 2, 1], "y": [2, 3, 3]}
    assert list(closure) == ["edge", "path"]


def test_every_kind_goes_in_and_out_unchanged() -> None:
    session = whence.open(text=KINDS)
    session.load(given=ROWS)
    session.run()
    assert list(session["same"]) == ROWS
    assert all(row in session["same"] for row in ROWS)
    assert ("", 0) not in session["same"]
    columns = session["same"].to_arrow().to_pydict()
    assert columns["r"] == ["nil", "[1, [2, nil]]", "[-5, nil]"]
    assert columns["u"] == [0, 2**64 - 1, 7]


def test_deep_records() -> None:
    session = whence.open(
        text=".type L = [h: number, t: L]\n.decl l(l: L)\nl(nil).\nl([1, x]) :- l(x).\n"
        ".limitsize l(n=5000)\n.decl n(n: number)\nn(n) :- n = count : { l(_) }."
    )
    session.run()
    assert list(session["n"]) == [(5000,)]
    depths = []
    for (value,) in session["l"]:
        depth = 0
        while value is not None:
            depth, value = depth + 1, value[1]
        depths.append(depth)
    assert depths == list(range(5000))


def test_loading_from_files_arrays_and_tables(tmp_path: Path) -> None:
    facts = tmp_path / "edge.facts"
    facts.write_text("1\t2\n2\t3\n")
    sources = [
        facts,
        str(facts),
        np.array([[1, 2], [2, 3]]),
        np.array([[1, 2], [2, 3]], np.int32),
        pyarrow.table({"a": [1, 2], "b": [2, 3]}),
        ((x, x + 1) for x in (1, 2)),
        [[1, 2], [2, 3]],
    ]
    for source in sources:
        session = whence.open(text=CLOSURE)
        session.load(edge=source)
        session.run()
        assert set(session["path"]) == {(1, 2), (2, 3), (1, 3)}


def test_arrow_columns_of_every_kind() -> None:
    session = whence.open(
        text=".decl a(n: number, u: unsigned, f: float, s: symbol)\n.decl b(s: symbol)\nb(s) :- a(_, _, _, s)."
    )
    table = pyarrow.table(
        {
            "n": pyarrow.array([1, 2], pyarrow.int8()),
            "u": pyarrow.array([3, 2**63], pyarrow.uint64()),
            "f": [0.5, 1.5],
            "s": ["a", "a"],
        }
    )
    session.load(a=table)
    session.load(a=table.slice(0, 0))
    session.run()
    assert list(session["a"]) == [(1, 3, 0.5, "a"), (2, 2**63, 1.5, "a")]
    assert list(session["b"]) == [("a",)]


@pytest.mark.parametrize(
    ("relations", "said"),
    [
        ({"edg": []}, "the program has no relation 'edg'; did you mean 'edge'?"),
        ({"edge": [(1, 2), (3,)]}, "edge: tuple 1 is (3,); it should be a tuple of 2 values"),
        ({"edge": [(1, 2), 3]}, "edge: tuple 1 is 3; it should be a tuple of 2 values"),
        ({"edge": [(1, 2), (3, "x")]}, "edge: tuple 1: 'x' is not a whole number from -2^63 to 2^63 - 1"),
        ({"edge": [(1, 2), (3, 2**63)]}, "edge: tuple 1: 9223372036854775808 is not a whole number from"),
        ({"edge": [(1, 2), (3, 1.5)]}, "edge: tuple 1: 1.5 is not a whole number from"),
        ({"edge": 5}, "edge cannot be loaded from int: give tuples"),
        ({"edge": np.zeros((3, 3), np.int64)}, "edge: an array of shape (3, 3) was given; it should be (…, 2)"),
        ({"edge": np.zeros((3, 2))}, "edge: an array of float64 does not fit the column x: number"),
        ({"edge": pyarrow.table({"a": [1]})}, "edge has 2 columns, the table that was given 1: a"),
        ({"edge": pyarrow.table({"a": [1, None], "b": [1, 2]})}, "edge: the column x has 1 nulls; remove them"),
        ({"edge": pyarrow.table({"a": ["u"], "b": [1]})}, "edge: row 0: 'u' is not a whole number"),
        ({"edge": "nowhere.facts"}, "nowhere.facts: there is no such file to read edge from"),
    ],
)
def test_wrong_input_is_one_sentence(relations: dict[str, object], said: str) -> None:
    session = whence.open(text=CLOSURE)
    with pytest.raises(whence.WhenceError) as error:
        session.load(**relations)
    assert str(error.value).startswith(said)
    session.load(edge=[(1, 2)])
    session.run()
    assert (1, 2) in session["path"]


def test_wrong_ways_to_open() -> None:
    for options in ({}, {"program": "a.dl", "text": ""}, {"text": "", "engine": "diesel"}):
        with pytest.raises(whence.WhenceError):
            whence.open(**options)  # type: ignore[arg-type]
    with pytest.raises(whence.WhenceError, match="unknown relation `q`"):
        whence.open(text=".decl p(x: number)\np(x) :- q(x).")
    with pytest.raises(whence.WhenceError, match="no relation 'pth'; did you mean 'path'"):
        whence.open(text=CLOSURE)["pth"]


def test_running_again_starts_from_the_input(closure: whence.Session) -> None:
    closure.run()
    assert list(closure["path"].tuples(annotated=True)) == [((1, 2), 1, 1), ((2, 3), 1, 1), ((1, 3), 2, 1)]
    closure.load(edge=[(3, 4), (1, 2)])
    assert len(closure["path"]) == 0
    closure.run()
    assert len(closure["path"]) == 6
    assert [count for _, _, count in closure["edge"].tuples(annotated=True)] == [1, 1, 1]


def test_an_interrupted_run_leaves_the_input() -> None:
    session = whence.open(text=".decl a(x: number)\na(0).\na(x + 1) :- a(x).")

    class Impatient:
        def stratum(self, *_: object) -> None: ...

        def iteration(self, iteration: int, new: int) -> None:
            if iteration == 1000:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session.run(Impatient())
    assert list(session["a"]) == [(0,)]


def test_without_counts() -> None:
    session = whence.open(text=CLOSURE + ".decl n(n: number)\nn(n) :- n = count : { path(_, _) }.", counts=False)
    session.load(edge=[(1, 2), (2, 3), (1, 3)])
    session.run()
    assert set(session["path"]) == {(1, 2), (2, 3), (1, 3)}
    assert list(session["n"]) == [(3,)]
    with pytest.raises(whence.WhenceError, match="counts=True"):
        session["path"].tuples(annotated=True)


def test_a_relation_is_both_input_and_derived() -> None:
    session = whence.open(text=CLOSURE)
    session.load(edge=[(1, 2), (2, 3)], path=[(1, 3), (3, 9)])
    session.run()
    annotated = {row: (iteration, count) for row, iteration, count in session["path"].tuples(annotated=True)}
    assert annotated == {(1, 3): (0, 1), (3, 9): (0, 1), (1, 2): (1, 1), (2, 3): (1, 1)}


def test_symbols_do_not_grow_by_being_asked_for(closure: whence.Session) -> None:
    session = whence.open(text='.decl s(x: symbol)\ns("a").')
    before = len(session.engine.tables.symbols)
    assert ("b",) not in session["s"]
    assert len(session.engine.tables.symbols) == before


def test_warnings_reach_the_caller() -> None:
    heard: list[object] = []
    session = whence.open(
        text='.decl n(x: number)\nn(9).\n.decl s(x: symbol)\n.output s\ns(substr("abc", x, 1)) :- n(x).\n',
        warn=heard.append,
    )
    session.run()
    assert [str(warning) for warning in heard if "substr" in str(warning)]


def test_iteration_is_lazy_enough(closure: whence.Session) -> None:
    assert isinstance(iter(closure["path"]), Iterator)
    assert next(iter(closure["path"])) == (1, 2)
