"""Figures that are about Whence alone: what counts cost, bytes a tuple, planning, start-up, explanations."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path

from bench.debug import debugging
from bench.explain import explaining
from bench.graphs import dense, sparse
from bench.measure import Setting, once, tell, timed, write_input
from bench.report import Finding

WHENCE = Path(sys.executable).with_name("whence")


def counts(folder: Path, quick: bool, setting: Setting) -> list[Finding]:
    """The run with numbers of derivations over the run without.

    By the clock, and in processor time, which other processes disturb less; on an idle machine the two agree.
    """
    findings = []
    for name, make, size in [("dense", dense, 100 if quick else 1_000), ("sparse", sparse, 400 if quick else 20_000)]:
        at = folder / name
        write_input(make(size), at)
        kept, left_out = [], []
        for _ in range(setting.runs):
            # In turns, so that both see the same machine.
            kept.append(once("whence", "closure", at, ("path",), setting.limit, "--no-checksum"))
            left_out.append(once("whence", "closure", at, ("path",), setting.limit, "--no-checksum", "--no-counts"))
        by_clock = 100 * (min(run.run for run in kept) / min(run.run for run in left_out) - 1)
        processor = 100 * (min(run.cpu for run in kept) / min(run.cpu for run in left_out) - 1)
        tell(f"counts on {name}: {by_clock:.1f}% by the clock, {processor:.1f}% in processor time")
        for value, how in [(by_clock, "by the clock"), (processor, "in processor time")]:
            findings.append(Finding(f"cost of counts, {name} closure, {how}", value, "%", "below 15", value < 15))
    return findings


def bytes_a_tuple(folder: Path, quick: bool, setting: Setting) -> list[Finding]:
    """Columns, iteration, count and the hash set that keeps tuples apart; then with an index to join by as well."""
    findings = []
    for name, make, size in [("dense", dense, 100 if quick else 1_000), ("sparse", sparse, 400 if quick else 20_000)]:
        write_input(make(size), folder / name)
        for program, what in [("closure", "in its set"), ("closure_indexed", "in its set and an index")]:
            run = once("whence", program, folder / name, ("path",), setting.limit, "--no-checksum")
            each = run.nbytes["path"] / run.sizes["path"]
            tell(f"bytes: {name} closure, {program}: {each:.1f}")
            label = f"a tuple of arity 2 {what}, {name} closure"
            findings.append(Finding(label, each, "bytes", "at most 48", each <= 48))
    return findings


def many_rules(rules: int, relations: int) -> str:
    """A program of joins among relations, most of them recursive through one another."""
    choose = random.Random(5)
    lines = [f".decl r{i}(x: number, y: number)" for i in range(relations)]
    lines += [f".input r{i}" for i in range(relations // 5)] + [f".output r{relations - 1}"]
    for i in range(rules):
        head = relations // 5 + i % (relations - relations // 5)
        length = choose.randint(2, 5)
        body = [f"r{choose.randrange(relations)}(v{j}, v{j + 1})" for j in range(length)]
        lines.append(f"r{head}(v0, v{length}) :- {', '.join(body)}.")
    return "\n".join(lines) + "\n"


def planning(folder: Path, quick: bool, setting: Setting) -> list[Finding]:
    """From text to printed plan, without the start of the process."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rules.dl").write_text(many_rules(200, 50))
    (folder / "one.dl").write_text(".decl a(x: number)\n.decl b(x: number)\nb(x) :- a(x).\n.input a\n.output b\n")
    for i in range(50):
        (folder / f"r{i}.facts").write_text("")
    (folder / "a.facts").write_text("")
    whole, start = (
        min(timed([WHENCE, "plan", folder / f"{name}.dl", "-F", folder], setting.limit)[0] for _ in range(setting.runs))
        for name in ("rules", "one")
    )
    tell(f"planning: {whole:.3f} s, of which {start:.3f} s is starting")
    return [Finding("planning 200 rules over 50 relations", whole - start, "s", "below 1", whole - start < 1)]


TEN_LINES = """\
.decl parent(child: symbol, parent: symbol)
.input parent
.decl ancestor(child: symbol, ancestor: symbol)
ancestor(x, y) :- parent(x, y).
ancestor(x, z) :- ancestor(x, y), parent(y, z).
.decl person(name: symbol)
person(x), person(y) :- parent(x, y).
.decl founder(name: symbol)
founder(x) :- person(x), !parent(x, _).
.output ancestor, founder
"""


def start_up(folder: Path, quick: bool, setting: Setting) -> list[Finding]:
    """A ten-line program on ten facts from the shell; the first run, which may compile kernels, is not counted."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "family.dl").write_text(TEN_LINES)
    (folder / "parent.facts").write_text("".join(f"p{i + 1}\tp{i // 2}\n" for i in range(10)))
    command: list[str | Path] = [
        WHENCE,
        "run",
        folder / "family.dl",
        "-F",
        folder,
        "-D",
        folder / "out",
        "--engine",
        "local",
    ]
    (folder / "out").mkdir(exist_ok=True)
    timed(command, setting.limit)
    seconds = min(timed(command, setting.limit)[0] for _ in range(max(3, setting.runs)))
    tell(f"start-up: {seconds:.3f} s")
    return [Finding("ten lines on ten facts, from the shell", seconds, "s", "below 0.5", seconds < 0.5)]


MEASUREMENTS: dict[str, Callable[[Path, bool, Setting], list[Finding]]] = {
    "counts": counts,
    "bytes": bytes_a_tuple,
    "planning": planning,
    "start-up": start_up,
    "explain": explaining,
    "debug": debugging,
}
