"""`whence query`: ask a state a question."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from whence.cli.arguments import count


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "query",
        help="ask a state for tuples",
        description="Prints the tuples of a state that match an atom such as 'path(1, X)', or the values of the "
        "variables of a body such as 'path(1, X), !edge(1, X), X > 3'.",
    )
    parser.add_argument("state", metavar="STATE", help="a folder that `whence run --state` wrote")
    parser.add_argument("query", metavar="QUERY", help="an atom or a body, in the language of rules")
    parser.add_argument("--epoch", type=count, metavar="N", help="ask that epoch (default: the last)")
    parser.add_argument("--limit", type=count, metavar="N", help="print the first N only")
    parser.add_argument("--json", action="store_true", help='as {"columns": […], "tuples": [[…], …]}')
    parser.set_defaults(command=query)


def query(options: argparse.Namespace) -> int:
    from whence.cli.console import Console
    from whence.cli.text import shown
    from whence.queries import query as ask

    answer = ask(
        options.state, options.query, options.epoch, limit=options.limit, announce=Console(quiet=False).announce
    )
    if options.json:
        print(json.dumps(answer.to_json()))
        return 0
    for values in answer.tuples:
        print("\t".join(map(shown, values)) if values else "()")
    if answer.found > len(answer.tuples):
        print(f"{answer.found - len(answer.tuples):,} more", file=sys.stderr)
    return 0
