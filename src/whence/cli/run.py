"""`whence run`: read the facts, evaluate the rules, write the outputs."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "run",
        help="evaluate a program on its facts and write its outputs",
        description="Evaluates a program in the Soufflé dialect. Files are found and written as Soufflé does.",
    )
    add_program(parser)
    parser.add_argument(
        "-D", "--output", metavar="FOLDER", default=".", help="where outputs go (default: here; - is standard output)"
    )
    parser.add_argument("--json", action="store_true", help="say what was done as JSON, on standard output")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress, no warnings, no summary")
    parser.set_defaults(command=run)


def add_program(parser: argparse.ArgumentParser) -> None:
    """The arguments that say what is evaluated, and by what."""
    parser.add_argument("program", metavar="PROGRAM.dl")
    parser.add_argument("-F", "--facts", metavar="FOLDER", default=".", help="where .facts files are (default: here)")
    parser.add_argument("--engine", choices=["local"], default="local", help="what evaluates (default: local)")


def run(options: argparse.Namespace) -> int:
    from whence.cli.console import Console
    from whence.session import open as open_session

    console = Console(options.quiet)
    started = time.perf_counter()
    session = open_session(options.program, engine=options.engine, warn=console.warn, announce=console.announce)
    session.read_inputs(options.facts)
    loaded = time.perf_counter()
    with console.progress(session) as progress:
        session.run(progress)
    evaluated = time.perf_counter()
    session.write_outputs(options.output)
    written = time.perf_counter()
    outputs = dict.fromkeys(d.relation for d in session.program.directives_of("output"))
    report = {
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
    if options.json:
        print(json.dumps(report))
    elif not options.quiet and sys.stderr.isatty():
        console.say(
            f"{progress.derived:,} tuples derived in {evaluated - loaded:.2f} s, {progress.iterations:,} iterations, "
            f"{progress.strata} strata"
        )
    return 0
