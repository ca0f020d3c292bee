"""The prompt: what is complete, what is answered, through a pipe and in a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import whence
from whence.cli.console import Console
from whence.cli.conversation import Conversation
from whence.cli.statements import is_complete, statement

WORDS = frozenset(["explain", "help", "show", "quit"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "// a comment",
        "edge(1, 2).",
        "+ edge(1, 2). - edge(2, 3).",
        "path(x, y) :-\n  edge(x, y).",
        ".decl edge(x: number, y: number)",
        ".input edge",
        "path(1, X)",
        "path(1, X), X > 3",
        "path(1, X)?",
        "n = count : { edge(_, _) }",
        ":explain path(1, 2",
        "explain path(1, 2",
        "help",
        'edge("a.b", "',  # nothing that follows could make it right
        "path(x, y) :-\n\n",
        "edge(1,\n",
    ],
)
def test_what_is_complete(text: str) -> None:
    assert is_complete(text, WORDS)


@pytest.mark.parametrize(
    "text",
    [
        "path(x, y) :-",
        "path(x, y) :- edge(x, y)",
        "path(x, y) :- edge(x, y),",
        "+ edge(1, 2)",
        "- path(x, y)",
        "edge(1,",
        ".decl edge(x: number,",
        "n = count : {",
        "path(X, Y), X >",
        "/* a comment",
        "edge(1, 2). /* a comment",
        "help(x) :- ",
    ],
)
def test_what_goes_on(text: str) -> None:
    assert not is_complete(text, WORDS)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("edge(1, 2).", "change"),
        ("- edge(1, 2).", "change"),
        ("p(x) :- q(x)", "change"),
        (".output p", "change"),
        ("p(X)", "query"),
        ("p(X)?", "query"),
        ("?- p(X), q(X).", "query"),
        (":why p(1)", "command"),
        ("explain p(1)", "command"),
        ("show(X)", "query"),
        ("show(1).", "change"),
    ],
)
def test_what_it_is(text: str, kind: str) -> None:
    said = statement(text, WORDS)
    assert said is not None
    assert said.kind == kind


@pytest.fixture
def conversation() -> Iterator[Conversation]:
    with whence.open(text="", file="<repl>") as session:
        session.run()
        yield Conversation(session, Console(quiet=True), "update", 5)


def said(conversation: Conversation, *texts: str) -> list[str]:
    """The answers, without times."""
    answers = [conversation.reply(text) or "" for text in texts]
    return [re.sub(r"(?m)^((?:back to )?epoch \d+: ).*?(\(.*\))?$", r"\1\2", answer).strip() for answer in answers]


def test_a_conversation(conversation: Conversation, tmp_path: Path) -> None:
    assert said(conversation, ".decl edge(x: number, y: number)\n.decl path(x: number, y: number)") == [
        "program +2 -0\n  + .decl edge(x: number, y: number)\n  + .decl path(x: number, y: number)\nepoch 1:"
    ]
    assert said(conversation, "edge(1, 2). edge(2, 3).", "path(x, y) :- edge(x, y).") == [
        "edge +2 -0\n  + edge(1, 2)\n  + edge(2, 3)\nepoch 2:",
        "program +1 -0\n  + path(x, y) :- edge(x, y).\npath +2 -0\n  + path(1, 2)\n  + path(2, 3)\n"
        "epoch 3: (path by update)",
    ]
    assert said(conversation, "path(x, z) :-\n  path(x, y),\n  edge(y, z).")[0].startswith(
        "program +1 -0\n  + path(x, z) :- path(x, y), edge(y, z).\npath +1 -0\n  + path(1, 3)\n"
    )
    assert said(conversation, "path(1, X)", "path(1, 3)", "path(3, 1)", "path(X, Y), !edge(X, Y)?") == [
        "x  y\n1  2\n1  3\n2 tuples",
        "yes",
        "no",
        "X  Y\n1  3\n1 tuple",
    ]
    assert "R2" in said(conversation, ":explain path(1, 3)")[0]
    assert "path(3, 1)" in said(conversation, "why-not path(3, 1)")[0]
    assert said(conversation, "- edge(1, 2).", ":undo")[1].startswith("edge +1 -0\n  + edge(1, 2)\n")
    assert said(conversation, "- path(A, B) :- edge(A, B).")[0].startswith(
        "program +0 -1\n  - path(x, y) :- edge(x, y).\npath +0 -3\n"
    )
    assert said(conversation, ":relations", ":program") == [
        "edge(x: number, y: number)  2\npath(x: number, y: number)  0",
        ".decl edge(x: number, y: number)\n.decl path(x: number, y: number)\n"
        "path(x, z) :-\n  path(x, y),\n  edge(y, z).",
    ]
    assert said(conversation, f":save {tmp_path / 'state'}") == [f"kept in {tmp_path / 'state'} as epoch 0"]
    assert whence.open_state(tmp_path / "state").program.text == conversation.session.program.text


def test_what_is_wrong_is_said_and_changes_nothing(conversation: Conversation) -> None:
    said(conversation, ".decl edge(x: number, y: number)\n.decl path(x: number, y: number)")
    for text, answer in [
        ("pth(1, X)", "did you mean `path`?"),
        ("path(x, y) :- edge(x).", "`edge` has 2 columns, not 1"),
        ("path(x, y) :- edge(x, x).", "`y`"),
        ("- edge(1, 2).", "edge(1, 2) cannot be deleted: it is not there"),
        (":hlp", "did you mean :help?"),
        (":load edge", "give a relation and a file"),
        (":load edge nothing.facts", "nothing.facts"),
        (":save", "give a folder"),
        (":show many", "give a number"),
        (":next", "explain a tuple first"),
    ]:
        before, epoch = conversation.session.program, conversation.session.epoch
        told = conversation.reply(text)
        assert told is not None
        assert answer in told, text
        assert (conversation.session.program, conversation.session.epoch) == (before, epoch), text


def test_files(conversation: Conversation, tmp_path: Path) -> None:
    (tmp_path / "a.facts").write_text("1\t2\n2\t3\n")
    (tmp_path / "b.changes").write_text(".decl p(x: number)\n+ p(x) :- edge(x, _).\n- edge(1, 2).\n")
    said(conversation, ".decl edge(x: number, y: number)")
    assert said(conversation, f":load edge {tmp_path / 'a.facts'}")[0].startswith("edge +2 -0\n")
    assert "+ p(2)" in said(conversation, f":apply {tmp_path / 'b.changes'}")[0]
    assert said(conversation, "p(X)") == ["x\n2\n1 tuple"]


def run(text: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "whence.cli", "repl", *arguments]
    return subprocess.run(command, input=text, cwd=folder, capture_output=True, text=True)


def test_lines_from_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "reach.dl").write_text(
        ".decl edge(x: number, y: number)\n.input edge\n.decl path(x: number, y: number)\n.output path\n"
        "path(x, y) :- edge(x, y).\n"
    )
    (tmp_path / "edge.facts").write_text("1\t2\n2\t3\n")
    ran = run("path(x, z) :-\n  path(x, y),\n  edge(y, z).\npath(1, X)\n", "reach.dl", folder=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.endswith("x  y\n1  2\n1  3\n2 tuples\n")
    ran = run("edge(7, 8)\nedge(7\n\n:quit\nnothing", "reach.dl", folder=tmp_path)
    assert (ran.returncode, ran.stdout) == (1, "no\n")
    assert "<query>:1:7: error: expected `,` or `)`" in ran.stderr


READY = "\x1b[?2004h"  # what a terminal is told when a line is to be edited


class Terminal:
    """A pseudo-terminal with the prompt in it."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        environment = os.environ | {"XDG_STATE_HOME": str(folder), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
        self.process, self.descriptor = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execve(sys.executable, [sys.executable, "-m", "whence.cli", "repl", *arguments], environment)
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self.told = ""

    def type(self, text: str) -> None:
        os.write(self.descriptor, text.encode())

    def until(self, wanted: str) -> None:
        """Reads until this was told."""
        end = time.monotonic() + 30
        while wanted not in self.told:
            ready, _, _ = select.select([self.descriptor], [], [], 1)
            if ready:
                try:
                    self.told += os.read(self.descriptor, 1 << 16).decode(errors="replace")
                except OSError:
                    break
            assert time.monotonic() < end, f"{wanted!r} is not in {self.told!r}"
        assert wanted in self.told, self.told
        self.told = self.told.partition(wanted)[2]

    def ended(self) -> int:
        end = time.monotonic() + 30
        while (ended := os.waitpid(self.process, os.WNOHANG))[0] == 0:
            if select.select([self.descriptor], [], [], 0.05)[0]:
                with suppress(OSError):
                    os.read(self.descriptor, 1 << 16)
            if time.monotonic() > end:
                os.kill(self.process, signal.SIGKILL)
        return os.waitstatus_to_exitcode(ended[1])


def test_in_a_terminal(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    terminal.until(READY)
    terminal.type(".decl edge(x: number, y: number)\r")
    terminal.until("epoch 1")
    terminal.type("edge(1, 2).\r")
    terminal.until("+ edge(1, 2)")
    terminal.type(".decl path(x: number, y: number)\r")
    terminal.until("epoch 3")
    terminal.type("path(x, y) :-\r")
    terminal.until("…")
    terminal.type("  ed\t")  # which completes the relation's name
    terminal.until("ge(")
    terminal.type("x, y).\r")
    terminal.until("+ path(1, 2)")
    terminal.until(READY)
    terminal.type("path(gar")
    terminal.until("gar")
    terminal.type("\x03")  # Ctrl-C gives the line up
    terminal.until(READY)
    terminal.type("\x1b[A")  # what was typed before comes back
    terminal.until("edge(")
    terminal.type("\x03")
    terminal.until(READY)
    terminal.type(":explain path(1, 2)\r")
    terminal.until("R1  path(x, y) :- edge(x, y).")
    terminal.until(READY)
    terminal.type("\x04")
    assert terminal.ended() == 0
    assert "+path(x, y) :-" in (tmp_path / "whence" / "repl_history").read_text()
