"""The command line as its users meet it: what it prints, where it writes, how it ends."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

WHENCE = str(Path(sys.executable).with_name("whence"))
CLOSURE = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
ENDLESS = """
.decl a(x: number)
.output a
a(0).
a(x + 1) :- a(x).
"""


def whence(*arguments: object, folder: Path, **options: object) -> subprocess.CompletedProcess[str]:
    """In process, which is quick; `tests/spark` has the command line on Spark."""
    engine = ["--engine", "local"] if "run" in arguments[:1] and "--engine" not in arguments else []
    return subprocess.run(
        [WHENCE, *map(str, arguments), *engine], cwd=folder, capture_output=True, text=True, encoding="utf-8", **options
    )


@pytest.fixture
def closure(tmp_path: Path) -> Path:
    (tmp_path / "closure.dl").write_text(CLOSURE)
    (tmp_path / "edge.facts").write_text("1\t2\n2\t3\n")
    return tmp_path


def test_run_writes_sorted_outputs_and_says_nothing_elsewhere(closure: Path) -> None:
    ran = whence("run", "closure.dl", "-D", "out/deep", folder=closure)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert (closure / "out/deep/path.csv").read_text() == "1\t2\n1\t3\n2\t3\n"


def test_report_as_json(closure: Path) -> None:
    ran = whence("run", "closure.dl", "--json", folder=closure)
    report = json.loads(ran.stdout)
    assert report["outputs"] == {"path": 3}
    assert (report["strata"], report["iterations"], report["derived"]) == (1, 3, 3)
    assert set(report["seconds"]) == {"load", "run", "write"}


def test_output_folder_can_be_standard_output(closure: Path) -> None:
    ran = whence("run", "closure.dl", "-D", "-", folder=closure)
    assert ran.stdout == "---------------\npath\n===============\n1\t2\n1\t3\n2\t3\n===============\n"
    assert not (closure / "path.csv").exists()


def test_plan(closure: Path) -> None:
    ran = whence("plan", "closure.dl", folder=closure)
    assert ran.stdout == (
        "stratum 1: path\n"
        "\n"
        "first iteration\n"
        "\n"
        "  path(x, y) :- edge(x, y).   // closure.dl:6:1\n"
        "    1. scan    all edge(x, y)\n"
        "    2. emit    path(x, y)\n"
        "\n"
        "  path(x, z) :- path(x, y), edge(y, z).   // closure.dl:7:1\n"
        "    1. scan    all path(x, y)\n"
        "    2. probe   all edge(y, z) by column 1 = y\n"
        "    3. emit    path(x, z)\n"
        "\n"
        "later iterations\n"
        "\n"
        "  path(x, z) :- path(x, y), edge(y, z).   // closure.dl:7:1\n"
        "    where path(x, y) reads new\n"
        "    1. scan    new path(x, y)\n"
        "    2. probe   all edge(y, z) by column 1 = y\n"
        "    3. emit    path(x, z)\n"
    )
    assert json.loads(whence("plan", "closure.dl", "--json", folder=closure).stdout)[0]["relations"] == ["path"]


def test_plan_follows_the_sizes_of_the_facts(tmp_path: Path) -> None:
    (tmp_path / "a.dl").write_text(
        ".decl large(x: number, y: number)\n.decl small(x: number, y: number)\n.input large, small\n"
        ".decl r(x: number, y: number)\n.output r\nr(x, z) :- large(x, y), small(y, z).\n"
    )
    rows = "".join(f"{i}\t{i % 7}\n" for i in range(500))
    for large, small in (("large", "small"), ("small", "large")):
        (tmp_path / f"{large}.facts").write_text(rows)
        (tmp_path / f"{small}.facts").write_text("1\t2\n")
        plan = whence("plan", "a.dl", "-F", ".", folder=tmp_path).stdout
        assert f"1. scan    all {small}" in plan
        assert f"2. probe   all {large}" in plan


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ("1\t2\n3\n", "edge.facts:2:2: edge needs 2 columns, but this line has 1"),
        ("1\t2\t3\n", "edge.facts:1:"),
        ("1\t2\n3\tx\n", "edge.facts:2:3: column y of edge should be a number, not `x`"),
        ("1\t99999999999999999999\n", "edge.facts:1:3: `99999999999999999999` does not fit column y of edge"),
    ],
)
def test_bad_facts_are_named_with_file_line_and_column(closure: Path, facts: str, said: str) -> None:
    (closure / "edge.facts").write_text(facts)
    ran = whence("run", "closure.dl", folder=closure)
    assert ran.returncode == 1
    assert ran.stderr.startswith(said)
    assert not (closure / "path.csv").exists()


def test_missing_facts(closure: Path) -> None:
    (closure / "edge.facts").unlink()
    ran = whence("run", "closure.dl", folder=closure)
    assert ran.returncode == 1
    assert ran.stderr.startswith("edge.facts: there is no such file to read edge from\nhint: ")


def test_bad_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.dl").write_text(".decl a(s: symbol)\n.input a\n.output a\n")
    (tmp_path / "a.facts").write_bytes(b"good\nb\xffd\n")
    ran = whence("run", "a.dl", folder=tmp_path)
    assert ran.returncode == 1
    assert ran.stderr.startswith("a.facts:2:1: ")
    assert "UTF-8" in ran.stderr


def test_wrong_program_shows_every_error_and_loses_nothing(closure: Path) -> None:
    (closure / "path.csv").write_text("old\n")
    (closure / "closure.dl").write_text(CLOSURE + "path(x, y) :- edge(x).\nother(1).\n")
    ran = whence("run", "closure.dl", folder=closure)
    assert ran.returncode == 1
    assert "closure.dl:8:" in ran.stderr
    assert "closure.dl:9:1: error: unknown relation `other`" in ran.stderr
    assert (closure / "path.csv").read_text() == "old\n"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("r(10 / y) :- edge(_, y).", "a.dl:5:1: division by zero, in `r(10 / y) :- edge(_, y).`"),
        ("r(10 % y) :- edge(_, y).", "a.dl:5:1: division by zero, in `r(10 % y) :- edge(_, y).`"),
        ('r(to_number(cat("a", to_string(y)))) :- edge(_, y).', "a.dl:5:1: "),
        ("r(0) :- edge(0, 0). r(1 / 0).", "a.dl:5:21: division by zero, in `r(1 / 0).`"),
    ],
)
def test_what_cannot_be_computed_names_the_rule(tmp_path: Path, rule: str, said: str) -> None:
    (tmp_path / "edge.facts").write_text("1\t2\n2\t0\n")
    (tmp_path / "a.dl").write_text(
        f".decl edge(x: number, y: number)\n.input edge\n.decl r(x: number)\n.output r\n{rule}\n"
    )
    ran = whence("run", "a.dl", folder=tmp_path)
    assert ran.returncode == 1
    assert ran.stderr.startswith(said)
    assert "Traceback" not in ran.stderr
    assert not (tmp_path / "r.csv").exists()


def test_substr_out_of_range_is_empty_and_warned_of_once(tmp_path: Path) -> None:
    (tmp_path / "a.dl").write_text(
        '.decl n(x: number)\n.output r\nn(1). n(7). n(8).\n.decl r(s: symbol)\nr(substr("abc", x, 1)) :- n(x).\n'
    )
    ran = whence("run", "a.dl", folder=tmp_path)
    assert ran.returncode == 0
    assert ran.stderr.count("substr") == 1
    assert (tmp_path / "r.csv").read_text() == "\nb\n"


def test_wrong_usage_ends_with_2(tmp_path: Path) -> None:
    for arguments in ([], ["run"], ["fly"], ["run", "a.dl", "--engine", "diesel"]):
        ran = whence(*arguments, folder=tmp_path)
        assert ran.returncode == 2
        assert "usage: whence" in ran.stderr


def test_missing_program(tmp_path: Path) -> None:
    ran = whence("run", "nothing.dl", folder=tmp_path)
    assert ran.returncode == 1
    assert ran.stderr.startswith("nothing.dl:1:1: error: cannot read the program: No such file or directory")


def test_outputs_that_cannot_be_written(closure: Path) -> None:
    (closure / "out").write_text("a file\n")
    ran = whence("run", "closure.dl", "-D", "out", folder=closure)
    assert ran.returncode == 1
    assert ran.stderr.startswith("out: the results cannot be written: ")


def test_a_reader_that_goes_away(closure: Path) -> None:
    (closure / "edge.facts").write_text("".join(f"{i}\t{i + 1}\n" for i in range(400)))
    ran = subprocess.run(
        f"{WHENCE} run closure.dl --engine local -D - | head -1", cwd=closure, shell=True, capture_output=True
    )
    assert ran.stdout == b"---------------\n"
    assert b"Traceback" not in ran.stderr


def test_interrupt_ends_cleanly(tmp_path: Path) -> None:
    (tmp_path / "endless.dl").write_text(ENDLESS)
    (tmp_path / "a.csv").write_text("old\n")
    running = subprocess.Popen(
        [WHENCE, "run", "endless.dl", "--engine", "local"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    time.sleep(2)
    running.send_signal(signal.SIGINT)
    _, stderr = running.communicate(timeout=10)
    assert running.returncode == 130
    assert stderr == "\ninterrupted; no output was written\n"
    assert (tmp_path / "a.csv").read_text() == "old\n"


def test_progress_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "endless.dl").write_text(ENDLESS)
    ours, theirs = pty.openpty()
    running = subprocess.Popen([WHENCE, "run", "endless.dl", "--engine", "local"], cwd=tmp_path, stderr=theirs)
    os.close(theirs)
    time.sleep(3)
    running.send_signal(signal.SIGINT)
    running.wait(timeout=10)
    shown = os.read(ours, 1 << 16).decode()
    assert "stratum 1/1 (a), iteration " in shown
    assert " new in the last, " in shown


def test_warnings_go_to_standard_error_unless_quiet(closure: Path) -> None:
    (closure / "closure.dl").write_text(CLOSURE + ".decl lonely(x: number)\n")
    assert "warning" in whence("run", "closure.dl", folder=closure).stderr
    assert whence("run", "closure.dl", "-q", folder=closure).stderr == ""


def test_only_what_is_used_is_imported(closure: Path) -> None:
    (closure / "modules.py").write_text(
        "import sys\nfrom whence.cli import main\n"
        "assert main(['run', 'closure.dl', '--engine', 'local']) == 0\n"
        "print([m for m in ('numba', 'pyspark', 'pandas', 'pyarrow', 'duckdb') if m in sys.modules])\n"
    )
    whence("run", "closure.dl", folder=closure)  # the kernel is compiled by now
    ran = subprocess.run([sys.executable, "modules.py"], cwd=closure, capture_output=True, text=True)
    assert ran.stdout == "[]\n", ran.stderr
