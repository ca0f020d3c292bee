"""The elastic controller: for each stratum that a change reaches, Update or Bootstrap, and why.

Update is tried, and given up when it is seen to cost more than Bootstrap (`attempt`); then its work is dropped and the
stratum is bootstrapped (000, section 4). Beyond the paper, each stratum is decided by itself, so that a heavy one does
not throw away the cheap ones; and what Updates cost in earlier epochs, by the size of their change, predicts what this
one will. One that is known to take longer than Bootstrap is not tried, unless the last that was is long ago. What is
learned is in units of Bootstrap's time, so that it holds when the state grows or shrinks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from time import perf_counter
from typing import Any

from whence.errors import WhenceError
from whence.lang.program import Program, Stratum, read_by
from whence.maintain.attempt import Attempt, GaveUp
from whence.maintain.bootstrap import evaluate, limits_of
from whence.maintain.impact import StratumReport
from whence.maintain.pace import Pace, Pacing
from whence.maintain.transition import Rules, Transition
from whence.maintain.update import Plans, update
from whence.plan import UpdateVersions, View, update_versions
from whence.tables import Progress, Refused, Revision, Silent, Tables, Uncountable

STRATEGIES = ("elastic", "update", "bootstrap")
SHARE = 0.2
SHORT = 0.02  # seconds of a Bootstrap that is not worth knowing beforehand
UNKNOWN = 3e-7  # seconds a tuple that Bootstrap is taken to need where it was never measured
AMPLIFIED = 3.0  # how much more a changed tuple is taken to cost than one that is read by Bootstrap, before it is known
RECENT = 0.5  # the weight of the last Update in what is learned
ALIKE = 4  # a change of up to so many times the tuples is expected to go like the one that was seen
TRUSTED = 0.8  # the share that an Update may cost where one of a change as large was the better choice
LATE = 4.0  # how much more than expected an Update may take
MOST = 10.0  # Bootstraps that an Update which was given up is taken to cost at most
PATIENCE = 2  # Updates that are not tried after the first that failed; twice as many after the next
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


@dataclass
class Learned:
    """Of a stratum: seconds of its last Bootstrap, and the part of that which an Update takes for each changed tuple.

    `seen` is the size of the change from which the latter is known. `worked` is the size of a change for which Update
    was the better choice, 0 if it was not lately. Of changes about as large as `too_large`, `failed` in a row were
    given up, and `passed_over` were not tried since.
    """

    bootstrap: float | None = None
    pace: Pace = field(default_factory=Pace)
    changed: float | None = None
    seen: int = 0
    worked: int = 0
    too_large: int = 0
    failed: int = 0
    passed_over: int = 0


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

    def bootstrapped(self, paces: Mapping[tuple[str, ...], Pace]) -> None:
        for relations, pace in paces.items():
            known = self._of(relations)
            known.bootstrap, known.pace = pace.seconds, pace

    def revise(
        self,
        revision: Revision,
        policy: Policy,
        progress: Progress | None = None,
        only: Collection[str] | None = None,
    ) -> tuple[StratumReport, ...]:
        """Brings every stratum that the change reaches up to date; the revision is not committed yet.

        A revision that is only looked at may leave out strata that have none of the relations in `only`.
        """
        progress = progress or Silent()
        reached = [s for s in self.program.strata if s.rules or s.relations in self.rules]
        reports = []
        for stratum in self.program.strata:
            if only is not None and not any(name in only for name in stratum.relations):
                continue
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
        if limited:
            reason = f"{limited[0]} has a .limitsize, which has no incremental form"
        elif rules.anew:
            reason = rules.anew
        elif policy.strategy == "bootstrap":
            reason = "as asked"
        else:
            whole = known.bootstrap or self._guess(stratum, revision)
            reason = "as asked"
            attempt = Attempt(revision, whole, 0.0, float("inf"), Pace())
            revision.watch = lambda: None
            if policy.strategy == "elastic":
                expected = self._expected(stratum, changed, revision)
                tuples = "1 changed tuple" if changed == 1 else f"{changed:,} changed tuples"
                reason = f"{tuples}: expected to take {_time(expected * whole)}, Bootstrap {_time(whole)}"
                share = _share(known, changed, expected, policy.share)
                if rules:  # what is known is of facts
                    reason, share = f"{rules}: Bootstrap is expected to take {_time(whole)}", policy.share
                    kept = stratum.rules and any(revision.size(name, View.ALL) for name in stratum.relations)
                    if not kept:
                        reason = f"{rules}: nothing is kept"
                        return self._bootstrap(stratum, revision, started, reason, False, progress)
                if _hopeless(known, changed, whole) and not rules:
                    known.passed_over += 1
                    ready = self._stays(known, changed, rules)
                    return self._bootstrap(stratum, revision, started, reason, ready, progress)
                size = sum(revision.size(name, View.ALL) for name in stratum.relations)
                attempt = Attempt(revision, whole, size, share, known.pace, expected)
                revision.watch = attempt.watch
            try:
                progress.placed("update", reason)
                return self._update(stratum, changed, revision, started, attempt, reason, progress)
            except GaveUp:
                spent, left = attempt.seconds, attempt.left()
                done = revision.drop()
                reason = f"Update was given up after {_time(spent)}; Bootstrap took {_time(whole)}"
                ready = self._stays(known, changed, rules)
                report = self._bootstrap(stratum, revision, started, reason, ready, progress)
                if not rules:  # what a rule costs tells nothing of facts
                    times_more = (report.inserted + report.deleted) / max(1, done)
                    total = spent + left if left is not None else spent * max(1.0, times_more)
                    self._learn(known, changed, min(max(total, whole), MOST * whole), whole)
                    known.too_large, known.failed, known.passed_over = changed, known.failed + 1, 0
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
        attempt: Attempt,
        reason: str,
        progress: Progress,
    ) -> StratumReport:
        known = self._of(stratum.relations)
        rules = self.rules.get(stratum.relations)
        if rules:
            versions = update_versions(stratum, rules.added, rules.removed)
            plans: Plans = {}
        else:
            if stratum.relations not in self._versions:
                self._versions[stratum.relations] = update_versions(stratum), {}
            versions, plans = self._versions[stratum.relations]
        inserted, deleted = update(stratum, versions, revision, progress, plans, attempt.course)
        if not rules:
            known.worked = changed
            if changed * ALIKE >= known.too_large:
                known.failed = 0
            self._learn(known, changed, attempt.seconds, known.bootstrap or attempt.seconds)
        return StratumReport(stratum.relations, "update", reason, perf_counter() - started, inserted, deleted)

    def _bootstrap(
        self, stratum: Stratum, revision: Revision, started: float, reason: str, ready: bool, progress: Progress
    ) -> StratumReport:
        progress.placed("bootstrap", reason)
        begun = perf_counter()
        pacing = Pacing(progress)
        known = self._of(stratum.relations)

        def evaluated(tables: Tables) -> None:
            pacing.begin()
            if not tables.solve(stratum, pacing):
                tables.begin(stratum)
                evaluate(stratum, tables, self.limits, pacing)
                tables.end()
            known.pace = pacing.end()

        inserted, deleted = revision.recompute(stratum, evaluated, ready)
        if stratum.relations in self._versions:
            self._versions[stratum.relations][1].clear()  # plans were made for other sizes
        known.bootstrap = perf_counter() - begun
        return StratumReport(stratum.relations, "bootstrap", reason, perf_counter() - started, inserted, deleted)

    # What is known

    def _of(self, relations: tuple[str, ...]) -> Learned:
        return self.learned.setdefault(relations, Learned())

    def _guess(self, stratum: Stratum, revision: Revision) -> float:
        return UNKNOWN * sum(revision.size(name, View.ALL) for name in self._reads[stratum.relations])

    def _expected(self, stratum: Stratum, changed: int, revision: Revision) -> float:
        """What an Update is expected to take, as a part of what Bootstrap takes."""
        rate = self._of(stratum.relations).changed
        if rate is None:
            below = [name for name in self._reads[stratum.relations] if name not in stratum.relations]
            read = sum(revision.size(name, View.ALL) for name in below or stratum.relations)
            rate = AMPLIFIED / max(1.0, read)
        return rate * changed

    def _learn(self, known: Learned, changed: int, seconds: float, whole: float) -> None:
        rate = seconds / max(whole, 1e-6) / changed
        alike = known.changed is not None and known.seen <= ALIKE * changed and changed <= ALIKE * known.seen
        known.changed = RECENT * rate + (1 - RECENT) * known.changed if alike and known.changed is not None else rate
        known.seen = changed

    def _stays(self, known: Learned, changed: int, rules: Rules) -> bool:
        """Whether Updates are expected after this Bootstrap: not if a change no larger than before was too much."""
        if changed <= known.worked and not rules:
            known.worked = 0
        return known.worked > 0

    def to_json(self) -> dict[str, Any]:
        """What has been learned, for a state that is kept."""
        return {
            " ".join(relations): {**vars(known), "pace": known.pace.to_json()}
            for relations, known in self.learned.items()
        }

    def remember(self, learned: Mapping[str, Any]) -> None:
        """The opposite; what does not fit the program, or was written by an earlier version, is left out."""
        strata = {" ".join(stratum.relations): stratum.relations for stratum in self.program.strata}
        names = {field.name for field in fields(Learned)}
        for text, known in learned.items():
            if text in strata and known.keys() == names:
                self.learned[strata[text]] = Learned(**{**known, "pace": Pace.of_json(known["pace"])})


def _hopeless(known: Learned, changed: int, whole: float) -> bool:
    """Whether an Update of such a change was given up not long ago."""
    if not known.failed or known.passed_over >= PATIENCE << (known.failed - 1):
        return False
    return whole > SHORT and changed * ALIKE >= known.too_large


def _share(known: Learned, changed: int, expected: float, share: float) -> float:
    """The share of Bootstrap that an Update may cost where nothing tells how far it has come."""
    if changed <= known.worked:
        share = max(share, TRUSTED)
    if changed <= ALIKE * known.seen:
        share = max(share, min(1.0, LATE * expected))
    return share


def _time(seconds: float) -> str:
    if seconds < 1e-4:
        return "less than 0.1 ms"
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"
