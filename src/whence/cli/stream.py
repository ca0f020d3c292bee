"""`whence stream`: a state follows a folder of changes, by Spark Structured Streaming."""

from __future__ import annotations

import argparse
import json
import logging
import signal
from codecs import BOM_UTF8
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from whence.cli.apply import add_update
from whence.cli.arguments import positive, seconds
from whence.cli.engines import add_engine, engine_options, spark_options
from whence.errors import WhenceError

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from whence.cli.console import Console
    from whence.state import Applied
    from whence.store import Store
    from whence.streaming import Follower

INTERVAL = 1.0
BETWEEN_LOOKS = 0.2  # seconds between looks whether the query has ended


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "stream",
        help="keep a state current with a folder of changes",
        description="Watches a folder for files of changes. What has come makes one epoch of the state, exactly once, "
        "also when it is killed and started again; its impact is written to a change feed.",
    )
    parser.add_argument("program", metavar="PROGRAM.dl|STATE", help="a program, evaluated first, or a state there is")
    parser.add_argument("--changes", metavar="FOLDER", required=True, help="where files of changes come")
    parser.add_argument("--state", metavar="FOLDER", help="the state of PROGRAM.dl; made if it is not there")
    parser.add_argument("-F", "--facts", metavar="FOLDER", default=".", help="where .facts files are (default: here)")
    parser.add_argument("--feed", metavar="FOLDER", help="write the impact of each epoch there, as JSON lines")
    parser.add_argument("--once", action="store_true", help="take in what is there, then end")
    parser.add_argument(
        "--interval", type=seconds, metavar="S", default=INTERVAL, help=f"seconds between looks (default: {INTERVAL:g})"
    )
    parser.add_argument("--files-per-epoch", type=positive, metavar="N", help="the most files that make an epoch")
    parser.add_argument("--checkpoint", metavar="FOLDER", help="where Spark notes its progress (default: in the state)")
    add_update(parser)
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each epoch")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing of epochs and warnings")
    add_engine(parser)
    parser.set_defaults(command=stream, verbose=False)


def stream(options: argparse.Namespace) -> int:
    from whence.cli.console import Console

    console = Console(options.quiet)
    if not Path(options.changes).is_dir():
        raise WhenceError(f"{options.changes}: there is no such folder of changes")
    state = _state(options, console)
    from whence.engines.spark.cluster import start
    from whence.streaming import Files, Follower, change_files
    from whence.streaming.starting import started

    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # errors are told in a sentence, not as calls of Java
    how = engine_options(options)
    spark = start(spark_options(options).setting)
    if options.engine == "spark":
        how["spark"] = spark
    follower = Follower(
        state,
        Files(),
        options.feed,
        heard=lambda applied: _say(applied, options),
        lenient=options.lenient,
        update={"strategy": options.strategy, "share": options.share},
        opened={**how, "warn": console.warn, "announce": console.announce},
    )
    frame = change_files(spark, options.changes, options.files_per_epoch)
    trigger = {"availableNow": True} if options.once else {"processingTime": f"{options.interval} seconds"}
    query = started(frame, follower, options.checkpoint, trigger)
    try:
        failure = _followed(query, follower)
    finally:
        follower.close()
        spark.stop()
    if isinstance(follower.error, WhenceError):
        raise follower.error
    if failure is not None:
        raise WhenceError(f"the stream has failed: {str(failure).splitlines()[0][:300]}")
    return 0


def _followed(query: StreamingQuery, follower: Follower) -> Exception | None:
    """Waits until the query ends; an interrupt is the way to end it, between two batches. Says why it has failed.

    PySpark's own way with interrupts is to call Spark from within a call of Spark, which fails loudly.
    """
    interrupted = Event()
    before = signal.signal(signal.SIGINT, lambda *_: interrupted.set())
    try:
        while query.isActive and not interrupted.wait(BETWEEN_LOOKS):
            pass
        if query.isActive:
            follower.stop()
            query.stop()
            return None
        return query.exception()
    finally:
        signal.signal(signal.SIGINT, before)


def _state(options: argparse.Namespace, console: Console) -> str:
    """The folder of the state, which is there now."""
    from whence.store import Store
    from whence.store.directory import MANIFEST

    given = Path(options.program)
    if given.is_dir() or (given / MANIFEST).exists():
        if options.state is not None and Path(options.state) != given:
            raise WhenceError(f"{given} is a state, and --state names another; give a program, or leave out --state")
        Store.open(given)
        return str(given)
    if options.state is None:
        raise WhenceError(f"{given}: say with --state where the state of this program is to be kept")
    if (Path(options.state) / MANIFEST).exists() and Store.open(options.state).numbers:
        _check_program(given, Store.open(options.state))
        return str(options.state)
    from whence.session import open as open_session

    with open_session(given, **engine_options(options), warn=console.warn, announce=console.announce) as session:
        session.read_inputs(options.facts)
        with console.progress(session) as progress:
            session.run(progress)
        session.save(options.state)
    return str(options.state)


def _check_program(path: Path, store: Store) -> None:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise WhenceError(f"{path}: cannot read the program: {error.strerror or error}") from None
    texts = [store.program_text(number).encode() for number in (store.numbers[0], store.latest.number)]
    if content.removeprefix(BOM_UTF8) not in texts:  # its rules may have changed since
        advice = f"name another folder, or run it first: whence run {path} --state {store.root}"
        raise WhenceError(f"the state in {store.root} is of another program than {path}; {advice}")


def _say(applied: Applied, options: argparse.Namespace) -> None:
    from whence.cli.text import signed, time_text
    from whence.history import total
    from whence.saving import impact_sizes

    if options.json:
        print(json.dumps(applied.to_json()), flush=True)
    elif not options.quiet:
        impact = applied.impact
        sizes = f"change {signed(total(applied.change.sizes))}"
        if applied.rules:
            sizes += f", program {signed((len(applied.rules['added']), len(applied.rules['removed'])))}"
        sizes += f", impact {signed(total(impact_sizes(impact)))}"
        print(f"epoch {applied.epoch}: {sizes}, {impact.strategy}, {time_text(impact.seconds)}", flush=True)
