"""`whence plan`: how a program's rules would be evaluated."""

from __future__ import annotations

import argparse
from typing import Any

from whence.cli.run import add_program


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "plan",
        help="show in which order and by which steps rules are evaluated",
        description="Shows each rule version with its steps. With -F, orders follow the sizes of the facts there, "
        "and the program is evaluated so that the sizes of derived relations are known too.",
    )
    add_program(parser)
    parser.add_argument("--json", action="store_true", help="the same as JSON")
    parser.set_defaults(command=plan, facts=None)


def plan(options: argparse.Namespace) -> int:
    from whence.cli.console import Console
    from whence.lang import load
    from whence.plan import Assumed, Statistics, describe, first_versions, later_versions, planned

    console = Console(quiet=False, verbose=False)
    program = load(options.program, warn=console.warn)
    statistics: Statistics = Assumed()
    if options.facts is not None:
        from whence.session import open as open_session

        session = open_session(program, warn=console.warn, announce=console.announce)
        session.read_inputs(options.facts)
        with console.progress(session) as progress:
            session.run(progress)
        statistics = session.statistics
    strata = []
    for stratum in program.strata:
        if stratum.rules:
            parts = {
                "first iteration": first_versions(stratum),
                "later iterations": later_versions(stratum) if stratum.recursive else (),
            }
            described = {when: [describe(planned(v, statistics)) for v in versions] for when, versions in parts.items()}
            strata.append({"relations": list(stratum.relations), **described})
    if options.json:
        import json

        print(json.dumps(strata))
        return 0
    for number, stratum_plan in enumerate(strata, 1):
        print(f"{'' if number == 1 else chr(10)}stratum {number}: {', '.join(stratum_plan['relations'])}")
        for when in ("first iteration", "later iterations"):
            if stratum_plan[when]:
                print(f"\n{when}")
            for text in stratum_plan[when]:
                print("\n" + "\n".join("  " + line for line in text.splitlines()))
    return 0
