"""`whence repl`: a program and its facts, changed and asked line by line; each change tells what it brought."""

from __future__ import annotations

import argparse
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.cli.arguments import count
from whence.cli.engines import add_engine, engine_options

if TYPE_CHECKING:
    from whence.cli.console import Console
    from whence.session import Session


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "repl",
        help="change a program and its facts line by line, and ask",
        description="A prompt: declare relations, add and retract facts and rules, ask and explain. Each change tells "
        "what it brought and how long it took. Lines from a pipe are taken the same way.",
    )
    parser.add_argument(
        "start", metavar="PROGRAM.dl|STATE", nargs="?", help="begin with this program or state (default: with nothing)"
    )
    parser.add_argument("-F", "--facts", metavar="FOLDER", default=".", help="where .facts files are (default: here)")
    parser.add_argument("--strategy", choices=["elastic", "update", "bootstrap"], default="elastic")
    parser.add_argument("--show", type=count, metavar="N", default=5, help="tuples of each kind (default: 5)")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress, no warnings")
    add_engine(parser)
    parser.set_defaults(command=repl, engine="local")


def repl(options: argparse.Namespace) -> int:
    from whence.cli.console import Console
    from whence.cli.conversation import Conversation

    console = Console(options.quiet)
    with _opened(options, console) as session:
        conversation = Conversation(session, console, options.strategy, options.show)
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            return _plain(conversation)
        from whence.cli.terminal import Terminal

        print(conversation.greeting())
        terminal = Terminal(conversation)
        while True:
            text = None
            try:
                text = terminal.read()
                answer = None if text is None else conversation.reply(text)
                if answer is None:
                    break
                if answer:
                    print(answer)
            except KeyboardInterrupt:  # what was typed is given up, or what it asked for, which has then not happened
                print("" if text is None else "interrupted")
        if conversation.unsaved:
            print(conversation.left())
    return 0


def _plain(conversation: Any) -> int:
    """Lines from a pipe or a file: answers go to standard output, and what is wrong to standard error."""
    from whence.cli.statements import is_complete
    from whence.errors import WhenceError

    status, text = 0, ""
    for line in chain(sys.stdin, ["\n"]):
        text += line
        if not is_complete(text.removesuffix("\n") if line.strip() else text, conversation.words):
            continue
        complete, text = text, ""
        try:
            answer = conversation.answer(complete)
        except WhenceError as error:
            print(error, file=sys.stderr, flush=True)
            status = 1
            continue
        if answer is None:
            break
        if answer:
            print(answer, flush=True)
    return status


def _opened(options: argparse.Namespace, console: Console) -> Session:
    from whence.session import open as open_session
    from whence.state import open_state
    from whence.store.directory import MANIFEST

    how: dict[str, Any] = {**engine_options(options), "warn": console.warn, "announce": console.announce}
    start = options.start
    if start is not None and (Path(start).is_dir() or (Path(start) / MANIFEST).exists()):
        return open_state(start, **how)
    session = open_session(text="", file="<repl>", **how) if start is None else open_session(start, **how)
    try:
        if start is not None:
            session.read_inputs(options.facts)
        with console.progress(session) as progress:
            session.run(progress)
    except BaseException:
        session.close()
        raise
    return session
