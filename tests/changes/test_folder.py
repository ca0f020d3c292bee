"""Changes as a folder of facts, and several changes put together as one."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from whence.changes import Change, merged, parse_change, read_change
from whence.errors import WhenceError
from whence.lang import compile_text

PROGRAM = compile_text("""
.type List = [head: number, tail: List]
.decl edge(x: number, y: symbol)
.decl item(l: List)
.decl flag()
edge(1, "from the text").
.decl path(x: number, y: symbol)
path(x, y) :- edge(x, y).
""")


def test_insertions_and_deletions_by_relation(tmp_path: Path) -> None:
    (tmp_path / "edge.insert.facts").write_text("1\ta b\n-2\té\n-2\té\n")
    (tmp_path / "edge.delete.facts").write_text("3\t\n")
    (tmp_path / "item.insert.facts").write_text("[1, [2, nil]]\nnil\n")
    (tmp_path / "flag.delete.facts").write_text("()\n")
    (tmp_path / ".hidden").write_text("of no interest")
    assert read_change(tmp_path, PROGRAM) == Change(
        {"edge": ((1, "a b"), (-2, "é")), "item": (((1, (2, None)),), (None,))},
        {"edge": ((3, ""),), "flag": ((),)},
    )


def test_parquet_and_json_lines_and_gzip(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1], "y": ["a"]}), tmp_path / "edge.insert.parquet")
    (tmp_path / "edge.delete.jsonl").write_text('{"x": 2, "y": "b"}\n')
    (tmp_path / "item.insert.facts").write_bytes(gzip.compress(b"nil\n"))
    assert read_change(tmp_path, PROGRAM) == Change({"edge": ((1, "a"),), "item": ((None,),)}, {"edge": ((2, "b"),)})


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "edge.insert.facts").write_text("")
    assert not read_change(tmp_path, PROGRAM)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("edges.insert.facts", b"1\ta\n", "the program has no relation 'edges'; did you mean 'edge'?"),
        ("edge.facts", b"1\ta\n", "edge.facts is no file of changes: these are called EDGE.insert.facts and"),
        ("edge.remove.facts", b"1\ta\n", "is no file of changes"),
        ("path.insert.facts", b"1\ta\n", "'path' is derived by rules, so it cannot be changed itself"),
        ("edge.insert.facts", b"1\ta\n2", "edge.insert.facts:2:2: edge needs 2 columns, but this line has 1"),
        ("edge.delete.facts", b"one\ta\n", "edge.delete.facts:1:1: column x of edge should be a number, not `one`"),
        ("edge.insert.facts", gzip.compress(b"1\ta\n" * 1000)[:-9], "the file cannot be read: Compressed file ended"),
        ("edge.insert.parquet", b"PAR1", "edge.insert.parquet"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(WhenceError) as raised:
        read_change(tmp_path, PROGRAM)
    assert message in str(raised.value)


def test_a_folder_without_changes_or_with_two_of_a_kind(tmp_path: Path) -> None:
    with pytest.raises(WhenceError, match="there are no changes in this folder"):
        read_change(tmp_path, PROGRAM)
    (tmp_path / "edge.insert.facts").write_text("1\ta\n")
    (tmp_path / "edge.insert.jsonl").write_text("")
    with pytest.raises(WhenceError, match=r"edge.insert.jsonl: edge.insert.facts is there too; keep one"):
        read_change(tmp_path, PROGRAM)


def named(*texts: str) -> list[tuple[str, Change]]:
    return [(f"{number}.changes", parse_change(text, PROGRAM)) for number, text in enumerate(texts)]


def test_changes_one_after_the_other() -> None:
    first, second, third = '+ edge(1, "a"). - edge(2, "b").', '- edge(1, "a"). + edge(3, "c").', '+ edge(1, "a").'
    assert merged(named(first, second)) == parse_change('+ edge(3, "c"). - edge(2, "b").', PROGRAM)
    everything = parse_change('+ edge(1, "a"). + edge(3, "c"). - edge(2, "b").', PROGRAM)
    together = merged(named(first, second, third))
    assert set(together.insert["edge"]) == set(everything.insert["edge"])
    assert together.delete == everything.delete


def test_inserted_twice_is_an_error_unless_lenient() -> None:
    changes = named('+ edge(1, "a").', '+ edge(1, "a").')
    with pytest.raises(WhenceError, match=r"edge\(1, 'a'\) is inserted by 0.changes and again by 1.changes"):
        merged(changes)
    assert merged(changes, lenient=True).sizes == {"edge": (1, 0)}
    back = named('+ edge(1, "a").', '- edge(1, "a").')
    assert merged(back, lenient=True) == Change(delete={"edge": ((1, "a"),)})
