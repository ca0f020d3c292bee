"""Update (002 Alg. 8): bring a stratum to the state that Bootstrap would give it on changed input.

The terms of line 10 are those of `plan.update_versions`: deletion, insertion, re-discovery; the sparsification of line
11 and the sets of lines 14 and 15 are what `Revision.settle` does. Three things differ from the text, and the result
does not: iterations in which nothing changes are passed over; an instantiation is met once when a part of it changes,
not once in every later iteration; and deleted tuples are searched for once, when they are deleted, as what changes
later in the derivations that were found is followed like any other change. The loop ends when no change waits, so it
runs to the end of both epochs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from whence.lang.program import Stratum
from whence.maintain.attempt import Course
from whence.plan import Driven, RuleVersion, Search, Statistics, UpdateVersions, View, cost, planned
from whence.plan.steps import DELTAS
from whence.tables import Ahead, Progress, Revision, Silent

Plans = dict[tuple[int, int], RuleVersion]  # by the version's number and the size of what drives it
FEW = 256  # deleted tuples that are not worth dividing by variable
FEW_CHANGES = 8.0
SHORT = 4  # iterations after which those that follow are worth handing over


def update(
    stratum: Stratum,
    versions: UpdateVersions,
    revision: Revision,
    progress: Progress | None = None,
    plans: Plans | None = None,
    course: Course | None = None,
) -> tuple[int, int]:
    """Updates a stratum; says how many tuples it gained and lost.

    `plans` of earlier epochs are used and added to; `course` is kept up to say where it is.
    """
    progress = progress or Silent()
    revision.begin(stratum)
    course = course or Course()
    planning = Planning(revision, {} if plans is None else plans, course)
    for cause in versions.causes:
        driven = [d.version for d in cause.versions if revision.size(d.relation, d.view)]
        revision.collect(cause.name, cause.arity, map(planning.of, driven))
    course.driving = planning.driving([*versions.first_lost, *versions.first_gained])
    planning.derive(versions.first_lost, View.LOST)
    for version in versions.removed:
        revision.derive(planning.of(version), View.LOST)
    revision.take_effect()
    planning.derive(versions.first_gained, View.GAINED)
    for version in versions.added:
        revision.derive(planning.of(version), View.GAINED)
    planning.search(versions.recalls if revision.dense else versions.searches)
    changed = sum(revision.size(name, View.LOST) + revision.size(name, View.GAINED) for name in stratum.relations)
    progress.iteration(0, int(changed))
    searches = versions.recalls if revision.dense else [search for search in versions.searches if search.recursive]
    rounds = 0
    while (iteration := revision.settle()) is not None:
        planning.derive(versions.lost, View.LOST)
        revision.take_effect()
        planning.derive(versions.gained, View.GAINED)
        planning.search(searches)
        revision.watch()
        changed = sum(revision.size(name, View.LOST) + revision.size(name, View.GAINED) for name in stratum.relations)
        progress.iteration(iteration, int(changed))
        rounds += 1
        if rounds >= SHORT:
            iteration, changed = revision.run_ahead(lambda: planning.ahead(versions.lost, versions.gained, searches))
            if iteration:
                progress.iteration(iteration, int(changed))
    return revision.end()


@dataclass(frozen=True)
class FewChanges:
    """What is known of the relations, if few of their tuples are to change."""

    known: Statistics

    def size(self, relation: str, view: View) -> float:
        return FEW_CHANGES if view in DELTAS else self.known.size(relation, view)

    def distinct(self, relation: str, columns: tuple[int, ...]) -> float:
        return self.known.distinct(relation, columns)


class Planning:
    """Plans of versions, made when they are first needed and again when what drives them has become much larger."""

    def __init__(self, revision: Revision, plans: Plans, course: Course) -> None:
        self.revision = revision
        self.plans = plans
        self.course = course

    def of(self, version: RuleVersion, driving: float = 0) -> RuleVersion:
        key = (id(version), int(driving).bit_length() // 3)
        if key not in self.plans:
            self.plans[key] = planned(version, self.revision)
        return self.plans[key]

    def driving(self, versions: Iterable[Driven]) -> float:
        """How many tuples there are that drive versions."""
        return sum(self.revision.size(driven.relation, driven.view) for driven in versions)

    def derive(self, versions: Iterable[Driven], sign: View) -> None:
        for driven in versions:
            driving = self.revision.size(driven.relation, driven.view)
            if driving:
                self.course.drive(driving)
                self.revision.derive(self.of(driven.version, driving), sign)

    def ahead(self, lost: Iterable[Driven], gained: Iterable[Driven], searches: Iterable[Search]) -> Ahead:
        """Plans for iterations in which few tuples change."""
        few = FewChanges(self.revision)
        found = []
        for search in searches:
            (sieve,), version = search.ways[0]
            self.revision.sift(sieve)
            found.append((search, planned(version, few)))
        return Ahead(
            [(driven, planned(driven.version, few)) for driven in lost],
            [(driven, planned(driven.version, few)) for driven in gained],
            found,
        )

    def search(self, searches: Iterable[Search]) -> None:
        for search in searches:
            missing = self.revision.size(search.relation, View.MISSING)
            if missing:
                self.course.drive(missing)
                self.revision.derive(self.way(search, missing), View.MISSING)

    def way(self, search: Search, missing: float) -> RuleVersion:
        """The cheapest way; dividing is not tried for few tuples."""
        ways = search.ways if missing > FEW else search.ways[:1]
        for sieves, _ in ways:
            for sieve in sieves:
                self.revision.sift(sieve)
        plans = [self.of(version, missing) for _, version in ways]
        return min(plans, key=lambda plan: cost(plan, self.revision)) if len(plans) > 1 else plans[0]
