"""Bootstrap (002 Alg. 7): evaluate a program from its input, stratum by stratum, iteration by iteration.

What it leaves is the sequence N#: for each tuple the first iteration of its stratum that derives it, and the number of
its derivations there.
"""

from __future__ import annotations

from collections.abc import Mapping

from whence.lang.program import Program, Stratum
from whence.maintain.pace import Pace, Pacing
from whence.plan import RuleVersion, View, first_versions, later_versions, planned
from whence.tables import Lost, Progress, Silent, Tables

ATTEMPTS = 4  # at a stratum, when machines are lost


def bootstrap(program: Program, tables: Tables, progress: Progress | None = None) -> dict[tuple[str, ...], Pace]:
    """Evaluates all strata; returns how each went."""
    pacing = Pacing(progress or Silent())
    limits = limits_of(program)
    paces: dict[tuple[str, ...], Pace] = {}
    strata = [stratum for stratum in program.strata if stratum.rules]
    for number, stratum in enumerate(strata, 1):
        for attempt in range(1, ATTEMPTS + 1):
            pacing.stratum(number, len(strata), stratum)
            try:
                if not tables.solve(stratum, pacing):
                    tables.begin(stratum)
                    evaluate(stratum, tables, limits, pacing)
                    tables.end()
                break
            except Lost:
                if attempt == ATTEMPTS:
                    raise
        paces[stratum.relations] = pacing.end()
    return paces


def limits_of(program: Program) -> dict[str, int]:
    """The most tuples that relations with a `.limitsize` may have."""
    return {d.relation: int(d.parameters["n"]) for d in program.directives_of("limitsize")}


def evaluate(
    stratum: Stratum, tables: Tables, limits: Mapping[str, int] | None = None, progress: Progress | None = None
) -> None:
    """The iterations of a stratum that was begun, until one derives nothing new."""
    limits, progress = limits or {}, progress or Silent()
    for version in first_versions(stratum):
        tables.derive(planned(version, tables))
    new = tables.advance()
    progress.iteration(1, new)
    later = [(version, version.atoms[version.views.index(View.NEW)].relation) for version in later_versions(stratum)]
    plans: dict[int, RuleVersion] = {}
    iteration = 1
    while new and later and not _full(stratum, tables, limits):
        if iteration & (iteration - 1) == 0:
            plans.clear()  # sizes are looked at again whenever the number of iterations has doubled
        iteration += 1
        for i, (version, delta) in enumerate(later):
            if tables.size(delta, View.NEW):
                if i not in plans:
                    plans[i] = planned(version, tables)
                tables.derive(plans[i])
        new = tables.advance()
        progress.iteration(iteration, new)


def _full(stratum: Stratum, tables: Tables, limits: Mapping[str, int]) -> bool:
    return any(name in limits and tables.size(name, View.ALL) >= limits[name] for name in stratum.relations)
