"""`whence log` and `whence undo`: the epochs of a state, and taking the last one back."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from whence.cli.arguments import positive

if TYPE_CHECKING:
    from whence.history import Entry


def add_to(commands: Any) -> None:
    parser = commands.add_parser("log", help="list the epochs of a state", description="Lists the epochs of a state.")
    parser.add_argument("state", metavar="STATE", help="a folder that `whence run --state` wrote")
    parser.add_argument("-n", "--last", type=positive, metavar="N", help="the last N only")
    parser.add_argument("--json", action="store_true", help="the same as JSON, with each relation and stratum")
    parser.set_defaults(command=log)
    parser = commands.add_parser(
        "undo",
        help="drop the last epoch of a state",
        description="Drops the last epoch of a state; the one before it is the last again.",
    )
    parser.add_argument("state", metavar="STATE", help="a folder that `whence run --state` wrote")
    parser.add_argument("--json", action="store_true", help="say what was done as JSON")
    parser.set_defaults(command=undo)


def log(options: argparse.Namespace) -> int:
    from whence.cli.text import columns, signed, time_text
    from whence.history import entry
    from whence.store import Store

    store = Store.open(options.state)
    numbers = store.numbers[-options.last :] if options.last else store.numbers
    found = [entry(store.epoch(number)) for number in numbers]
    if options.json:
        print(json.dumps([one.to_json() for one in found]))
        return 0
    rows = [("epoch", "committed", "change", "impact", "tuples", "strategy", "time")]
    rows += [
        (
            str(one.epoch),
            one.committed.astimezone().strftime("%Y-%m-%d %H:%M:%S"),
            ", ".join(_changes(one)),
            signed(one.affected) if one.change or one.impact or any(one.rules) else "",
            f"{one.tuples:,}",
            one.strategy or "",
            time_text(one.seconds),
        )
        for one in found
    ]
    print("\n".join(columns(rows, right=(0, 4, 6))))
    return 0


def _changes(one: Entry) -> list[str]:
    from whence.cli.text import signed

    changes = [signed(one.changed)] if one.change else []
    if any(one.rules):
        changes.append("program " + signed((len(one.rules[0]), len(one.rules[1]))))
    return changes


def undo(options: argparse.Namespace) -> int:
    from whence.store import Store

    store = Store.open(options.state)
    dropped = store.latest.number
    now = store.undo()
    if options.json:
        print(json.dumps({"undone": dropped, "epoch": now.number}))
    else:
        print(f"epoch {dropped} is undone; the last one is epoch {now.number} again")
    return 0
