"""`whence apply`: a change becomes the next epoch of a state, and its impact is shown."""

from __future__ import annotations

import argparse
import json
from heapq import nsmallest
from itertools import islice
from typing import TYPE_CHECKING, Any

from whence.cli.arguments import count, share
from whence.cli.engines import add_engine, engine_options
from whence.errors import WhenceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whence.lang import Program
    from whence.maintain.impact import Impact
    from whence.session import Session
    from whence.state import Applied

SHOWN = 5
SORTED = 100_000  # tuples that are put in order to show the first of them


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "apply",
        help="change the input or the rules of a state and bring its results up to date",
        description="Inserts and deletes input tuples and rules and brings all results up to date, as a new epoch of "
        "the state. If anything goes wrong the state stays as it is.",
    )
    parser.add_argument("state", metavar="STATE", help="a folder that `whence run --state` wrote")
    parser.add_argument(
        "changes",
        metavar="CHANGES",
        help="a file of lines `+ edge(1, 2).` and `- edge(2, 3).`, of facts, rules and declarations, or a folder with "
        "edge.insert.facts and edge.delete.facts",
    )
    add_update(parser)
    parser.add_argument(
        "-D", "--output", metavar="FOLDER", help="write the outputs of the program there (- is standard output)"
    )
    parser.add_argument(
        "--show", type=count, metavar="N", default=SHOWN, help=f"tuples of each kind (default: {SHOWN})"
    )
    parser.add_argument("--json", action="store_true", help="print the impact as JSON, all of it")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress, no warnings, no impact")
    add_engine(parser)
    parser.set_defaults(command=apply, verbose=False)


def add_update(parser: argparse.ArgumentParser) -> None:
    """The arguments that say how results are brought up to date."""
    parser.add_argument(
        "--strategy",
        choices=["elastic", "update", "bootstrap"],
        default="elastic",
        help="update what is affected, evaluate anew, or decide for each stratum (default: elastic)",
    )
    parser.add_argument(
        "--share", type=share, metavar="S", default=0.2, help="of Bootstrap's time, what Update may take (default: 0.2)"
    )
    parser.add_argument(
        "--lenient", action="store_true", help="ignore insertions of what is there and deletions of what is not"
    )


def apply(options: argparse.Namespace) -> int:
    from whence.changes import read_change
    from whence.cli.console import Console
    from whence.lang import compile_text
    from whence.state import apply_change, open_state
    from whence.store import Store

    console = Console(options.quiet)
    store = Store.open(options.state)
    program = compile_text(store.program_text(), store.latest.file)
    change = read_change(
        options.changes, program, options.lenient
    )  # what is wrong with it is told before anything is loaded
    if not change:
        raise WhenceError(f"{options.changes}: there is nothing to insert or delete in it")
    how = engine_options(options)
    with open_state(store, **how, warn=console.warn, announce=console.announce) as session:
        before = session.program
        with console.progress(session) as progress:
            applied = apply_change(
                session,
                change,
                strategy=options.strategy,
                share=options.share,
                lenient=options.lenient,
                progress=progress,
            )
        if options.output is not None:
            _write(session, options.output, applied.epoch)
        if options.json:
            print(json.dumps(applied.to_json()))
        elif not options.quiet:
            print("\n".join(described(applied, session.program, options.show, before)))
    return 0


def _write(session: Session, folder: str, epoch: int) -> None:
    try:
        session.write_outputs(folder)
    except WhenceError as error:
        raise WhenceError(f"{error} (epoch {epoch} is committed all the same)") from error


def described(applied: Applied, program: Program, shown: int, before: Program) -> list[str]:
    """The epoch as lines: its rules and its impact, relation by relation, then how it came about."""
    from whence.cli.text import time_text

    impact = applied.impact
    lines = [*rule_lines(applied.rules), *impact_lines(impact, program, shown, before)]
    lines.append(f"epoch {applied.epoch}: {impact.strategy}, {time_text(impact.seconds)}")
    for stratum in impact.strata:
        names = ", ".join(stratum.relations)
        lines.append(f"  {names}: {stratum.strategy}, {time_text(stratum.seconds)}: {stratum.reason}")
    if impact.ignored:
        ignored = (
            "1 change that changes nothing was"
            if impact.ignored == 1
            else f"{impact.ignored:,} changes that change nothing were"
        )
        lines.append(f"  {ignored} ignored")
    return lines


def rule_lines(rules: Mapping[str, Sequence[str]]) -> list[str]:
    """The rules and declarations that came and went."""
    from whence.cli.text import signed

    added, removed = rules.get("added", ()), rules.get("removed", ())
    if not added and not removed:
        return []
    texts = [(sign, " ".join(text.split())) for sign, side in (("-", removed), ("+", added)) for text in side]
    return [f"program {signed((len(added), len(removed)))}", *(f"  {sign} {text}" for sign, text in texts)]


def impact_lines(impact: Impact, program: Program, shown: int, before: Program) -> list[str]:
    """The impact, relation by relation; `before` has the relations that are no longer declared."""
    from whence.changes import tuple_text
    from whence.cli.text import signed
    from whence.results import in_order
    from whence.saving import impact_sizes

    sizes = impact_sizes(impact)
    lines = []
    for name, relation in {**program.relations, **before.relations}.items():
        if name not in sizes:
            continue
        types = program.types if name in program.relations else before.types
        lines.append(f"{name} {signed(sizes[name])}")
        for sign, side in (("-", impact.deleted), ("+", impact.inserted)):
            tuples = side.get(name, ())
            chosen = islice(tuples, shown) if len(tuples) > SORTED else nsmallest(shown, tuples, key=in_order)
            lines += [f"  {sign} {tuple_text(relation, values, types)}" for values in chosen]
            if len(tuples) > shown > 0:
                lines.append(f"  {sign} … {len(tuples) - shown:,} more")
    return lines or ["no tuple came or went"]
