"""`whence chart`: a picture of the epochs of a state."""

from __future__ import annotations

import argparse
from typing import Any


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "chart",
        help="draw the epochs of a state: time by strategy, impact",
        description="Draws how long each epoch took, by which strategy, and how many tuples it inserted and deleted.",
    )
    parser.add_argument("state", metavar="STATE", help="a folder that `whence run --state` wrote")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the picture: a .svg or .png file")
    parser.add_argument("--title", help="(default: the name of the program)")
    parser.set_defaults(command=chart)


def chart(options: argparse.Namespace) -> int:
    from whence.chart import draw
    from whence.history import entries
    from whence.store import Store

    store = Store.open(options.state)
    draw(entries(store.epochs), options.output, options.title or store.latest.file)
    return 0
