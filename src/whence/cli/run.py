"""`whence run`: read the facts, evaluate the rules, write the outputs."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING, Any

from whence.errors import WhenceError

if TYPE_CHECKING:
    from whence.session import Session


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "run",
        help="evaluate a program on its facts and write its outputs",
        description="Evaluates a program in the Soufflé dialect, on Spark or in this process. Files are found and "
        "written as Soufflé does.",
    )
    add_program(parser)
    parser.add_argument(
        "-D", "--output", metavar="FOLDER", default=".", help="where outputs go (default: here; - is standard output)"
    )
    parser.add_argument("--state", metavar="FOLDER", help="keep the state there, as a new epoch")
    parser.add_argument("--json", action="store_true", help="say what was done as JSON, on standard output")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress, no warnings, no summary")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="say of every stratum where it is evaluated, and why"
    )
    parser.add_argument(
        "--engine", choices=["spark", "local"], default="spark", help="what evaluates: Spark (default), or this process"
    )
    spark = parser.add_argument_group("on Spark")
    spark.add_argument("--master", metavar="URL", help="the cluster (default: Spark's configuration, else local[*])")
    spark.add_argument(
        "--placement",
        choices=["driver", "decomposed", "exchanged"],
        help="how strata are evaluated, where they can be (default: chosen for each by its input)",
    )
    spark.add_argument(
        "--bad-rows",
        choices=["fail", "skip", "quarantine"],
        default="fail",
        help="what to do with rows that do not fit their relation (default: fail)",
    )
    spark.add_argument("--quarantine", metavar="FOLDER", help="where bad rows go (default: quarantine in -D)")
    spark.add_argument("--driver-rows", type=_positive, metavar="N", help="the most tuples that a stratum here reads")
    spark.add_argument("--broadcast-rows", type=_positive, metavar="N", help="the most that are sent to every task")
    spark.add_argument(
        "--partitions", type=_positive, metavar="N", help="parts of a relation on Spark (default: by size)"
    )
    spark.add_argument(
        "--conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark; repeatable"
    )
    spark.add_argument("--spark-ui", action="store_true", help="serve Spark's own page while it runs")
    parser.set_defaults(command=run)


def add_program(parser: argparse.ArgumentParser) -> None:
    """The arguments that say what is evaluated."""
    parser.add_argument("program", metavar="PROGRAM.dl")
    parser.add_argument("-F", "--facts", metavar="FOLDER", default=".", help="where .facts files are (default: here)")


def run(options: argparse.Namespace) -> int:
    from whence.cli.console import Console

    console = Console(options.quiet, options.verbose)
    started = time.perf_counter()
    with _opened(options, console) as session:
        session.read_inputs(options.facts)
        loaded = time.perf_counter()
        with console.progress(session) as progress:
            session.run(progress)
        evaluated = time.perf_counter()
        session.write_outputs(options.output)
        if options.state:
            session.save(options.state, evaluated - loaded)
        written = time.perf_counter()
        outputs = dict.fromkeys(d.relation for d in session.program.directives_of("output"))
        report: dict[str, Any] = {
            "outputs": {name: len(session[name]) for name in outputs},
            "strata": progress.strata,
            "iterations": progress.iterations,
            "derived": progress.derived,
            "seconds": {
                "load": round(loaded - started, 6),
                "run": round(evaluated - loaded, 6),
                "write": round(written - evaluated, 6),
            },
        }
        if options.engine == "spark":
            report["placements"] = progress.placements
            report["bad_rows"] = session.bad_rows
    if options.json:
        print(json.dumps(report))
    elif not options.quiet and sys.stderr.isatty():
        console.say(
            f"{progress.derived:,} tuples derived in {evaluated - loaded:.2f} s, {progress.iterations:,} iterations, "
            f"{progress.strata} strata"
        )
    return 0


def _opened(options: argparse.Namespace, console: Any) -> Session:
    from whence.session import open as open_session

    if options.engine == "local":
        return open_session(options.program, engine="local", warn=console.warn, announce=console.announce)
    from whence.engines.spark.cluster import Setting
    from whence.engines.spark.options import Options

    conf = dict(_setting(text) for text in options.conf)
    quarantine = options.quarantine or f"{options.output if options.output != '-' else '.'}/quarantine"
    chosen = {"driver_rows": options.driver_rows, "broadcast_rows": options.broadcast_rows}
    how = Options(
        Setting(options.master, options.spark_ui, conf),
        options.placement,
        options.bad_rows,
        quarantine,
        partitions=options.partitions,
        **{name: value for name, value in chosen.items() if value is not None},
    )
    return open_session(options.program, engine="spark", options=how, warn=console.warn, announce=console.announce)


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise WhenceError(f"--conf {text}: a setting is written KEY=VALUE, such as spark.driver.memory=8g")
    return key, value


def _positive(text: str) -> int:
    number = int(text.replace("_", ""))
    if number < 1:
        raise ValueError
    return number
