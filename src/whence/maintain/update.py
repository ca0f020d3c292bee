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

from whence.lang.program import Stratum
from whence.plan import Driven, RuleVersion, Search, UpdateVersions, View, cost, planned
from whence.tables import Progress, Revision, Silent

Plans = dict[tuple[int, int], RuleVersion]  # by the version's number and the size of what drives it
FEW = 64  # deleted tuples that are not worth dividing by variable


def update(
    stratum: Stratum,
    versions: UpdateVersions,
    revision: Revision,
    progress: Progress | None = None,
    plans: Plans | None = None,
) -> tuple[int, int]:
    """Updates a stratum; says how many tuples it gained and lost. `plans` of earlier epochs are used and added to."""
    progress = progress or Silent()
    revision.begin(stratum)
    planning = Planning(revision, {} if plans is None else plans)
    for cause in versions.causes:
        driven = [d.version for d in cause.versions if revision.size(d.relation, d.view)]
        revision.collect(cause.name, cause.arity, map(planning.of, driven))
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
    while (iteration := revision.settle()) is not None:
        planning.derive(versions.lost, View.LOST)
        revision.take_effect()
        planning.derive(versions.gained, View.GAINED)
        planning.search(searches)
        revision.watch()
        changed = sum(revision.size(name, View.LOST) + revision.size(name, View.GAINED) for name in stratum.relations)
        progress.iteration(iteration, int(changed))
    return revision.end()


class Planning:
    """Plans of versions, made when they are first needed and again when what drives them has become much larger."""

    def __init__(self, revision: Revision, plans: Plans) -> None:
        self.revision = revision
        self.plans = plans

    def of(self, version: RuleVersion, driving: float = 0) -> RuleVersion:
        key = (id(version), int(driving).bit_length() // 3)
        if key not in self.plans:
            self.plans[key] = planned(version, self.revision)
        return self.plans[key]

    def derive(self, versions: Iterable[Driven], sign: View) -> None:
        for driven in versions:
            driving = self.revision.size(driven.relation, driven.view)
            if driving:
                self.revision.derive(self.of(driven.version, driving), sign)

    def search(self, searches: Iterable[Search]) -> None:
        for search in searches:
            missing = self.revision.size(search.relation, View.MISSING)
            if missing:
                self.revision.derive(self.way(search, missing), View.MISSING)

    def way(self, search: Search, missing: float) -> RuleVersion:
        """The cheapest way; dividing is not tried for few tuples."""
        ways = search.ways if missing > FEW else search.ways[:1]
        for sieves, _ in ways:
            for sieve in sieves:
                self.revision.sift(sieve)
        plans = [self.of(version, missing) for _, version in ways]
        return min(plans, key=lambda plan: cost(plan, self.revision)) if len(plans) > 1 else plans[0]
