"""A picture of a run's epochs: above, the time of each, coloured by its strategy; below, its impact."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from whence.engines.local.replacing import replacing
from whence.errors import WhenceError
from whence.history import Entry

FORMATS = (".svg", ".png")
# Colours that are told apart with any kind of sight (Okabe and Ito).
COLOURS = {"bootstrap": "#d55e00", "update": "#0072b2", "mixed": "#cc79a7", "dense": "#009e73"}
OTHER = "#777777"
INSERTED, DELETED = "#5b8c5a", "#9a4c68"
INCHES_AN_EPOCH, LEAST_WIDTH, MOST_WIDTH = 0.35, 6.5, 16.0
LABELLED = 40  # epochs whose times are written beside their marks


def draw(entries: Sequence[Entry], path: str | os.PathLike[str], title: str) -> None:
    """Writes the picture, as its name says, and replaces what is there."""
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise WhenceError(f"{os.fspath(path)}: a chart is a .svg or .png file")
    if not entries:
        raise WhenceError("there is no epoch to draw yet")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # Text stays text in an SVG, and the same epochs give the same file.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "whence", "font.size": 9.0}):
        width = min(MOST_WIDTH, max(LEAST_WIDTH, 1.5 + INCHES_AN_EPOCH * len(entries)))
        figure = Figure(figsize=(width, 5.0), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        places = range(len(entries))
        _times(above, entries, places)
        _impacts(below, entries, places)
        above.set_title(title, loc="left", fontweight="bold")
        step = max(1, len(entries) // 25)
        below.set_xticks(places[::step], [str(entry.epoch) for entry in entries[::step]])
        below.set_xlim(-0.7, len(entries) - 0.3)
        below.set_xlabel("epoch")
        try:
            with replacing() as files, files.open(path) as stream:
                metadata = {"Date": None} if ending == ".svg" else {}
                figure.savefig(stream, format=ending[1:], dpi=150, metadata=metadata)
        except OSError as error:
            raise WhenceError(f"{os.fspath(path)}: the chart cannot be written: {error.strerror or error}") from None


def _times(axes: Any, entries: Sequence[Entry], places: range) -> None:
    """A logarithmic scale: an update may take a thousandth of a bootstrap, and both should be seen."""
    timed = [(place, entry, entry.seconds) for place, entry in zip(places, entries, strict=True) if entry.seconds]
    least = min((seconds for *_, seconds in timed), default=1.0) / 3
    for strategy in dict.fromkeys(entry.strategy for _, entry, _ in timed):
        own = [(place, seconds) for place, entry, seconds in timed if entry.strategy == strategy]
        colour = COLOURS.get(strategy or "", OTHER)
        axes.vlines([place for place, _ in own], least, [seconds for _, seconds in own], color=colour, alpha=0.5)
        axes.plot(*zip(*own, strict=True), "o", color=colour, label=strategy or "not told")
    if len(timed) <= LABELLED:
        for place, _, seconds in timed:
            text = f"{seconds:.2g} s" if seconds >= 1 else f"{seconds * 1000:.2g} ms"
            axes.annotate(text, (place, seconds), (0, 6), textcoords="offset points", ha="center", fontsize=7)
    axes.set_yscale("log")
    axes.set_ylim(bottom=least, top=max((seconds for *_, seconds in timed), default=1.0) * 3)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g} s" if value >= 1 else f"{value * 1000:.10g} ms")
    axes.yaxis.set_minor_formatter("")
    axes.set_ylabel("time")
    axes.grid(axis="y", alpha=0.3)
    if timed:
        _legend(axes)


def _impacts(axes: Any, entries: Sequence[Entry], places: range) -> None:
    inserted, deleted = zip(*(entry.affected for entry in entries), strict=True)
    axes.bar(places, inserted, width=0.7, color=INSERTED, label="inserted")
    axes.bar(places, [-count for count in deleted], width=0.7, color=DELETED, label="deleted")
    axes.axhline(0, color="black", linewidth=0.6)
    largest = max(*inserted, *deleted, 1)
    # Logarithmic in both directions from 0: a tuple more or less should be seen beside a hundred thousand.
    axes.set_yscale("function", functions=(_both_ways, _back))
    digits = len(str(largest))
    powers = range(min(1, digits - 1), digits, 1 + digits // 4)  # where there are tens, 1 would be written over 0
    ticks = [10**power for power in powers]
    ends = [end * 2 for end in (max(deleted) if any(deleted) else 0.2, max(inserted) if any(inserted) else 0.2)]
    axes.set_yticks([*(-tick for tick in ticks if tick <= ends[0]), 0, *(tick for tick in ticks if tick <= ends[1])])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:+,.0f}" if value else "0")
    axes.minorticks_off()
    axes.set_ylim(-ends[0], ends[1])
    axes.set_ylabel("impact (tuples)")
    axes.grid(axis="y", alpha=0.3)
    _legend(axes)


def _legend(axes: Any) -> None:
    """Above the axes, where no mark is."""
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=5, frameon=False, borderaxespad=0.1)


def _both_ways(values: Any) -> Any:
    return np.sign(values) * np.log10(1 + np.abs(values))


def _back(values: Any) -> Any:
    return np.sign(values) * (10 ** np.abs(values) - 1)
