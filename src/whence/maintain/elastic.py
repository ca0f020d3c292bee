"""The elastic controller: for each stratum that a change reaches, Update or Bootstrap, and why.

Update is tried as long as it costs less than a share of what Bootstrap of the stratum last took; then its work is
dropped (000, section 4). Beyond the paper, each stratum is decided by itself, so that a heavy one does not throw away
the cheap ones; and what Updates cost in earlier epochs, by the size of their change, predicts what this one will. One
that would take longer than Bootstrap is not tried; one that would not may take its time, whatever the share. Where an
Update was given up, how far it had come tells what it would have cost. A prediction that keeps an Update from being
tried fades, so that it will be tried again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

from whence.errors import WhenceError
from whence.lang.program import Program, Stratum, read_by
from whence.maintain.bootstrap import evaluate, limits_of
from whence.maintain.impact import StratumReport
from whence.maintain.transition import Rules, Transition
from whence.maintain.update import Plans, update
from whence.plan import UpdateVersions, View, update_versions
from whence.tables import Progress, Refused, Revision, Silent, Tables, Uncountable

STRATEGIES = ("elastic", "update", "bootstrap")
SHARE = 0.2
ALWAYS = 0.02  # seconds that an Update may take in any case
UNKNOWN = 3e-7  # seconds a tuple that Bootstrap is taken to need where it was never measured
AMPLIFIED = 3.0  # how much more a changed tuple is taken to cost than one that is read by Bootstrap, before it is known
RECENT = 0.5  # the weight of the last Update in what is learned
FADING = 0.7
TRUSTED = 0.8  # the share that an Update may cost where one of a change as large was the better choice
LATE = 4.0  # how much more than expected an Update may take
NO_RULES = Rules()


@dataclass(frozen=True)
class Policy:
    """How an update is to be done. `strategy` is `elastic`, or `update` or `bootstrap` for every stratum.

    `share` of what Bootstrap took is what an Update may cost; `lenient` ignores changes that change nothing.
    """

    strategy: str = "elastic"
    share: float = SHARE
    lenient: bool = False

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise WhenceError(f"there is no strategy {self.strategy!r}; the strategies are: {', '.join(STRATEGIES)}")
        if not self.share > 0:
            raise WhenceError(f"the share of Bootstrap that an Update may cost is more than 0, not {self.share}")


class GaveUp(Exception):
    """The Update has cost more than it may."""


@dataclass
class Learned:
    """Of a stratum: seconds of its last Bootstrap, and seconds an Update takes for each tuple that has changed.

    `sure` says that the latter was seen, and not only hoped for; `worked` is the size of a change for which Update was
    the better choice, 0 if it was not lately.
    """

    bootstrap: float | None = None
    changed: float | None = None
    sure: bool = False
    worked: int = 0


class Controller:
    """What maintains the strata of a program, and what it has learned of them.

    `rules` are those that come and go in the epoch under way, by the relations of their stratum.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.limits = limits_of(program)
        self.learned: dict[tuple[str, ...], Learned] = {}
        self._versions: dict[tuple[str, ...], tuple[UpdateVersions, Plans]] = {}
        self._reads = {s.relations: tuple(dict.fromkeys((*s.relations, *read_by(s)))) for s in program.strata}
        self.rules: Mapping[tuple[str, ...], Rules] = {}

    def through(self, transition: Transition) -> Controller:
        """The one that maintains an epoch in which rules change."""
        controller = self.of(transition.program)
        controller.rules = transition.rules
        return controller

    def of(self, program: Program) -> Controller:
        """The one of another program, which knows what this one has learned."""
        controller = Controller(program)
        controller.learned = self.learned
        before = {stratum.relations: stratum.rules for stratum in self.program.strata}
        for stratum in program.strata:
            relations = stratum.relations
            if relations in self._versions and before[relations] == stratum.rules:
                controller._versions[relations] = self._versions[relations]
        return controller

    def bootstrapped(self, seconds: Mapping[tuple[str, ...], float]) -> None:
        for relations, taken in seconds.items():
            self._of(relations).bootstrap = taken

    def revise(self, revision: Revision, policy: Policy, progress: Progress | None = None) -> tuple[StratumReport, ...]:
        """Brings every stratum that the change reaches up to date; the revision is not committed yet."""
        progress = progress or Silent()
        reached = [s for s in self.program.strata if s.rules or s.relations in self.rules]
        reports = []
        for stratum in self.program.strata:
            changed = sum(map(revision.changed, self._reads[stratum.relations]))
            if not changed and stratum.relations not in self.rules:
                continue
            if not stratum.rules and stratum.relations not in self.rules:
                revision.apply(stratum)
                continue
            progress.stratum(reached.index(stratum) + 1, len(reached), stratum)
            reports.append(self._maintain(stratum, changed, revision, policy, progress))
        return tuple(reports)

    def _maintain(
        self, stratum: Stratum, changed: int, revision: Revision, policy: Policy, progress: Progress
    ) -> StratumReport:
        started = perf_counter()
        known = self._of(stratum.relations)
        rules = self.rules.get(stratum.relations, NO_RULES)
        limited = [name for name in stratum.relations if name in self.limits]
        budget = float("inf")
        if limited:
            reason = f"{limited[0]} has a .limitsize, which has no incremental form"
        elif rules.anew:
            reason = rules.anew
        elif policy.strategy == "bootstrap":
            reason = "as asked"
        else:
            whole = known.bootstrap or self._guess(stratum, revision)
            reason = "as asked"
            if policy.strategy == "elastic":
                expected = self._expected(stratum, changed, whole, revision)
                tuples = "1 changed tuple" if changed == 1 else f"{changed:,} changed tuples"
                reason = f"{tuples}: expected to take {_time(expected)}, Bootstrap {_time(whole)}"
                if rules:
                    reason = f"{rules}: Bootstrap is expected to take {_time(whole)}"
                    kept = stratum.rules and any(revision.size(name, View.ALL) for name in stratum.relations)
                    if not kept:
                        reason = f"{rules}: nothing is kept"
                        return self._bootstrap(stratum, revision, started, reason, False, progress)
                if expected > max(whole, ALWAYS):
                    if known.changed is not None:
                        known.changed, known.sure = FADING * known.changed, False
                    ready = self._stays(known, changed, rules)
                    return self._bootstrap(stratum, revision, started, reason, ready, progress)
                budget = _budget(known, changed, whole, expected, policy.share)
                if rules:  # what is known is of facts
                    budget = max(policy.share * whole, ALWAYS)
            try:
                progress.placed("update", reason)
                return self._update(stratum, changed, revision, started, budget, reason, progress)
            except GaveUp:
                spent = perf_counter() - started
                done = revision.drop()
                reason = f"Update was given up after {_time(spent)}; Bootstrap took {_time(whole)}"
                ready = self._stays(known, changed, rules)
                report = self._bootstrap(stratum, revision, started, reason, ready, progress)
                if not rules:  # what a rule costs tells nothing of facts
                    times_more = max(1.0, (report.inserted + report.deleted) / max(1, done))
                    self._learn(known, spent * times_more / changed)
                return report
            except Uncountable:
                revision.drop()
                reason = "a tuple has more derivations than are counted"
            except Refused as refusal:
                revision.drop()
                reason = str(refusal)
        return self._bootstrap(stratum, revision, started, reason, bool(known.worked), progress)

    def _update(
        self,
        stratum: Stratum,
        changed: int,
        revision: Revision,
        started: float,
        budget: float,
        reason: str,
        progress: Progress,
    ) -> StratumReport:
        prepared = revision.arranging

        def watch() -> None:
            if perf_counter() - started - (revision.arranging - prepared) > budget:
                raise GaveUp

        revision.watch = watch
        rules = self.rules.get(stratum.relations)
        if rules:
            versions = update_versions(stratum, rules.added, rules.removed)
            plans: Plans = {}
        else:
            if stratum.relations not in self._versions:
                self._versions[stratum.relations] = update_versions(stratum), {}
            versions, plans = self._versions[stratum.relations]
        inserted, deleted = update(stratum, versions, revision, progress, plans)
        seconds = perf_counter() - started
        if not rules:
            known = self._of(stratum.relations)
            known.worked = changed
            self._learn(known, (seconds - (revision.arranging - prepared)) / changed)
        return StratumReport(stratum.relations, "update", reason, seconds, inserted, deleted)

    def _bootstrap(
        self, stratum: Stratum, revision: Revision, started: float, reason: str, ready: bool, progress: Progress
    ) -> StratumReport:
        progress.placed("bootstrap", reason)
        begun = perf_counter()

        def evaluated(tables: Tables) -> None:
            if not tables.solve(stratum, progress):
                tables.begin(stratum)
                evaluate(stratum, tables, self.limits, progress)
                tables.end()

        inserted, deleted = revision.recompute(stratum, evaluated, ready)
        if stratum.relations in self._versions:
            self._versions[stratum.relations][1].clear()  # plans were made for other sizes
        self._of(stratum.relations).bootstrap = perf_counter() - begun
        return StratumReport(stratum.relations, "bootstrap", reason, perf_counter() - started, inserted, deleted)

    # What is known

    def _of(self, relations: tuple[str, ...]) -> Learned:
        return self.learned.setdefault(relations, Learned())

    def _guess(self, stratum: Stratum, revision: Revision) -> float:
        return UNKNOWN * sum(revision.size(name, View.ALL) for name in self._reads[stratum.relations])

    def _expected(self, stratum: Stratum, changed: int, whole: float, revision: Revision) -> float:
        rate = self._of(stratum.relations).changed
        if rate is None:
            below = [name for name in self._reads[stratum.relations] if name not in stratum.relations]
            read = sum(revision.size(name, View.ALL) for name in below or stratum.relations)
            rate = AMPLIFIED * whole / max(1.0, read)
        return rate * changed

    def _learn(self, known: Learned, rate: float) -> None:
        known.changed = rate if known.changed is None else RECENT * rate + (1 - RECENT) * known.changed
        known.sure = True

    def _stays(self, known: Learned, changed: int, rules: Rules) -> bool:
        """Whether Updates are expected after this Bootstrap: not if a change no larger than before was too much."""
        if changed <= known.worked and not rules:
            known.worked = 0
        return known.worked > 0

    def to_json(self) -> dict[str, Any]:
        """What has been learned, for a state that is kept."""
        return {" ".join(relations): asdict(known) for relations, known in self.learned.items()}

    def remember(self, learned: Mapping[str, Any]) -> None:
        """The opposite; what does not fit the program is left out."""
        strata = {" ".join(stratum.relations): stratum.relations for stratum in self.program.strata}
        for text, known in learned.items():
            if text in strata:
                self.learned[strata[text]] = Learned(**known)


def _budget(known: Learned, changed: int, whole: float, expected: float, share: float) -> float:
    """Seconds after which an Update is given up."""
    budget = max(share * whole, ALWAYS)
    if known.sure:
        budget = max(budget, min(whole, LATE * expected))
    if changed <= known.worked:
        budget = max(budget, TRUSTED * whole)
    return budget


def _time(seconds: float) -> str:
    if seconds < 1e-4:
        return "less than 0.1 ms"
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"
