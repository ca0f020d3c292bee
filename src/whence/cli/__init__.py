"""The command line: each command parses its arguments, calls one function and renders what it gives."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

DONE, WRONG_INPUT, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit status: 0 done, 1 the input is wrong, 2 the usage is wrong."""
    options = _parser().parse_args(argv)
    from whence.errors import WhenceError

    try:
        status: int = options.command(options)
        sys.stdout.flush()
        return status
    except WhenceError as error:
        print(error, file=sys.stderr)
        hint = getattr(error, "hint", "")
        if hint:
            print(f"hint: {hint}", file=sys.stderr)
        return WRONG_INPUT
    except KeyboardInterrupt:
        print("\ninterrupted; no output was written", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that leaving does not fail again
        return WRONG_INPUT
    except MemoryError:
        print("there is not enough memory for the results; nothing was written", file=sys.stderr)
        return WRONG_INPUT
    except RecursionError:
        print("the program is nested too deeply; name inner parts with variables", file=sys.stderr)
        return WRONG_INPUT


def _parser() -> argparse.ArgumentParser:
    from whence.cli import apply, chart, debug, explain, log, plan, query, repair, repl, run, stream

    parser = argparse.ArgumentParser(
        prog="whence", description="Datalog whose results stay current and can say where they come from."
    )
    parser.add_argument("--version", action=_Version)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    run.add_to(commands)
    apply.add_to(commands)
    query.add_to(commands)
    log.add_to(commands)
    chart.add_to(commands)
    stream.add_to(commands)
    plan.add_to(commands)
    explain.add_to(commands)
    repair.add_to(commands)
    repl.add_to(commands)
    debug.add_to(commands)
    return parser


class _Version(argparse.Action):
    """Prints the installed version, which is looked up only when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="print the version")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"whence {version('whence')}")
        parser.exit()
