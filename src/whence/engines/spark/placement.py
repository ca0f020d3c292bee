"""Where a stratum is evaluated, and why.

`driver`: its input is small; the kernel runs once, in this process. `decomposed`: it falls apart by the value of a
column; the kernel runs the whole fixpoint of each part in a task of its own. `exchanged`: anything else; joins of
DataFrames, iteration by iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from whence.lang.program import Aggregate, Call, Literal, Program, Record, Rule, Stratum, Term
from whence.plan.decompose import Decomposition, Refusal, decompose

from .options import Options, Place

HERE_ALREADY = 10  # times as many tuples stay where they are rather than being sent to Spark


@dataclass(frozen=True)
class Placement:
    place: Place
    reason: str
    decomposition: Decomposition | None = None


def place(
    stratum: Stratum,
    program: Program,
    rows: Callable[[str], int],
    lives_here: Callable[[str], bool],
    options: Options,
) -> Placement:
    """`rows` is the size of a relation that is not of this stratum, or of the input of one that is; `lives_here` says
    whether it is in the driver's process already."""
    forced = options.placement
    if numbers_symbols(stratum):
        return Placement("driver", "`ord` gives the number that a symbol has in one process")
    read = {*stratum.relations, *reads(stratum.rules)}
    total = sum(map(rows, read))
    if forced == "driver":
        return Placement("driver", "asked for")
    if forced is None and total <= options.driver_rows:
        return Placement("driver", f"its input is small: {total:,} tuples, of up to {options.driver_rows:,}")
    if forced is None and total <= HERE_ALREADY * options.driver_rows and all(map(lives_here, read)):
        return Placement("driver", f"its input, {total:,} tuples, is in the driver's process already")
    if forced == "exchanged":
        return Placement("exchanged", "asked for")
    if not stratum.recursive:
        return Placement("exchanged", f"it is not recursive and reads {total:,} tuples")
    found = decompose(stratum, program)
    if isinstance(found, Refusal):
        return Placement("exchanged", found.reason)
    sent = sum(map(rows, found.broadcast))
    if forced is None and sent > options.broadcast_rows:
        names = " and ".join(f"`{name}`" for name in found.broadcast)
        return Placement("exchanged", f"{names}, {sent:,} tuples, are too many to send to every task")
    columns = ", ".join(f"{program.relations[r].columns[c].name} of {r}" for r, c in found.columns.items())
    return Placement("decomposed", f"its rules carry {columns} unchanged", found)


def reads(rules: Sequence[Rule]) -> set[str]:
    """The relations that rules read."""
    return {name for rule in rules for name in _relations(rule.body)}


def _relations(body: Sequence[Literal]) -> set[str]:
    names: set[str] = set()
    for literal in body:
        if isinstance(literal, Aggregate):
            names |= _relations(literal.body)
        else:
            atom = getattr(literal, "atom", literal)
            if hasattr(atom, "relation"):
                names.add(atom.relation)
    return names


def numbers_symbols(stratum: Stratum) -> bool:
    """Whether rules use `ord`, which has a meaning in one process only."""
    return any(map(_numbers_symbols, stratum.rules))


def _numbers_symbols(rule: Rule) -> bool:
    return any(map(_has_ord, rule.head.args)) or _body_numbers(rule.body)


def _body_numbers(body: Sequence[Literal]) -> bool:
    for literal in body:
        if isinstance(literal, Aggregate):
            if _body_numbers(literal.body) or (literal.target is not None and _has_ord(literal.target)):
                return True
        elif any(map(_has_ord, (getattr(literal, side) for side in ("left", "right") if hasattr(literal, side)))):
            return True
    return False


def _has_ord(term: Term) -> bool:
    match term:
        case Call(functor, args):
            return functor == "ord" or any(map(_has_ord, args))
        case Record(_, fields):
            return any(map(_has_ord, fields))
    return False
