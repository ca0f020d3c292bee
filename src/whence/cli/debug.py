"""`whence debug`: step through the evaluation of a query, in the terminal or for an editor."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from whence.cli.arguments import count

if TYPE_CHECKING:
    from whence.session import Session
    from whence.step import Debugger
    from whence.terminal.commands import Commands


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "debug",
        help="step through the evaluation of a query",
        description="Steps through the evaluation of a query such as 'path(1, Y)', top down, on a program and its "
        "facts or on a state. With --why, along the proof of a tuple; with --why-not, to where the rules fail. With "
        "--dap, serves an editor instead.",
    )
    parser.add_argument("target", metavar="PROGRAM.dl|STATE", nargs="?", help="a program, or a folder with a state")
    parser.add_argument("query", metavar="QUERY", nargs="?", help="an atom or a body, in the language of rules")
    parser.add_argument("-F", "--facts", metavar="FOLDER", default=".", help="where .facts files are (default: here)")
    parser.add_argument("--epoch", type=count, metavar="N", help="of a state, that epoch (default: the last)")
    parser.add_argument("--why", metavar="TUPLE", help="follow the proof of a tuple, such as 'path(1, 4)'")
    parser.add_argument("--why-not", metavar="TUPLE", help="go to where the rules for a tuple fail")
    parser.add_argument(
        "-b", "--break", dest="stops", action="append", default=[], metavar="WHERE",
        help="a breakpoint, as the command `break` takes it; repeatable",
    )  # fmt: skip
    parser.add_argument("--plain", action="store_true", help="no screen: commands in, text out, line by line")
    parser.add_argument(
        "--dap", nargs="?", const=-1, type=count, metavar="PORT",
        help="speak the Debug Adapter Protocol on standard input and output, or on a port of this machine",
    )  # fmt: skip
    parser.set_defaults(command=debug, usage=parser.error)


def debug(options: argparse.Namespace) -> int:
    if options.dap is not None:
        from whence.dap.serving import serve, serve_on

        return serve(sys.stdin.buffer, sys.stdout.buffer) if options.dap == -1 else serve_on(options.dap)
    asked = [text for text in (options.query, options.why, options.why_not) if text is not None]
    if options.target is None or len(asked) != 1:
        options.usage("give a program or a state, and a query, or --why or --why-not with a tuple")
    with opened(options) as session:
        commands = _commands(session, options)
        for where in options.stops:
            commands.set_breakpoint(where)
        if options.stops:
            commands.debugger.restart()  # which may begin at one of them
        if options.plain or not (sys.stdin.isatty() and sys.stdout.isatty()):
            return _line_by_line(commands)
        from whence.terminal.screen import Screen

        return Screen(commands).run()


def opened(options: argparse.Namespace) -> Session:
    """The session to step through: a state as it is, or a program that is evaluated first."""
    import whence
    from whence.cli.console import Console

    console = Console(quiet=False)
    if Path(options.target).is_dir():
        from whence.state import open_state

        return open_state(options.target, options.epoch, warn=console.warn, announce=console.announce)
    session = whence.open(options.target, announce=console.announce)
    session.read_inputs(options.facts)
    with console.progress(session) as progress:
        session.run(progress)
    return session


def _commands(session: Session, options: argparse.Namespace) -> Commands:
    from whence.step.guide import AlongProof, Guide, ToFailures
    from whence.terminal.commands import Commands

    guide: Guide | None = None
    if options.why is not None:
        guide = AlongProof(session, options.why)
    elif options.why_not is not None:
        guide = ToFailures(session, options.why_not)
    debugger = guide.debugger if guide else session.debug(options.query)
    debugger.machine.prepare(debugger.state)
    return Commands(debugger, guide)


def _line_by_line(commands: Commands) -> int:
    from whence.terminal.commands import Leave
    from whence.terminal.view import whole

    print(whole(commands.debugger), flush=True)
    while True:
        try:
            line = input("> " if sys.stdin.isatty() else "")
        except EOFError:
            return 0
        except KeyboardInterrupt:
            print()
            continue
        if not sys.stdin.isatty():
            print(f"> {line}")
        with _pausing(commands.debugger):
            try:
                print(commands.reply(line), flush=True)
            except Leave:
                return 0


@contextmanager
def _pausing(debugger: Debugger) -> Iterator[None]:
    """Ctrl-C pauses a run between two steps, and breaks nothing off."""
    pressed = Event()
    debugger.paused = pressed.is_set
    before = signal.signal(signal.SIGINT, lambda *_: pressed.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
