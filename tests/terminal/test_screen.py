"""The terminal debugger in a pseudo-terminal, driven by keys; what is on the screen is read as a terminal would."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path
from struct import pack
from termios import TIOCSWINSZ

import pytest

PROGRAM = """\
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, y) :- edge(x, z), path(z, y).
"""
INTO, OVER, OUT, BACK, RESUME = "\x1b[23~", "\x1b[21~", "\x1b[20~", "\x1b[19~", "\x1b[15~"
ROWS, COLUMNS = 30, 100
SEQUENCE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|\x1b[()][A-Z0-9]|\x1b[=>78]|\x1b\][^\x07]*\x07")


class Screen:
    """What a terminal of ROWS × COLUMNS shows: enough of one for what is written here."""

    def __init__(self) -> None:
        self.cells = [[" "] * COLUMNS for _ in range(ROWS)]
        self.row = self.column = 0
        self._rest = ""

    def feed(self, text: str) -> None:
        text = self._rest + text
        self._rest = ""
        place = 0
        while place < len(text):
            if text[place] == "\x1b":
                found = SEQUENCE.match(text, place)
                if found is None:
                    self._rest = text[place:]
                    return
                self._control(found[1], found[2])
                place = found.end()
                continue
            self._write(text[place])
            place += 1

    def _write(self, char: str) -> None:
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self.row = min(ROWS - 1, self.row + 1)
        elif char == "\b":
            self.column = max(0, self.column - 1)
        elif char >= " ":
            if self.column < COLUMNS:
                self.cells[self.row][self.column] = char
            self.column += 1

    def _control(self, parameters: str | None, letter: str | None) -> None:
        numbers = [int(n) if n.isdigit() else 0 for n in (parameters or "").strip("?").split(";")]
        first = max(1, numbers[0])
        match letter:
            case "H":
                self.row, self.column = first - 1, (max(1, numbers[1]) if len(numbers) > 1 else 1) - 1
            case "A":
                self.row = max(0, self.row - first)
            case "B":
                self.row = min(ROWS - 1, self.row + first)
            case "C":
                self.column += first
            case "D":
                self.column = max(0, self.column - first)
            case "K":
                self.cells[self.row][self.column :] = [" "] * (COLUMNS - self.column)
            case "J":
                start = 0 if numbers[0] == 2 else self.row
                for row in self.cells[start + (numbers[0] != 2) :]:
                    row[:] = [" "] * COLUMNS
                self.cells[self.row][self.column :] = [" "] * (COLUMNS - self.column)

    @property
    def lines(self) -> list[str]:
        return ["".join(row).rstrip() for row in self.cells]


class Terminal:
    def __init__(self, arguments: list[str], folder: Path) -> None:
        self.master, theirs = pty.openpty()
        ioctl(theirs, TIOCSWINSZ, pack("HHHH", ROWS, COLUMNS, 0, 0))
        command = [sys.executable, "-m", "whence.cli", "debug", *arguments]
        environment = os.environ | {"TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1"}
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
        )
        os.close(theirs)
        self.screen = Screen()

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def shows(self, *wanted: str) -> list[str]:
        """Waits until all of these are on the screen."""
        end = time.monotonic() + 20
        while True:
            lines = self.screen.lines
            if all(any(part in line for line in lines) for part in wanted):
                return lines
            assert time.monotonic() < end, "\n".join(["not on the screen:", *wanted, "but:", *lines])
            ready, _, _ = select.select([self.master], [], [], 0.2)
            if ready:
                try:
                    self.screen.feed(os.read(self.master, 1 << 16).decode("utf-8", "replace"))
                except OSError:
                    pytest.fail("\n".join(["the debugger ended:", *self.screen.lines]))

    def ends(self) -> int:
        end = time.monotonic() + 20
        while self.process.poll() is None and time.monotonic() < end:
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    os.read(self.master, 1 << 16)
                except OSError:
                    break
        return self.process.wait(timeout=20)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "edge.facts").write_text("1\t2\n2\t3\n3\t1\n3\t4\n")
    (tmp_path / "path.dl").write_text(PROGRAM)
    return tmp_path


@pytest.fixture
def terminal(folder: Path) -> Iterator[Terminal]:
    running = Terminal(["path.dl", "path(1, Y)"], folder)
    yield running
    if running.process.poll() is None:
        running.process.kill()
        running.process.wait()
    os.close(running.master)


def test_a_session_on_the_screen(terminal: Terminal) -> None:
    lines = terminal.shows("call path(1, Y)", "F11 into", "> 0  path(1, Y)  line 5")
    marked = next(i for i, line in enumerate(lines) if "^" in line)
    assert "path(x, y) :- edge(x, y)." in lines[marked - 1]
    assert lines[marked].index("^") == lines[marked - 1].index("edge(x, y)")
    terminal.press(OVER)
    terminal.shows("[A-EDB, R-Merge, R-Result, Q-Union]")
    terminal.press("over\r")
    terminal.shows("[A-EDB, R-Merge]", "x  z")
    terminal.press(INTO)
    terminal.shows("call path(2, y)", "> 0  path(2, y)", "  1  path(1, Y)")
    terminal.press("break path/2/2 if z = 3\r")
    terminal.shows("path, rule 2, atom 2 if z = 3")
    terminal.press("watch edge(z, W)\r")
    terminal.shows("edge(z, W)")
    terminal.press(RESUME)
    terminal.shows("call path(2, y), breakpoint 1", "3, 4 | 3, 1")
    terminal.press("stack\r")
    terminal.press(BACK)
    terminal.shows("call path(2, y)  [R-Merge, A-EDB]")
    terminal.press("nonsense\r")
    terminal.shows("there is no command 'nonsense'; try `help`")
    terminal.press("print edge(1, Q\r")
    terminal.shows("edge(1, Q`")
    terminal.press("delete 1\r")
    terminal.shows("no breakpoints")
    terminal.press(OUT)
    terminal.shows("call path(1, Y)  [A-OverRecursive]")
    terminal.press(RESUME)
    terminal.shows("path(1, Y) is done", "The answer:")
    terminal.press("quit\r")
    assert terminal.ends() == 0


def test_commands_and_names_are_completed(terminal: Terminal) -> None:
    terminal.shows("F11 into")
    terminal.press("breakp\t")
    terminal.shows("> breakpoints")
    terminal.press("\x03kno\t")
    terminal.shows("> known")
    terminal.press(" pa\t")
    terminal.shows("> known path")
    terminal.press("\r")
    terminal.shows("(no rows)")
    terminal.press("\x04")
    assert terminal.ends() == 0


def test_an_empty_line_repeats_the_last_step(terminal: Terminal) -> None:
    terminal.shows("line 5")
    terminal.press("into\r")
    terminal.shows("line 6")
    terminal.press("\r")
    terminal.shows("[A-EDB, R-Merge]")
    terminal.press("\r")
    terminal.shows("call path(2, y)")


def test_a_long_run_is_paused(folder: Path) -> None:
    edges = "".join(f"{n}\t{n + 1}\n" for n in range(300)) + "300\t0\n"
    (folder / "edge.facts").write_text(edges)
    running = Terminal(["path.dl", "path(0, Y)", "-b", "path if x = 99999"], folder)
    running.shows("call path(0, Y)")
    running.press("resume\r")
    running.shows("running; Ctrl-C pauses")
    running.press("\x03")
    running.shows("[…, ")
    running.press("break 5\r")
    running.shows("● 2  line 5")
    running.press("\x04")
    assert running.ends() == 0
    os.close(running.master)


def test_a_small_terminal(folder: Path) -> None:
    running = Terminal(["path.dl", "path(1, Y)"], folder)
    ioctl(running.master, TIOCSWINSZ, pack("HHHH", 12, 40, 0, 0))
    running.shows("call path(1, Y)")
    running.press("into\r")
    running.shows("A-EDB")
    running.press("\x04")
    assert running.ends() == 0
    os.close(running.master)


def lines_of(folder: Path, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "whence.cli", "debug", *arguments]
    return subprocess.run(command, cwd=folder, input=typed, capture_output=True, text=True, timeout=60)


def test_without_a_terminal_it_reads_lines(folder: Path) -> None:
    ran = lines_of(folder, "path.dl", "path(1, Y)", "-b", "path/2/2 if z = 3", typed="resume\nprint edge(z, W)\nquit\n")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[5:] == [
        "> resume",
        "call path(2, y), breakpoint 1  […, A-EDB, R-Merge, R-Result, Q-Union, A-EDB, R-Merge]",
        " 6  path(x, y) :- edge(x, z), path(z, y).",
        "                              ^^^^^^^^^^",
        "    x  z",
        "    2  3",
        "> print edge(z, W)",
        "z  W",
        "3  4",
        "3  1",
        "> quit",
    ]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["path.dl"], 2, "give a program or a state, and a query"),
        (["path.dl", "path(1, Y)", "--why", "path(1, 2)"], 2, "give a program or a state, and a query"),
        (["nowhere.dl", "path(1, Y)"], 1, "nowhere.dl"),
        ([".", "path(1, Y)"], 1, "is not a Whence store"),
        (["path.dl", "pth(1, Y)"], 1, "did you mean `path`?"),
        (["path.dl", "path(1, Y)", "-b", "99"], 1, "no rule at or after line 99"),
        (["path.dl", "--why", "path(4, 1)"], 1, "path(4, 1) is not there; --why-not"),
        (["path.dl", "--why-not", "path(1, 4)"], 1, "path(1, 4) is there; --why"),
        (["--dap", "99999"], 1, "a port is at most 65535"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(folder: Path, arguments: list[str], status: int, said: str) -> None:
    ran = lines_of(folder, *arguments)
    assert ran.returncode == status
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr


def test_following_a_proof_and_a_failure(folder: Path) -> None:
    ran = lines_of(folder, "path.dl", "--why", "path(1, 3)", typed="f\n" * 9)
    said = [
        line
        for line in ran.stdout.splitlines()
        if line.startswith(("path(", "edge(", "next")) and "is done" not in line
    ]
    assert said == [
        "path(1, 3) follows by path(x, y) :- edge(x, z), path(z, y).",
        "edge(1, 2) is there",
        "next is path(2, 3)",
        "edge(2, 3) is there",
        "path(2, 3) is shown; its call was left",
        "path(1, 3) is shown; its call was left",
    ]
    ran = lines_of(folder, "path.dl", "--why-not", "path(4, 1)", typed="f\nf\n")
    assert "no row is left after `edge(x, z)`" in ran.stdout
    assert "no rule is left: it is not there" in ran.stdout
