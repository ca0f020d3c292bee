"""A session: a program, its input, and after `run` its results."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from whence.errors import WhenceError
from whence.interrupts import listening
from whence.lang import Diagnostic, Program, compile_text, load
from whence.maintain import SHARE, STRATEGIES, Impact, Policy
from whence.plan import Statistics
from whence.results import Holder, Result, unannotated
from whence.tables import Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from whence.changes import Change
    from whence.engines.spark.options import Options
    from whence.explain import Absence, Explainer, Explanation, Metric
    from whence.queries import Answer
    from whence.saving import Saved
    from whence.store import Epoch, Store, Writer

Warn = Callable[[Diagnostic | str], None]
ENGINES = ("local", "spark", "circuit")
DENSE = "dense"


class Tables(Holder, Statistics, Protocol):
    """The relations of a session, as whoever reads results or makes plans sees them."""


class Engine(Protocol):
    """What evaluates a session's program."""

    @property
    def tables(self) -> Tables: ...

    @property
    def bad_rows(self) -> Mapping[str, int]: ...

    def load(self, relation: str, source: Any) -> None: ...

    def read_inputs(self, folder: Path) -> None: ...

    def run(self, progress: Progress | None) -> None: ...

    def update(
        self,
        insert: Mapping[str, Any],
        delete: Mapping[str, Any],
        policy: Policy,
        progress: Progress | None,
        program: Program | None = None,
    ) -> Impact: ...

    def undo(self, policy: Policy, progress: Progress | None) -> Impact: ...

    def drop_derived(self) -> None: ...

    def on_tick(self, tick: Callable[[], None]) -> None: ...

    def write_outputs(self, folder: Path) -> None: ...

    def store(self, relation: str, writer: Writer) -> None: ...

    def keep_changes(self) -> None: ...

    def changed_relations(self) -> tuple[str, ...]: ...

    def store_changes(self, relation: str, writer: Writer) -> None: ...

    def restore(self, relation: str, store: Store, epoch: int) -> None: ...

    def learned(self) -> Mapping[str, Any]: ...

    def remember(self, learned: Mapping[str, Any]) -> None: ...

    def close(self) -> None: ...


def open(
    program: str | os.PathLike[str] | Program | None = None,
    *,
    text: str | None = None,
    file: str = "<program>",
    engine: str = "local",
    counts: bool = True,
    strategy: str = "elastic",
    spark: SparkSession | None = None,
    options: Options | None = None,
    warn: Warn | None = None,
    announce: Callable[[str], None] | None = None,
) -> Session:
    """Opens a session on a program: the path of a `.dl` file, a `Program`, or `text`, which diagnostics call `file`.

    `engine="spark"` evaluates on `spark`, else on the session that is running, else on a new one; `options` say how.
    `engine="circuit"` is a second evaluator: see docs/circuits.md; it keeps results current, but no iterations and no
    counts.
    `counts=False` leaves out the number of derivations of each tuple, which results do not need but maintaining and
    explaining them do; only the local engine can. `strategy` is how updates are done unless they say otherwise:
    `elastic`, `update`, `bootstrap`; or `dense`, which keeps the derivations of every iteration, in more memory, and
    which only the local engine can. `warn` hears warnings about the program and its evaluation,
    `announce` what takes a while.
    """
    if (program is None) == (text is None):
        raise WhenceError("give the path of a program, or its text: whence.open('a.dl') or whence.open(text='…')")
    if engine not in ENGINES:
        raise WhenceError(f"there is no engine {engine!r}; the engines are: {', '.join(ENGINES)}")
    if strategy not in (*STRATEGIES, DENSE):
        raise WhenceError(f"there is no strategy {strategy!r}; the strategies are: {', '.join((*STRATEGIES, DENSE))}")
    heard = warn or (lambda message: None)
    if engine != "spark":
        if spark is not None or options is not None:
            raise WhenceError("a Spark session and its options are for engine='spark'")
        compiled = _compiled(program, text, file, warn)
        if engine == "circuit":
            return _on_circuit(compiled, strategy, heard, announce)
        from whence.engines.local.engine import LocalEngine

        local = LocalEngine(compiled, counts, heard, announce, dense=strategy == DENSE)
        return Session(compiled, local, strategy)
    if strategy == DENSE:
        raise WhenceError("strategy='dense' is for engine='local'")
    if not counts:
        raise WhenceError("counts=False is for engine='local'")
    from whence.engines.spark.cluster import prepared
    from whence.engines.spark.options import Options

    options = options or Options()
    with prepared(spark, options.setting) as cluster:  # Spark is imported while the program is compiled
        compiled = _compiled(program, text, file, warn)
        cluster.imported()
        from whence.engines.spark.engine import SparkEngine

        spark_engine = SparkEngine(compiled, cluster, options, heard, announce)
        return Session(compiled, spark_engine, strategy)


def _on_circuit(
    program: Program, strategy: str, warn: Callable[[str], None], announce: Callable[[str], None] | None
) -> Session:
    if strategy not in ("elastic", "update"):
        raise WhenceError(f"strategy={strategy!r} is not for engine='circuit', whose one strategy is update")
    from whence.engines.circuit.engine import CircuitEngine

    return Session(program, CircuitEngine(program, warn, announce), "update")


def _compiled(
    program: str | os.PathLike[str] | Program | None, text: str | None, file: str, warn: Warn | None
) -> Program:
    if text is not None:
        return compile_text(text, file, warn=warn)
    if isinstance(program, Program):
        return program
    assert program is not None
    return load(program, warn=warn)


class Session:
    """`s["path"]` is a relation: the tuples that were put in and, after `run`, those that follow from them."""

    def __init__(self, program: Program, engine: Engine, strategy: str = "elastic") -> None:
        self.program = program
        self.strategy = strategy
        self.engine = engine
        self._evaluated = False
        self._log: list[Impact] = []  # without the tuples themselves
        self._programs: list[Program] = []  # the one before each update
        self.saved: Saved | None = None  # where the state is kept, if it is

    def __repr__(self) -> str:
        state = "evaluated" if self._evaluated else "not run yet"
        return f"<whence session: {len(self.program.relations)} relations, {len(self.program.rules)} rules, {state}>"

    def __getitem__(self, relation: str) -> Result:
        _check(relation, self.program)
        return Result(self.program.relations[relation], self.engine.tables)

    def __iter__(self) -> Iterator[str]:
        """The names of the relations."""
        return iter(self.program.relations)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @listening()
    def load(self, **relations: Any) -> None:
        """Adds input tuples, by relation: a list of tuples, a `.facts` file, a NumPy array, an Arrow, pandas or
        Polars table, a Spark DataFrame."""
        for relation in relations:
            _check(relation, self.program)
        self._reopen()
        for relation, source in relations.items():
            self.engine.load(relation, source)

    @listening()
    def read_inputs(self, folder: str | os.PathLike[str] = ".") -> None:
        """Reads what the `.input` directives name; relative file names are in `folder`."""
        self._reopen()
        self.engine.read_inputs(Path(folder))

    @listening()
    def run(self, progress: Progress | None = None) -> None:
        """Evaluates the rules. If it is interrupted, the session has its input only."""
        self._reopen()
        self._evaluated = True
        started = perf_counter()
        try:
            self.engine.run(progress)
        except BaseException:
            self._reopen()
            raise
        self._log, self._programs = [Impact(0, "bootstrap", perf_counter() - started)], []

    @listening()
    def update(
        self,
        insert: Mapping[str, Any] | None = None,
        delete: Mapping[str, Any] | None = None,
        *,
        program: Program | None = None,
        strategy: str | None = None,
        share: float = SHARE,
        lenient: bool = False,
        progress: Progress | None = None,
    ) -> Impact:
        """Changes the input and brings all results up to date: a new epoch. Returns what came and what went.

        `insert` and `delete` have tuples by relation, given as for `load`. A change that does not fit (a tuple is to be
        deleted that is not in the input, or inserted that is) is refused, unless `lenient` says to ignore that part. If
        the update fails or is interrupted, the session is as it was.

        With a `program`, the rules of the new epoch are its: see `add_rule`, `remove_rule`, `replace_program`, `apply`.

        `strategy` is that of the session, else `elastic`, `update` or `bootstrap`. An elastic Update of a stratum is
        given up when it has cost more than `share` of what Bootstrap took.
        """
        self._must_be_evaluated("updated")
        if not self.engine.tables.counts and not unannotated(self.engine.tables):
            raise WhenceError("derivations were not counted: open the session with counts=True to update it")
        after = program or self.program
        for relation in [*(insert or {}), *(delete or {})]:
            _check(relation, after)
        policy = self._policy(strategy, share, lenient)
        impact = self.engine.update(insert or {}, delete or {}, policy, progress, after)
        impact = replace(impact, epoch=self.epoch + 1)
        self._log.append(impact.summary())
        self._programs.append(self.program)
        self.program = after
        self._updated(self._log[-1])
        return impact

    def apply(self, change: Change | str, **how: Any) -> Impact:
        """Makes a change of facts and rules a new epoch: a `Change`, or a text of lines such as `+ edge(1, 2).` and
        `- path(x, y) :- edge(x, y).` `how` is what `update` takes: `strategy`, `share`, `lenient`, `progress`."""
        from whence.changes import parse_change

        self._must_be_evaluated("changed")
        if isinstance(change, str):
            change = parse_change(change, self.program, lenient=how.get("lenient", False))
        impact = self.update(change.insert, change.delete, program=change.program, **how)
        return replace(impact, ignored=impact.ignored + change.ignored)

    def add_rule(self, text: str, **how: Any) -> Impact:
        """Adds a rule to the program, or several, with what they need: `.decl`, `.type`, `.output`. They are put at the
        end of its text. `how` is what `update` takes."""
        return self._edit(text, "+", how)

    def remove_rule(self, text: str, **how: Any) -> Impact:
        """Removes a rule from the program, or several; the names of variables and the spaces do not matter."""
        return self._edit(text, "-", how)

    def _edit(self, text: str, sign: str, how: Mapping[str, Any]) -> Impact:
        from whence.changes import edited_program

        self._must_be_evaluated("changed")
        return self.update(program=edited_program(text, sign, self.program, how.get("lenient", False)), **how)

    def replace_program(
        self, program: str | os.PathLike[str] | Program | None = None, *, text: str | None = None, **how: Any
    ) -> Impact:
        """Goes on with another program, given as to `whence.open`: what differs is changed. Input stays, but for the
        facts that only one of the two texts has, and relations that the new one does not declare."""
        if (program is None) == (text is None):
            raise WhenceError("give the path of a program, or its text: s.replace_program('b.dl')")
        self._must_be_evaluated("changed")
        return self.update(program=_compiled(program, text, self.program.file, None), **how)

    @listening()
    def undo(self, progress: Progress | None = None) -> Impact:
        """Takes the last update back. Returns what came and what went by that."""
        self._must_be_evaluated("changed back")
        if len(self._log) < 2:
            raise WhenceError("there is no update to undo in this session")
        impact = self.engine.undo(self._policy(), progress)
        self._log.pop()
        self.program = self._programs.pop()
        self._updated(impact.summary())
        return replace(impact, epoch=self.epoch)

    def _updated(self, impact: Impact) -> None:
        if self.saved is not None:
            self.saved.updated(impact)

    def _policy(self, strategy: str | None = None, share: float = SHARE, lenient: bool = False) -> Policy:
        strategy = strategy or self.strategy
        if strategy != DENSE:
            return Policy(strategy, share, lenient)
        if self.strategy != DENSE:
            raise WhenceError("dense counting begins with the first run: open the session with strategy='dense'")
        return Policy("update", share, lenient)

    @property
    def epoch(self) -> int:
        """The number of the epoch: 0 after `run`, one more with each update."""
        self._must_be_evaluated("in an epoch")
        return self._log[-1].epoch

    @property
    def epochs(self) -> tuple[Impact, ...]:
        """What each epoch since `run` brought, in numbers."""
        return tuple(self._log)

    @property
    def statistics(self) -> Statistics:
        """What the planner knows of the relations."""
        return self.engine.tables

    @property
    def bad_rows(self) -> Mapping[str, int]:
        """By relation, how many input rows did not fit and were left out."""
        return self.engine.bad_rows

    def on_tick(self, tick: Callable[[], None]) -> None:
        """Calls `tick` every now and then while the rules are evaluated."""
        self.engine.on_tick(tick)

    def write_outputs(self, folder: str | os.PathLike[str] = ".") -> None:
        """Writes what the `.output` and `.printsize` directives name; relative file names are in `folder`."""
        self.engine.write_outputs(Path(folder))

    def save(self, folder: str | os.PathLike[str], seconds: float | None = None) -> Epoch:
        """Commits the state, all relations with iterations and counts, as a new epoch of the store in a folder.

        If the session was opened on that store, or saved in it before, only what has changed is written.
        """
        from whence.saving import save

        self._must_be_evaluated("saved")
        self._must_be_annotated()
        if not self.engine.tables.counts:
            raise WhenceError("derivations were not counted: open the session with counts=True to save it")
        return save(self, folder, seconds)

    @property
    def text(self) -> tuple[str, str]:
        """The text of the program, and the name of its file."""
        if self.program.text is None:
            raise WhenceError("a state holds its program's text: open the session on a file or a text to save it")
        return self.program.text, self.program.file

    def kept_as(self, saved: Saved) -> None:
        """The current epoch is that of a store, which has numbers of its own."""
        self.saved = saved
        self.engine.keep_changes()
        self._log[-1] = replace(self._log[-1], epoch=saved.epoch)

    def restore(self, store: Store, epoch: int | None = None) -> None:
        """Takes over the state of an epoch of a store, by default the last, in place of what the session holds."""
        self._must_be_annotated()
        described = store.epoch(epoch)
        self._evaluated = True
        try:
            for relation in self.program.relations:
                self.engine.restore(relation, store, described.number)
        except BaseException:
            self._reopen()
            raise
        from whence.saving import Saved

        self.engine.remember(described.summary.get("learned", {}))
        self._log = [Impact(described.number, described.strategy or "bootstrap", described.seconds or 0.0)]
        self._programs = []
        self.kept_as(Saved(store, described.number))

    @listening()
    def query(self, text: str, *, limit: int | None = None) -> Answer:
        """The answer to a query such as `path(1, X)` or `path(1, X), !edge(1, X), X > 3`: of a single atom the tuples
        that match, of any other body the values of its variables."""
        from whence.queries import ask

        if not self._evaluated:
            raise WhenceError("there is nothing to ask yet: run the session first")
        return ask(self, text, limit=limit)

    def explain(
        self, query: str, *, depth: int | None = None, metric: str | Metric | None = None, choose: int = 1
    ) -> Explanation:
        """Why a tuple is there: a proof of it, from the input. `query` may be a pattern, `path(1, X)`; `choose` says
        which of its matches. `depth` is the number of levels; without it there are as many as can be read."""
        from whence.explain import explain

        return explain(self._explainer(metric), query, depth, choose)

    def why_not(self, query: str, *, rule: int | None = None, values: Mapping[str, object] | None = None) -> Absence:
        """Why a tuple is not there: what each rule that could have made it lacks. `rule` is the number of a rule to
        look at, `values` are values for its variables."""
        from whence.explain import why_not

        return why_not(self._explainer(None), query, rule, values)

    def _explainer(self, metric: str | Metric | None) -> Explainer:
        from whence.explain import Explainer, state_of

        if not self._evaluated:
            raise WhenceError("there is nothing to explain yet: run the session first")
        self._must_be_annotated()
        return Explainer(state_of(self.engine.tables), metric)

    def close(self) -> None:
        """Gives up what the engine holds; a Spark session that was started for this one is stopped."""
        self.engine.close()

    def _must_be_evaluated(self, what: str) -> None:
        if not self._evaluated:
            raise WhenceError(f"there is no state yet: run the session before it is {what}")

    def _must_be_annotated(self) -> None:
        missing = unannotated(self.engine.tables)
        if missing:
            raise WhenceError(missing)

    def _reopen(self) -> None:
        if self._evaluated:
            self.engine.drop_derived()
            self._evaluated = False
            self._log.clear()
            self.saved = None


def _check(relation: str, program: Program) -> None:
    if relation not in program.relations:
        near = difflib.get_close_matches(relation, program.relations, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(program.relations)}"
        raise WhenceError(f"the program has no relation {relation!r}; {hint}")
