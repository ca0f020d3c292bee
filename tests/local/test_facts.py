"""Files of facts: what is read and written, and what is said of a file that is wrong."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whence.engines.local import facts, reading
from whence.engines.local.facts import FactsError, read_facts, write_facts
from whence.engines.local.kernel.library import load
from whence.engines.local.records import RecordTables
from whence.engines.local.symbols import SymbolTable
from whence.engines.local.table import Rows
from whence.engines.local.values import Values
from whence.lang.program import Column, Relation, Span, Type

TYPES = {
    "number": Type("number", "number"),
    "unsigned": Type("unsigned", "unsigned"),
    "float": Type("float", "float"),
    "symbol": Type("symbol", "symbol"),
    "List": Type("List", "record", (("head", "number"), ("tail", "List"))),
    "Named": Type("Named", "record", (("name", "symbol"), ("list", "List"))),
    "All": Type("All", "record", (("u", "unsigned"), ("f", "float"), ("s", "symbol"), ("named", "Named"))),
    "Unit": Type("Unit", "record", ()),
}


def relation(*types: str) -> Relation:
    """A relation r with the columns a, b, …"""
    columns = tuple(Column(chr(ord("a") + i), name, TYPES[name].kind) for i, name in enumerate(types))
    return Relation("r", columns, Span("program.dl", 1, 1, 1, 2))


class Store:
    """Symbols and records, and tuples read and written with them."""

    def __init__(self) -> None:
        kernel = load()
        self.symbols = SymbolTable(kernel)
        self.records = RecordTables(kernel)
        self.values = Values(TYPES, self.symbols, self.records)

    def read(self, source: Any, types: Iterable[str], name: str = "r.facts", **options: Any) -> list[tuple[Any, ...]]:
        of = relation(*types)
        flat, count = read_facts(source, name, of, TYPES, self.symbols, self.records, **options)
        if not of.columns:
            return [()] * count
        rows = flat.reshape(count, of.arity)
        columns = [self.values.decode(rows[:, i], c.type, c.kind) for i, c in enumerate(of.columns)]
        return list(zip(*columns, strict=True))

    def rows(self, tuples: list[tuple[Any, ...]], types: Iterable[str]) -> Rows:
        of = relation(*types)
        rows = np.empty((len(tuples), of.arity), np.int64)
        for i, column in enumerate(of.columns):
            rows[:, i] = self.values.encode([row[i] for row in tuples], column.type, column.kind)
        return rows

    def write(self, target: Any, tuples: list[tuple[Any, ...]], types: Iterable[str], **options: Any) -> None:
        write_facts(target, relation(*types), TYPES, self.rows(tuples, types), self.symbols, self.records, **options)


def read(content: bytes | str, *types: str, **options: Any) -> list[tuple[Any, ...]]:
    data = content.encode() if isinstance(content, str) else content
    return Store().read(io.BytesIO(data), types, **options)


def written(tuples: list[tuple[Any, ...]], *types: str, **options: Any) -> str:
    stream = io.BytesIO()
    Store().write(stream, tuples, types, **options)
    return stream.getvalue().decode()


def refused(content: bytes | str, *types: str, **options: Any) -> str:
    with pytest.raises(FactsError) as raised:
        read(content, *types, **options)
    assert raised.value.hint
    return str(raised.value)


# Lines


@pytest.mark.parametrize(
    "content",
    ["1\tx\n2\ty\n", "1\tx\n2\ty", "1\tx\r\n2\ty\r\n", "1\tx\r\n2\ty", "\ufeff1\tx\n2\ty\n", "\ufeff1\tx\r\n2\ty"],
    ids=["plain", "no newline at the end", "CRLF", "CRLF, no end", "BOM", "BOM and CRLF"],
)
def test_lines(content: str) -> None:
    assert read(content, "number", "symbol") == [(1, "x"), (2, "y")]


@pytest.mark.parametrize("content", ["", "\ufeff"])
def test_an_empty_file_has_no_tuples(content: str) -> None:
    assert read(content, "number", "symbol") == []


def test_symbols_are_verbatim() -> None:
    assert read('"q"\t a \t\n\\t\t[1,\tü🦊\n\0\t\r\t\r\n', "symbol", "symbol", "symbol") == [
        ('"q"', " a ", ""),
        ("\\t", "[1,", "ü🦊"),
        ("\0", "\r", ""),
    ]


def test_an_empty_line_is_the_empty_symbol() -> None:
    assert read("a\n\nb\n", "symbol") == [("a",), ("",), ("b",)]


def test_numbers() -> None:
    content = "0\n-0\n007\n+5\n-9223372036854775808\n9223372036854775807\n 12\n000000000000000000000000000001\n"
    expected = [0, 0, 7, 5, -(2**63), 2**63 - 1, 12, 1]
    assert read(content, "number") == [(value,) for value in expected]


def test_unsigned_numbers() -> None:
    content = "0\n18446744073709551615\n0xff\n0b101\n0xffffffffffffffff\n"
    assert read(content, "unsigned") == [(value,) for value in (0, 2**64 - 1, 255, 5, 2**64 - 1)]


def test_floats() -> None:
    content = "1\n-1.5\n.5\n5.\n2e10\n1E-3\ninf\n-inf\n0.1234567890123456789\n1.7976931348623157e308\n5e-324\n"
    expected = [1, -1.5, 0.5, 5, 2e10, 1e-3, float("inf"), float("-inf"), 0.1234567890123456789, 1.7976931348623157e308]
    assert read(content, "float") == [(value,) for value in [*expected, 5e-324]]
    ((value,),) = read("nan\n", "float")
    assert value != value


@pytest.mark.parametrize("delimiter", [",", ";", " ", "|", "::", ", ", "\t|\t", "ü", "0"])
def test_delimiters(delimiter: str) -> None:
    content = f"1{delimiter}x\n-2{delimiter}\n3{delimiter}y\r\n"
    assert read(content, "number", "symbol", delimiter=delimiter) == [(1, "x"), (-2, ""), (3, "y")]


def test_part_of_a_delimiter_is_text() -> None:
    assert read("a:b::c:\n:::d\n", "symbol", "symbol", delimiter="::") == [("a:b", "c:"), ("", ":d")]


@pytest.mark.parametrize("delimiter", ["", "\n", "a\n"])
def test_no_delimiter(delimiter: str) -> None:
    assert refused("", "number", delimiter=delimiter) == f"r.facts: {delimiter!r} cannot be a delimiter"


@pytest.mark.parametrize("content", ["a\tb\n1\tx\n", "\ufeffa\tb\r\n1\tx\r\n"])
def test_headers(content: str) -> None:
    assert read(content, "number", "symbol", headers=True) == [(1, "x")]
    assert read("a\tb", "number", "symbol", headers=True) == []
    assert read("", "number", "symbol", headers=True) == []


def test_columns_choose_and_reorder() -> None:
    content = "x\t1\ty\tmore\n\t-2\t\tmore\tand more\n"
    assert read(content, "symbol", "symbol", "number", columns="0:2:1") == [("x", "y", 1), ("", "", -2)]
    assert read(content, "number", columns="1") == [(1,), (-2,)]
    assert read(content, "number", columns=[1]) == [(1,), (-2,)]


@pytest.mark.parametrize("columns", ["0", "0:1:2", "0:0", "0:x", "0:-1", ":", [0]])
def test_columns_that_are_wrong(columns: Any) -> None:
    message = refused("1\t2\n", "number", "number", columns=columns)
    assert "does not say which columns of the file are those of r" in message


def test_relations_without_columns() -> None:
    assert read("()\n") == [()]
    assert read("()") == [()]
    assert read("") == []
    assert read("\ufeff()\r\n") == [()]
    assert read("header\n", headers=True) == []
    assert refused("()\nx\n") == "r.facts:2:1: r has no columns, but this line is not ()"
    assert written([()]) == "()\n"
    assert written([]) == ""


def test_lines_longer_than_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BLOCK", 64)
    tuples = [("x" * size, size) for size in (1, 1000, 63, 64, 65, 0, 100_000)]
    content = "".join(f"{text}\t{size}\n" for text, size in tuples)
    assert read(content, "symbol", "number") == tuples
    assert read(content.removesuffix("\n"), "symbol", "number") == tuples
    message = refused(content + "y\tz\n", "symbol", "number")
    assert message == "r.facts:8:3: column b of r should be a number, not `z`"


def test_a_stream_that_gives_a_byte_at_a_time() -> None:
    class Slow(io.RawIOBase):
        def __init__(self, content: bytes) -> None:
            self.rest = content

        def readinto(self, buffer: Any) -> int:
            part, self.rest = self.rest[:1], self.rest[1:]
            buffer[: len(part)] = part
            return len(part)

    content = "\ufeff1\tü\r\n2\t日本".encode()
    assert Store().read(Slow(content), ["number", "symbol"]) == [(1, "ü"), (2, "日本")]


def test_many_tuples(tmp_path: Path) -> None:
    file = tmp_path / "many.facts"
    file.write_text("".join(f"{i}\tname {i % 70_000}\n" for i in range(200_000)))
    assert Store().read(file, ["number", "symbol"]) == [(i, f"name {i % 70_000}") for i in range(200_000)]


# What is wrong with a line


@pytest.mark.parametrize(
    ("content", "types", "message"),
    [
        ("1\t2\n3\n", ["number"] * 2, "2:2: r needs 2 columns, but this line has 1"),
        ("1\t2\n1\t2\t3\t4\n", ["number"] * 2, "2:5: r needs 2 columns, but this line has 4"),
        ("1\t2\n\n", ["number"] * 2, "2:1: r needs 2 columns, but this line is empty"),
        ("1\t2\r\n\r\n", ["number"] * 2, "2:1: r needs 2 columns, but this line is empty"),
        ("ü\t2\tx", ["symbol"], "1:3: r needs 1 column, but this line has 3"),
        ("ü\tx\n", ["symbol", "number"], "1:3: column b of r should be a number, not `x`"),
        ("\ufeffü\tx\n", ["symbol", "number"], "1:3: column b of r should be a number, not `x`"),
        ("1\n1.5\n", ["number"], "2:1: column a of r should be a number, not `1.5`"),
        ("1\n\n", ["number"], "2:1: column a of r should be a number, not nothing"),
        ("1 \n", ["number"], "1:1: column a of r should be a number, not `1 `"),
        ("0x10\n", ["number"], "1:1: column a of r should be a number, not `0x10`"),
        ("-\n", ["number"], "1:1: column a of r should be a number, not `-`"),
        ("٣\n", ["number"], "1:1: column a of r should be a number, not `٣`"),
        ("1\0\n", ["number"], "1:1: column a of r should be a number, not `1\0`"),
        ("-1\n", ["unsigned"], "1:1: column a of r should be an unsigned number, not `-1`"),
        ("0xg\n", ["unsigned"], "1:1: column a of r should be an unsigned number, not `0xg`"),
        ("1,5\n", ["float"], "1:1: column a of r should be a float, not `1,5`"),
        ("1.5\0\n", ["float"], "1:1: column a of r should be a float, not `1.5\0`"),
        ("e\n", ["float"], "1:1: column a of r should be a float, not `e`"),
    ],
)
def test_lines_that_are_wrong(content: str, types: list[str], message: str) -> None:
    assert refused(content, *types) == f"r.facts:{message}"


@pytest.mark.parametrize(
    ("text", "kind", "called"),
    [
        ("9223372036854775808", "number", "a number"),
        ("-9223372036854775809", "number", "a number"),
        ("18446744073709551616", "unsigned", "an unsigned number"),
        ("0x10000000000000000", "unsigned", "an unsigned number"),
        ("1e999", "float", "a float"),
        ("-1e999", "float", "a float"),
    ],
)
def test_numbers_out_of_range(text: str, kind: str, called: str) -> None:
    assert refused(f"1\n{text}\n", kind) == f"r.facts:2:1: `{text}` does not fit column a of r, which is {called}"


def test_errors_shorten_long_fields() -> None:
    assert len(refused("x" * 1_000_000, "number")) < 120
    assert len(refused("9" * 1_000_000, "number")) < 120
    assert len(refused("1" * 1_000_000, "float")) < 120


@pytest.mark.parametrize(
    "wrong",
    [b"\xff", b"a\x80", b"\xc0\x80", b"\xe4\xbd", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"12345678\xfc12345678"],
)
def test_bytes_that_are_not_utf8(wrong: bytes) -> None:
    message = refused(b"1\tgood\n2\t" + wrong + b"\n", "number", "symbol")
    assert message.startswith("r.facts:2:3: column b of r has bytes that are not UTF-8, in `")


def test_lines_count_the_header() -> None:
    assert refused("a\n1\nx\n", "number", headers=True).startswith("r.facts:3:1: ")


def test_errors_name_the_column_of_the_file() -> None:
    message = refused("1\tx\ty\n", "number", "symbol", columns="2:0")
    assert message == "r.facts:1:5: column a of r should be a number, not `y`"


# Files


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    def refused(file: Path) -> FactsError:
        with pytest.raises(FactsError) as raised:
            Store().read(file, ["number"], name=str(file))
        assert str(raised.value).startswith(f"{file}: ")
        return raised.value

    missing = refused(tmp_path / "none.facts")
    assert missing.message == "there is no such file to read r from"
    assert str(tmp_path) in missing.hint
    assert refused(tmp_path).message == "the file cannot be read: Is a directory"

    packed = gzip.compress(b"".join(b"%d\n" % (i * 7919 % 1000) for i in range(10_000)))
    cut = tmp_path / "cut.facts"
    for size in (3, 15, len(packed) // 2, len(packed) - 4):
        cut.write_bytes(packed[:size])
        assert "the file cannot be read: " in str(refused(cut))
    damaged = bytearray(packed)
    for i in range(len(packed) // 2, len(packed) // 2 + 20):
        damaged[i] ^= 0x55
    cut.write_bytes(damaged)
    refused(cut)


def test_gzip(tmp_path: Path) -> None:
    file = tmp_path / "r.facts"
    file.write_bytes(gzip.compress(b"1\tx\n") + gzip.compress(b"2\ty"))
    assert Store().read(file, ["number", "symbol"]) == [(1, "x"), (2, "y")]


# Records


def test_records() -> None:
    content = "[1, [2, nil]]\nnil\n[ 3 ,[-4,  nil ] ]\n[1,[2,nil]]\n"
    lists = [(1, (2, None)), None, (3, (-4, None)), (1, (2, None))]
    assert read(content, "List") == [(value,) for value in lists]


def test_symbols_in_records() -> None:
    content = '[a b, nil]\n["a, b]", [1, nil]]\n["say \\"hi\\" \\\\", nil]\n[, nil]\n[ü"🦊, nil]\n'
    names = [("a b", None), ("a, b]", (1, None)), ('say "hi" \\', None), ("", None), ('ü"🦊', None)]
    assert read(content, "Named") == [(value,) for value in names]


def test_records_where_the_delimiter_is_a_comma() -> None:
    content = '1,[1, [2, nil]],x\n2,nil,[a,b]\n3,[3,nil],"[",\n'
    with pytest.raises(FactsError, match="3:15: r needs 3 columns, but this line has 4"):
        read(content, "number", "List", "symbol", delimiter=",")
    content = content.replace('"[",', '"["')
    expected = [(1, (1, (2, None)), "x"), (2, None, "[a,b]"), (3, (3, None), '"["')]
    assert read(content, "number", "List", "symbol", delimiter=",") == expected
    assert read('["],[", nil],7\n', "Named", "number", delimiter=",") == [(("],[", None), 7)]


def test_records_with_fields_of_all_kinds() -> None:
    value = (2**64 - 1, -0.5, "x", ("name", (1, None)))
    assert read("[18446744073709551615, -0.5, x, [name, [1, nil]]]\n[0xff, inf, , nil]\n", "All") == [
        (value,),
        ((255, float("inf"), "", None),),
    ]


def test_a_record_without_fields() -> None:
    assert read("[]\nnil\n[ ]\n", "Unit") == [((),), (None,), ((),)]
    assert written([((),), (None,)], "Unit") == "[]\nnil\n"


def test_a_record_a_hundred_thousand_levels_deep() -> None:
    store = Store()
    depth = 100_000
    content = "".join(f"[{i}, " for i in range(depth)) + "nil" + "]" * depth + "\n"
    flat, count = read_facts(io.BytesIO(content.encode()), "r", relation("List"), TYPES, store.symbols, store.records)
    stream = io.BytesIO()
    write_facts(stream, relation("List"), TYPES, flat.reshape(count, 1), store.symbols, store.records)
    assert stream.getvalue().decode() == content


@pytest.mark.parametrize(
    ("field", "column", "message"),
    [
        ("", 1, "a record begins with `[`, or is `nil`"),
        ("x", 1, "a record begins with `[`, or is `nil`"),
        ("[1, nil", 8, "a record of type List has 2 fields and then `]`"),
        ("[1]", 3, "a record of type List has 2 fields with `,` between them"),
        ("[1, nil, 2]", 8, "a record of type List has 2 fields and then `]`"),
        ("[1, nil] x", 10, "a record ends with its last `]`"),
        ("[x, nil]", 2, "a number is needed here"),
        ("[1, 2]", 5, "a record begins with `[`, or is `nil`"),
        ("[9223372036854775808, nil]", 2, "9223372036854775808 is out of range"),
        ("[1, [2, [x, nil]]]", 10, "a number is needed here"),
    ],
)
def test_records_that_are_wrong(field: str, column: int, message: str) -> None:
    found = refused(f"1\tnil\n2\tnil\n3\t{field}\n4\tnil\n", "number", "List")
    assert found == f"r.facts:3:{column + 2}: column b of r should be a record: {message}"


def test_unbalanced_brackets_where_the_delimiter_is_a_comma() -> None:
    message = refused("1,[1, nil\n", "number", "List", delimiter=",")
    assert message == "r.facts:1:3: column b of r should be a record, but in `[1` brackets do not match"


# Writing


def test_results_are_sorted_by_value() -> None:
    tuples = [(10, "b"), (9, "b"), (-1, "ä"), (9, "a"), (9, "B"), (9, "")]
    assert written(tuples, "number", "symbol") == "-1\tä\n9\t\n9\tB\n9\ta\n9\tb\n10\tb\n"
    assert written(tuples, "number", "symbol", sort=False) == "10\tb\n9\tb\n-1\tä\n9\ta\n9\tB\n9\t\n"


def test_values_as_souffle_writes_them() -> None:
    tuples = [(-1, 2**64 - 1, 2.0), (0, 0, 0.1), (1, 1, -0.0), (2, 2, 1e300), (3, 3, -5.0), (4, 4, 1e16)]
    assert written(tuples, "number", "unsigned", "float") == (
        "-1\t18446744073709551615\t2\n0\t0\t0.10000000000000001\n1\t1\t-0\n2\t2\t1.0000000000000001e+300\n"
        "3\t3\t-5\n4\t4\t10000000000000000\n"
    )


def test_headers_and_delimiters_are_written() -> None:
    assert written([(1, "x")], "number", "symbol", headers=True, delimiter=", ") == "a, b\n1, x\n"


def test_a_tuple_longer_than_the_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "BUFFER", 100)
    tuples = [(i, "x" * size) for i, size in enumerate((1, 1000, 5, 100_000, 0))]
    assert written(tuples, "number", "symbol") == "".join(f"{i}\t{text}\n" for i, text in tuples)


def test_the_rows_that_are_written_stay_as_they_are() -> None:
    store = Store()
    types = ["number", "List", "List"]
    rows = store.rows([(2, (1, None), None), (1, None, (1, None))], types)
    before = rows.copy()
    write_facts(io.BytesIO(), relation(*types), TYPES, rows, store.symbols, store.records)
    assert (rows == before).all()


def test_a_file_is_replaced_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "r.csv"
    Store().write(file, [(1,)], ["number"])
    assert file.read_text() == "1\n"

    def failing(stream: BinaryIO, *rest: Any) -> None:
        stream.write(b"half")
        assert file.read_text() == "1\n"
        raise MemoryError

    monkeypatch.setattr(facts, "_write_lines", failing)
    with pytest.raises(MemoryError):
        Store().write(file, [(2,)], ["number"])
    assert os.listdir(tmp_path) == ["r.csv"]
    assert file.read_text() == "1\n"


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "r.csv")
    Store().write(tmp_path / "link.csv", [(1,)], ["number"])
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "r.csv").read_text() == "1\n"


def test_what_is_no_plain_file_is_written_directly() -> None:
    Store().write("/dev/null", [(1,)], ["number"])
    assert not os.path.isfile("/dev/null")


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    for file, reason in ((tmp_path / "none" / "r.csv", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(FactsError) as raised:
            Store().write(file, [(1,)], ["number"])
        assert str(raised.value) == f"{file}: the file cannot be written: {reason}"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk() -> None:
    with pytest.raises(FactsError, match="/dev/full: the file cannot be written: No space left on device"):
        Store().write("/dev/full", [(1,)], ["number"])


# There and back

line_text = st.text(st.characters(codec="utf-8", exclude_characters="\t\n\r"), max_size=10)
tidy_text = st.text(st.sampled_from(' ,[]"\\aü🦊(nil'), max_size=8) | line_text
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "number": st.integers(-(2**63), 2**63 - 1),
    "unsigned": st.integers(0, 2**64 - 1),
    "float": st.floats(allow_nan=False) | st.integers(-(10**17), 10**17).map(float),
    "symbol": tidy_text,
}
VALUES["List"] = st.recursive(st.none(), lambda tail: st.tuples(VALUES["number"], tail))
VALUES["Named"] = st.none() | st.tuples(tidy_text, VALUES["List"])
VALUES["All"] = st.none() | st.tuples(VALUES["unsigned"], VALUES["float"], tidy_text, VALUES["Named"])
VALUES["Unit"] = st.sampled_from([None, ()])

tables = st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4).flatmap(
    lambda types: st.tuples(st.just(types), st.lists(st.tuples(*[VALUES[name] for name in types]), max_size=20))
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables, st.booleans())
def test_what_is_written_is_read_back(table: tuple[list[str], list[tuple[Any, ...]]], headers: bool) -> None:
    types, tuples = table
    store = Store()
    stream = io.BytesIO()
    store.write(stream, tuples, types, headers=headers, sort=False)
    stream.seek(0)
    assert repr(store.read(stream, types, headers=headers)) == repr(tuples)  # with the sign of -0.0

    in_order = io.BytesIO()
    store.write(in_order, tuples, types)
    in_order.seek(0)
    again = cast(list[tuple[Any, ...]], Store().read(in_order, types))
    assert sorted(map(repr, again)) == sorted(map(repr, tuples))
    once_more = io.BytesIO()
    Store().write(once_more, again, types)
    assert once_more.getvalue() == in_order.getvalue()


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(VALUES["Named"], VALUES["All"], VALUES["number"]), max_size=10))
def test_records_are_read_back_where_the_delimiter_is_a_comma(tuples: list[tuple[Any, ...]]) -> None:
    # All but bare symbols with brackets, which count as those of records.
    def plain(value: Any) -> bool:
        return all(map(plain, value)) if isinstance(value, tuple) else not isinstance(value, str) or "[" not in value

    tuples = [row for row in tuples if plain(row)]
    types = ["Named", "All", "number"]
    store = Store()
    stream = io.BytesIO()
    store.write(stream, tuples, types, delimiter=",", sort=False)
    stream.seek(0)
    assert repr(store.read(stream, types, delimiter=",")) == repr(tuples)
