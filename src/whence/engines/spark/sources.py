"""Tuples from what `.input` names, or from a DataFrame in hand: read by Spark, checked and converted in tasks."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ByteType, DataType, IntegerType, LongType, ShortType, StringType

from whence.engines.local.facts import GZIP_MARK, _opened, _places
from whence.engines.local.forms import filename_of, form_of, matched
from whence.engines.local.forms import is_text as is_text
from whence.engines.local.reading import BYTE_ORDER_MARK, FactsError
from whence.errors import WhenceError
from whence.lang.program import Directive, Kind, Program, Relation

from .columns import carried_names
from .misfits import Naming, first_error, no_quarantine, write_quarantine
from .options import BadRows
from .paths import Place, is_pattern, place
from .reasons import explained, without_secrets
from .sifting import BAD, BLOCK, FILE, OF_THE_TASK, Columns, Form, JsonLines, Lines, found, sifted

# What Spark itself checks: a null is all that can be wrong with these, or bytes that are no UTF-8.
AT_ONCE: Mapping[Kind, tuple[type[DataType], ...]] = {
    "number": (ByteType, ShortType, IntegerType, LongType),
    "symbol": (StringType,),
}


@dataclass(frozen=True)
class Given:
    """Tuples read from a source: a carried frame (columns c0…, no iteration or count), cached, with how many good and
    bad rows it has. `release` gives up the cache."""

    frame: DataFrame
    rows: int
    bad: int
    cached: DataFrame

    def release(self) -> None:
        self.cached.unpersist()


@dataclass(frozen=True)
class Source:
    """Rows to be checked. FILE and BLOCK, last, say of each where it is from; `name` is what the whole is called."""

    name: str
    frame: DataFrame
    form: Form
    naming: Naming
    headers: bool = False


def read_input(
    directive: Directive,
    relation: Relation,
    program: Program,
    folder: Path | str,
    spark: SparkSession,
    bad_rows: BadRows = "fail",
    quarantine: Path | str | None = None,
    *,
    append: bool = False,
) -> Given:
    """The tuples that an `.input` names. `append`: to the quarantine of an earlier `.input` of the relation."""
    types = dict(program.types)
    match form_of(directive):
        case "file" | "stdin":
            source = _lines(directive, relation, program, folder, spark)
        case "jsonlines":
            where = place(folder, filename_of(directive))
            source = _text(where, JsonLines(relation, types), False, relation, spark)
        case "parquet":
            source = _parquet(place(folder, filename_of(directive)), relation, program, spark)
        case "jdbc":
            source = _jdbc(directive, relation, program, spark)
        case "table":
            source = _table(directive, relation, program, spark)
        case other:
            raise WhenceError(f"{directive.origin}: {relation.name} cannot be read from IO={other}")
    return _given(source, bad_rows, quarantine, append)


def from_frame(
    frame: DataFrame,
    relation: Relation,
    program: Program,
    bad_rows: BadRows = "fail",
    quarantine: Path | str | None = None,
    *,
    append: bool = False,
) -> Given:
    """The tuples of a DataFrame: its columns are the relation's in order, or in another if they have just its names."""
    name = f"the DataFrame given for {relation.name}"
    wanted = [column.name for column in relation.columns]
    if len(frame.columns) != relation.arity:
        needed = f"{relation.arity} column" + "s" * (relation.arity != 1)
        message = f"{relation.name} needs {needed}, but there are {len(frame.columns)}: {', '.join(frame.columns)}"
        raise FactsError(name, 0, 0, message.removesuffix(": "), "select the columns of the relation, in its order")
    places = list(range(relation.arity))
    if sorted(frame.columns) == sorted(wanted):
        places = [frame.columns.index(column) for column in wanted]
    return _given(_columns(name, frame, places, relation, program), bad_rows, quarantine, append)


# Checking


def _given(source: Source, bad_rows: BadRows, quarantine: Path | str | None, append: bool) -> Given:
    relation = source.form.relation
    if bad_rows == "quarantine" and quarantine is None:
        raise WhenceError("bad rows are to be put in quarantine: say in which folder")
    target = Path(quarantine or ".") / f"{relation.name}.jsonl"
    with explained(source.name, f"{relation.name} cannot be read from it"):
        # Spark would take the cache of an earlier read for that of this one, though files have changed since.
        this_time = F.lit(uuid.uuid4().hex) != F.lit("")
        checked = (_sifted_at_once(source) or _sifted(source)).where(this_time).persist()
        try:
            total, bad = checked.agg(F.count(F.lit(1)), F.coalesce(F.count_if(BAD), F.lit(0))).first() or (0, 0)
            if bad and bad_rows != "skip":
                every = bad_rows == "quarantine"
                wrong = found(source.frame, source.form, source.headers, every)
                if not every:
                    raise first_error(wrong, source.naming)
                write_quarantine(wrong, source.naming, target, append)
            elif bad_rows == "quarantine" and not append:
                no_quarantine(target)
        except BaseException:
            checked.unpersist()
            raise
    good = checked.where(~F.col(BAD)) if bad else checked
    return Given(good.select(*carried_names(relation.arity)), total - bad, bad, checked)


def _sifted(source: Source) -> DataFrame:
    frame = source.frame if source.headers else source.frame.drop(FILE, BLOCK)
    return sifted(frame, source.form, source.headers)


def _sifted_at_once(source: Source) -> DataFrame | None:
    """Columns that have the declared types already need no task in Python."""
    relation = source.form.relation
    if not isinstance(source.form, Columns) or not relation.arity:
        return None
    fields = source.frame.schema.fields[: relation.arity]
    wrong = F.lit(False)
    columns: list[Column] = []
    for name, column, given in zip(carried_names(relation.arity), relation.columns, fields, strict=True):
        if type(given.dataType) not in AT_ONCE.get(column.kind, ()):
            return None
        value = F.col(given.name)
        wrong = wrong | value.isNull()
        if column.kind == "symbol":
            wrong = wrong | ~F.coalesce(F.is_valid_utf8(value), F.lit(False))
            columns.append(F.coalesce(value, F.lit("")).alias(name))
        else:
            columns.append(F.coalesce(value.cast("bigint"), F.lit(0).cast("bigint")).alias(name))
    return source.frame.select(*columns, wrong.alias(BAD))


# Lines


def _lines(
    directive: Directive, relation: Relation, program: Program, folder: Path | str, spark: SparkSession
) -> Source:
    given = directive.parameters
    standard = given.get("IO") == "stdin"
    where = place(folder, filename_of(directive))
    name = "standard input" if standard else where.shown
    delimiter = given.get("delimiter", "\t")
    if not delimiter or "\n" in delimiter:
        raise FactsError(name, 0, 0, f"{delimiter!r} cannot be a delimiter", "use a tab, a comma or other characters")
    columns = given.get("columns")
    form = Lines(relation, dict(program.types), delimiter, _places(columns, relation, name), not columns)
    headers = given.get("headers") == "true"
    if standard:
        return _in_hand(sys.stdin.buffer, name, form, headers, spark)
    return _text(where, form, headers, relation, spark)


def _text(where: Place, form: Form, headers: bool, relation: Relation, spark: SparkSession) -> Source:
    local = where.local
    if local is not None and not local.exists() and not is_pattern(local):
        with _opened(local, where.shown, relation):  # says that there is no such file
            pass
    if local is not None and local.is_file() and (where.hidden or _odd_gzip(local, where.shown, relation)):
        with _opened(local, where.shown, relation) as stream:
            return _in_hand(stream, where.shown, form, headers, spark)
    missing = f"there is no such file to read {relation.name} from"
    with explained(where.shown, "the file cannot be read", missing, "-F names the folder of facts"):
        # Only "\n" ends a line, as in process; a "\r" before it is the line reader's to drop.
        text = spark.read.option("lineSep", "\n").text(_visible(where))
        frame = text.select(
            F.col("value").cast("binary").alias("value"),
            F.col("_metadata.file_path").alias(FILE),
            F.col("_metadata.file_block_start").alias(BLOCK),
        )
    return Source(where.shown, frame, form, Naming(where.name, "line"), headers)


def _in_hand(stream: BinaryIO, name: str, form: Form, headers: bool, spark: SparkSession) -> Source:
    """Lines that Spark cannot read by itself: standard input, and files whose names mislead it."""
    lines = stream.read().removeprefix(BYTE_ORDER_MARK).split(b"\n")
    if not lines[-1]:
        lines.pop()
    table = pyarrow.table({"value": pyarrow.array(lines[1:] if headers else lines, pyarrow.binary())})
    frame = spark.createDataFrame(table).select("value", F.lit("").alias(FILE), _task().alias(BLOCK))
    return Source(name, frame, form, Naming(lambda _: name, "line", before=int(headers)))


def _odd_gzip(path: Path, name: str, relation: Relation) -> bool:
    """Whether Spark, which goes by names, would take the file for something else than its first bytes say."""
    try:
        with open(path, "rb") as stream:
            return (stream.read(2) == GZIP_MARK) != (path.suffix == ".gz")
    except OSError:
        with _opened(path, name, relation):  # says why
            return False


def _visible(where: Place) -> str:
    if where.hidden and where.local is not None and where.local.is_dir():
        return where.pattern + "/*"
    if where.hidden:
        hint = "rename it"
        raise FactsError(where.shown, 0, 0, "Spark reads no file whose name begins with `_` or `.`", hint)
    return where.pattern


# Columns


def _parquet(where: Place, relation: Relation, program: Program, spark: SparkSession) -> Source:
    missing = f"there is no such file to read {relation.name} from"
    hint = f"{where.shown.rsplit('/', 1)[-1]} was looked for where the program and -F say"
    with explained(where.shown, "the file cannot be read as Parquet", missing, hint):
        read = spark.read.parquet(_visible(where))
        whence = (F.col("_metadata.file_path"), F.col("_metadata.file_block_start"))
        frame = read.select("*", *whence)
        return _placed(where.shown, frame, matched(read.columns, relation, where.shown), relation, program, where.name)


def _jdbc(directive: Directive, relation: Relation, program: Program, spark: SparkSession) -> Source:
    options = jdbc_options(directive)
    name = f"{options['dbtable']} at {without_secrets(options['url'])}"
    with explained(name, f"{relation.name} cannot be read from the database"):
        frame = spark.read.format("jdbc").options(**options).load()
        return _columns(name, frame, matched(frame.columns, relation, name), relation, program)


def _table(directive: Directive, relation: Relation, program: Program, spark: SparkSession) -> Source:
    table = directive.parameters.get("table", relation.name)
    missing = f"there is no such table in the catalog to read {relation.name} from"
    with explained(table, "the table cannot be read", missing, "the parameter `table` names it: catalog.schema.table"):
        frame = spark.table(table)
        return _columns(table, frame, matched(frame.columns, relation, table), relation, program)


def jdbc_options(directive: Directive) -> dict[str, str]:
    """What a `.input` or `.output` says of a database, with the password from the environment if it is there."""
    given = directive.parameters
    for needed in ("url", "dbtable"):
        if not given.get(needed):
            example = 'IO="jdbc", url="jdbc:postgresql://host/db", dbtable="edge"'
            raise WhenceError(f"{directive.origin}: IO=jdbc needs the parameter `{needed}`: {example}")
    options = {key: given[key] for key in ("url", "dbtable", "user", "password", "driver") if key in given}
    if "password_env" in given:
        variable = given["password_env"]
        if variable not in os.environ:
            raise WhenceError(f"{directive.origin}: the password should be in the environment variable {variable}")
        options["password"] = os.environ[variable]
    return options


def _columns(name: str, frame: DataFrame, places: list[int], relation: Relation, program: Program) -> Source:
    return _placed(name, frame.select("*", F.lit(""), _task()), places, relation, program, lambda _: name)


def _placed(
    name: str, frame: DataFrame, places: list[int], relation: Relation, program: Program, called: Callable[[str], str]
) -> Source:
    """The columns of the relation, by their places in a frame whose last two are file and block."""
    count = len(frame.columns) - 2
    given = [f"given{i}" for i in range(count)]
    named = frame.toDF(*given, FILE, BLOCK)
    kept = [F.col(given[i]) for i in places] or [F.lit(True).alias("holds")]
    form = Columns(relation, dict(program.types))
    return Source(name, named.select(*kept, FILE, BLOCK), form, Naming(called, "row"))


def _task() -> Column:
    return F.lit(OF_THE_TASK).cast("bigint")
