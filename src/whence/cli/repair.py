"""`whence repair`: which part of a change caused a wrong result, and what to leave out of it."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from whence.cli.arguments import count, positive, seconds

if TYPE_CHECKING:
    from whence.repair import Repair
    from whence.session import Session


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "repair",
        help="say which part of a change caused a wrong result, and what to leave out",
        description="Compares two epochs of a state and names the smallest part of the change between them to leave "
        "out so that unwanted tuples go and missing ones come back. What it says, it has tried.",
    )
    parser.add_argument("state", metavar="STATE", help="a folder that `whence run --state` wrote")
    parser.add_argument(
        "--unwanted",
        action="append",
        default=[],
        metavar="TUPLE",
        help="a tuple that came with the change and should not, or a pattern such as 'alias(X, \"sec\")'; repeatable",
    )
    parser.add_argument(
        "--missing",
        action="append",
        default=[],
        metavar="TUPLE",
        help="one that went with it and should not; repeatable",
    )
    parser.add_argument("--epoch", type=count, metavar="N", help="the epoch with the faults (default: the last)")
    parser.add_argument("--since", type=count, metavar="N", help="the epoch without (default: the one before)")
    parser.add_argument(
        "--keep", action="append", default=[], metavar="PART", help="a part of the change that the answer has to have"
    )
    parser.add_argument(
        "--reject", action="append", default=[], metavar="PART", help="one that the answer must not have; repeatable"
    )
    parser.add_argument("--answers", type=positive, default=1, metavar="N", help="up to N answers of the same size")
    parser.add_argument("--time-limit", type=seconds, metavar="SECONDS", help="take the best answer found by then")
    parser.add_argument("--why", action="store_true", help="show how each fault came about, by which rules")
    parser.add_argument("--apply", action="store_true", help="make the repaired epoch, by the first answer")
    parser.add_argument("--json", action="store_true", help="the answers as JSON")
    parser.set_defaults(command=repair)


def repair(options: argparse.Namespace) -> int:
    from whence.cli.console import Console
    from whence.errors import WhenceError
    from whence.state import open_state
    from whence.store import Store

    console = Console(quiet=False)
    store = Store.open(options.state)
    if options.apply and options.epoch not in (None, store.latest.number):
        raise WhenceError(f"only the last epoch can be repaired: epoch {store.latest.number}")
    if not options.unwanted and not options.missing:
        raise WhenceError("say what is wrong: --unwanted TUPLE, or --missing TUPLE")
    with open_state(store, options.epoch, warn=console.warn, announce=console.announce) as session:
        found = session.repair(
            options.unwanted,
            options.missing,
            since=options.since,
            keep=options.keep,
            reject=options.reject,
            answers=options.answers,
            seconds=options.time_limit,
        )
        proofs = found.why() if options.why else {}
        told = found.to_json() | ({"why": proofs} if options.why else {})
        text = found.text()
        made = _applied(session, found) if options.apply else None
    if options.json:
        print(json.dumps(told | ({} if made is None else {"applied": made}), ensure_ascii=False))
        return 0
    print(text)
    for fault, proof in proofs.items():
        print(
            f"\nhow {fault} {'came about' if fault in found.unwanted else 'came about before the change'}:\n\n{proof}"
        )
    if made is not None:
        print(f"\nepoch {made} is the repaired one")
    return 0


def _applied(session: Session, found: Repair) -> int:
    """The number of the repaired epoch."""
    from whence.state import apply_change

    return apply_change(session, found.suggestion.undoing(session.program)).epoch
