"""`whence run`: read the facts, evaluate the rules, write the outputs."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING, Any

from whence.cli.engines import add_engine, engine_options
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
    spark = add_engine(parser, others=("circuit",))
    spark.add_argument(
        "--bad-rows",
        choices=["fail", "skip", "quarantine"],
        default="fail",
        help="what to do with rows that do not fit their relation (default: fail)",
    )
    spark.add_argument("--quarantine", metavar="FOLDER", help="where bad rows go (default: quarantine in -D)")
    parser.set_defaults(command=run)


def add_program(parser: argparse.ArgumentParser) -> None:
    """The arguments that say what is evaluated."""
    parser.add_argument("program", metavar="PROGRAM.dl")
    parser.add_argument("-F", "--facts", metavar="FOLDER", default=".", help="where .facts files are (default: here)")


def run(options: argparse.Namespace) -> int:
    from whence.cli.console import Console

    if options.state and options.engine == "circuit":
        raise WhenceError("the circuit engine has no iterations and counts to keep: leave --state out")
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

    quarantine = options.quarantine or f"{options.output if options.output != '-' else '.'}/quarantine"
    how = engine_options(options, bad_rows=options.bad_rows, quarantine=quarantine)
    return open_session(options.program, **how, warn=console.warn, announce=console.announce)
