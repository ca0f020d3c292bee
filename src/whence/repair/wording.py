"""A repair in words for somebody who knows the facts and not the rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whence.repair.repairing import Answer, Repair

LISTED = 10  # faults that are named


def repair_text(repair: Repair) -> str:
    return "\n".join(_lines(repair))


def _lines(repair: Repair) -> Iterator[str]:
    for what, tuples in (("unwanted", repair.unwanted), ("missing", repair.missing)):
        if tuples:
            yield f"{what}:"
            yield from (f"  {text}" for text in tuples[:LISTED])
            if len(tuples) > LISTED:
                yield f"  … {len(tuples) - LISTED:,} more"
    for note in repair.faults.notes:
        yield f"note: {note}"
    faults = "fault" if len(repair.faults.keys) == 1 else "faults"
    suggestions, cause = repair.suggestions, repair.localisation
    yield ""
    if len(suggestions) == 1 and set(suggestions[0].parts) == set(cause.parts):
        yield f"This part of the change brings the {faults} about, and without it there {_is(faults)} none:"
        yield from _parts(suggestions[0])
        yield _how(suggestions[0], "with it alone, and without it")
        return
    several = len(suggestions) > 1
    for number, answer in enumerate(suggestions, 1):
        yield (
            f"{number}. Leave this out of the change:"
            if several
            else f"To be rid of the {faults}, leave this out of the change:"
        )
        yield from _parts(answer)
        yield _how(answer, "the change without it")
    yield ""
    yield f"What brought the {faults} about:"
    yield from _parts(cause)
    yield _how(cause, "the change with it alone")


def _is(faults: str) -> str:
    return "is" if faults == "fault" else "are"


def _parts(answer: Answer) -> Sequence[str]:
    return [f"  {text}" for text in answer.tuples]


def _how(answer: Answer, tried: str) -> str:
    parts = "1 part" if answer.of == 1 else f"{answer.of:,} parts"
    proved = "no smaller answer exists" if answer.smallest else f"not proved to be the smallest: {answer.reason}"
    return f"({len(answer):,} of {parts}; verified: {tried}; {proved})"
