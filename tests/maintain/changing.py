"""Random changes of a random program's facts, and what a session's state is after each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

import whence
from oracle.evaluate import Model
from oracle.generate import tuples
from oracle.render import render
from oracle.rules import Program, Tuple


@dataclass(frozen=True)
class Step:
    """A change, and the program with the facts that it leaves."""

    insert: dict[str, list[Tuple]]
    delete: dict[str, list[Tuple]]
    program: Program


def steps(program: Program, random: Random, count: int, share: float = 0.3) -> Iterator[Step]:
    """Changes of some relations that hold facts; at times everything goes, or nothing changes."""
    for _ in range(count):
        insert: dict[str, list[Tuple]] = {}
        delete: dict[str, list[Tuple]] = {}
        facts = dict(program.facts)
        for name in program.facts:
            if random.random() < 0.3:
                continue
            there = list(dict.fromkeys(facts[name]))
            part = random.choice((0.0, share, share, 1.0))
            gone = [row for row in there if random.random() < part]
            more = [row for row in dict.fromkeys(tuples(random, program.relations[name])) if row not in there]
            come = [row for row in more if random.random() < share]
            delete |= {name: gone} if gone else {}
            insert |= {name: come} if come else {}
            facts[name] = tuple(row for row in there if row not in gone) + tuple(come)
        program = replace(program, facts=facts)
        yield Step(insert, delete, program)


def opened(program: Program, **options: object) -> whence.Session:
    """A session on a program that has been run, its facts loaded as tuples."""
    session = whence.open(text=with_inputs(program), **options)  # type: ignore[arg-type]
    session.load(**{name: list(rows) for name, rows in program.facts.items()})
    session.run()
    return session


def with_inputs(program: Program) -> str:
    return render(program, facts_of=set()) + "".join(f"\n.input {name}" for name in program.facts) + "\n"


def state(session: whence.Session) -> Model:
    return {
        name: {row: (iteration, count) for row, iteration, count in session[name].tuples(annotated=True)}
        for name in session
    }
