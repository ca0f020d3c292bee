"""What of Soufflé's dialect Whence does not take yet, and what to write instead. Each is told once in a program."""

from __future__ import annotations

from whence.lang.diagnostics import Report

NOT_YET: dict[str, tuple[str, str]] = {
    "algebraic types": (
        "algebraic data types are",
        "use a record with a field that tells the branches apart",
    ),
    "autoinc": ("counters (`autoinc()` and `$`) are", "number the facts before they are read"),
    "choice-domain": ("choice domains (`choice-domain`) are", "choose with `min` or `max`"),
    "component": ("components are", "write out the relations and rules of each `.init`"),
    "debug_delta": ("`debug_delta` is", "remove the declaration"),
    "eqrel": (
        "equivalence relations (`eqrel`) are",
        "write the rules: `r(y, x) :- r(x, y).` and `r(x, z) :- r(x, y), r(y, z).`",
    ),
    "fold": ("`fold` is", "use one of count, sum, min, max, mean"),
    "functor": ("user-defined functors are", "compute the values before, and read them as a relation"),
    "include": ("`.include` and `.once` are", "put the text of the file in this one"),
    "iteration": ("`__ITERATION__` is", "count in a column of the relation"),
    "lattice": ("lattices are", "aggregate in a relation of its own"),
    "place": ("`__FILE__`, `__LINE__` and `__INCL__` are", "write the value itself"),
    "preprocessor": ("lines for the C preprocessor are", "run it first: `cpp -P program.dl`"),
    "range": ("`range` is", "list the values as facts, or count up in a recursive rule"),
    "subsumption": ("subsumptive rules (`<=` between heads) are", "choose with `min` or `max`"),
}
# A text that needs these is not all there: what seems to be missing may be in the rest.
OTHER_TEXT = frozenset(["include", "preprocessor"])


def not_yet(report: Report, feature: str, start: int, end: int) -> None:
    if feature not in report.not_yet:
        report.not_yet.add(feature)
        what, hint = NOT_YET[feature]
        report.error(start, end, f"{what} not supported yet", hint)
