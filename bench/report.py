"""What a reader sees: a table for each workload, then findings, then whatever went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from bench.measure import Run

Json = dict[str, object]


@dataclass(frozen=True)
class Measurement:
    """Both engines on one input. An engine that did not finish has no run, and a problem that says why."""

    workload: str
    size: int
    input: int
    whence: Run | None
    duckdb: Run | None
    problems: tuple[str, ...] = field(default=())

    @property
    def results(self) -> int | None:
        run = self.whence or self.duckdb
        return sum(run.sizes.values()) if run else None


@dataclass(frozen=True)
class Finding:
    """One figure with the aim it is held against; `met` is None where there is no aim."""

    name: str
    value: float
    unit: str
    aim: str
    met: bool | None


HEADS = (
    *("input", "results", "load s", "run s", "MB", "DuckDB s", "DuckDB MB", "run/DuckDB"),
    *("×2 results", "×2 run", "×2 DuckDB"),
)
LEGEND = """\
load: facts into Whence; run: the fixpoint; MB: peak memory of the process; run/DuckDB: below 1, Whence is faster;
×2: how many times as many results, as much time, the row has as the one above, at half its input."""


def seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def ratio(value: float | None, by: float | None) -> str:
    return f"{value / by:.2f}" if value and by else ""


def megabytes(run: Run | None) -> str:
    return f"{run.peak / 1e6:,.0f}" if run else ""


def run_seconds(run: Run | None) -> float | None:
    return run.run if run else None


def row(found: Measurement, before: Measurement | None) -> list[str]:
    ours, theirs = run_seconds(found.whence), run_seconds(found.duckdb)
    line = [
        f"{found.size:,}",
        f"{found.input:,}",
        f"{found.results:,}" if found.results is not None else "",
        seconds(found.whence.load if found.whence else None),
        seconds(ours),
        megabytes(found.whence),
        seconds(theirs),
        megabytes(found.duckdb),
        ratio(ours, theirs),
    ]
    if before is None or abs(found.size / before.size - 2) > 0.01:
        return [*line, "", "", ""]
    return [
        *line,
        ratio(found.results, before.results),
        ratio(ours, run_seconds(before.whence)),
        ratio(theirs, run_seconds(before.duckdb)),
    ]


def table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table, aligned so that it also reads well in a terminal."""
    widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
    rows = [heads, ["-" * (width - 1) + ":" for width in widths], *lines]
    return "\n".join(
        "| " + " | ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)) + " |" for cells in rows
    )


def workload_table(unit: str, found: Sequence[Measurement]) -> str:
    before: list[Measurement | None] = [None, *found[:-1]]
    return table([unit, *HEADS], [row(this, last) for this, last in zip(found, before, strict=True)])


def findings_table(findings: Sequence[Finding]) -> str:
    verdict = {True: "yes", False: "NO", None: ""}
    lines = [
        [f.name, f"{f.value:,.3g}" if f.value < 1000 else f"{f.value:,.0f}", f.unit, f.aim, verdict[f.met]]
        for f in findings
    ]
    return table(["", "measured", "", "aim", "met"], lines)


def as_json(machine: dict[str, str], measurements: Sequence[Measurement], findings: Sequence[Finding]) -> Json:
    return {
        "machine": machine,
        "measurements": [asdict(measurement) for measurement in measurements],
        "findings": [asdict(finding) for finding in findings],
    }
