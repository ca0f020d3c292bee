"""Many random epochs in a row: the state is still that of Bootstrap, and memory has not grown.

Nodes are numbers of a window that moves on, so that most tuples are new and nearly all die: a table that kept its dead
rows would grow with every epoch. Some epochs are interrupted, some Updates are given up in their middle.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import numpy as np
import pytest

import whence
from whence.engines.local import engine as local_engine
from whence.engines.local import revision, vectors
from whence.engines.local.revised import Log, Revised
from whence.engines.local.revision import MOST_DEAD, LocalRevision
from whence.engines.local.table import Table
from whence.maintain import elastic
from whence.maintain.attempt import GaveUp

PROGRAM = """
.decl edge(x: number, y: number)
.decl barred(x: number)
.decl weight(x: number, w: number)
.decl marked(x: number)
.input edge, barred, weight, marked
.decl node(x: number)
node(x), node(y) :- edge(x, y).
.decl path(x: number, y: number)
path(x, y) :- edge(x, y), !barred(y).
path(x, z) :- path(x, y), edge(y, z), !barred(z).
.decl odd(x: number, y: number)
.decl even(x: number, y: number)
odd(x, y) :- edge(x, y).
even(x, z) :- odd(x, y), edge(y, z).
odd(x, z) :- even(x, y), edge(y, z).
.decl apart(x: number, y: number)
apart(x, y) :- node(x), node(y), x < y, !path(x, y), !path(y, x).
.decl reach(x: number, nodes: number, weight: number)
reach(x, n, w) :- node(x), n = count : { path(x, _) }, w = sum v : { path(x, y), weight(y, v) }.
.decl heaviest(x: number, w: number)
heaviest(x, w) :- node(x), w = max v : { path(x, y), weight(y, v) }.
marked(x) :- reach(x, n, _), n > 12.
marked(y) :- marked(x), edge(x, y), !heaviest(y, 9).
"""
WINDOW = 40  # nodes at a time
EDGES = 60
State = dict[str, np.ndarray[Any, Any]]


@dataclass
class World:
    """An input that changes at random, and what it is now."""

    random: Random
    start: int = 0
    facts: dict[str, list[tuple[int, ...]]] = field(
        default_factory=lambda: {"edge": [], "barred": [], "weight": [], "marked": []}
    )

    def tuple_of(self, relation: str) -> tuple[int, ...]:
        node = self.start + self.random.randrange(WINDOW)
        if relation == "edge":
            return node, node + self.random.choice((-3, -1, 1, 1, 2, 5))
        return (node, self.random.randrange(10)) if relation == "weight" else (node,)

    def change(self, amount: int) -> tuple[dict[str, list[tuple[int, ...]]], dict[str, list[tuple[int, ...]]]]:
        """Tuples to insert and to delete; what has left the window goes first."""
        self.start += self.random.random() < 0.3
        insert: dict[str, list[tuple[int, ...]]] = {}
        delete: dict[str, list[tuple[int, ...]]] = {}
        for relation, wanted in {"edge": EDGES, "barred": 4, "weight": 25, "marked": 2}.items():
            there = self.facts[relation]
            gone = [row for row in there if row[0] < self.start]
            for _ in range(self.random.randrange(amount + 1)):
                if there and self.random.random() < len(there) / (2 * wanted):
                    gone.append(self.random.choice(there))
                elif (row := self.tuple_of(relation)) not in there:
                    insert.setdefault(relation, []).append(row)
            if gone:
                delete[relation] = sorted(set(gone))
            if relation in insert:
                insert[relation] = sorted(set(insert[relation]) - set(gone))
        return {name: rows for name, rows in insert.items() if rows}, delete

    def apply(self, insert: dict[str, list[tuple[int, ...]]], delete: dict[str, list[tuple[int, ...]]]) -> None:
        for relation, rows in delete.items():
            self.facts[relation] = [row for row in self.facts[relation] if row not in set(rows)]
        for relation, rows in insert.items():
            self.facts[relation] = self.facts[relation] + rows


def state(session: whence.Session) -> State:
    """Every relation with iterations and counts, in order."""
    found: State = {}
    for name in session:
        rows = np.array([(*row, *numbers) for row, *numbers in session[name].tuples(annotated=True)], np.int64)
        found[name] = rows[np.lexsort(rows.T)] if len(rows) else rows
    return found


def differences(wanted: State, got: State) -> list[str]:
    lines = []
    for name in wanted:
        one, other = (set(map(tuple, rows.tolist())) for rows in (wanted[name], got[name]))
        lines += [f"{name}: {row} is missing" for row in sorted(one - other)[:5]]
        lines += [f"{name}: {row} should not be there" for row in sorted(other - one)[:5]]
        if len(other) != len(got[name]):
            lines.append(f"{name}: a tuple is there twice")
    return lines


def fresh(world: World) -> whence.Session:
    session = whence.open(text=PROGRAM)
    session.load(**world.facts)
    session.run()
    return session


# Where an update is broken off: these, in this process, are all that an update does between its beginning and commit.
PLACES: list[tuple[Any, str]] = [
    *((LocalRevision, name) for name in ("begin", "collect", "sift", "derive", "take_effect", "settle", "end")),
    *((LocalRevision, name) for name in ("apply", "recompute", "run_ahead", "_show", "_differ")),
    (revision, "stamped"),
    (local_engine, "_differences"),
    *((Revised, name) for name in ("change_input", "weigh", "show", "take_effect", "settle")),
    (Log, "room"),
    *((Table, name) for name in ("note", "insert_from", "locate", "append", "stamp")),
]
UPDATING = [(LocalRevision, name) for name in ("collect", "derive", "settle")]  # where the controller may give up


@contextmanager
def breaking(places: list[tuple[type, str]], call: int, after: bool, error: type[BaseException]) -> Iterator[None]:
    """Raises at the so-many-th call of one of these methods, before or after its work."""
    calls = 0

    def broken(method: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            mine = calls == call
            if mine and not after:
                raise error
            result = method(*args, **named)
            if mine:
                raise error
            return result

        return called

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in places:
            patch.setattr(owner, name, broken(getattr(owner, name)))
        yield


def resident() -> int:
    found = re.search(r"VmRSS:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) * 1024


@dataclass
class Endurance:
    """A session, the world that it follows, and how often what has happened."""

    seed: int
    strategy: str = "elastic"
    happened: dict[str, int] = field(default_factory=dict)
    largest: list[int] = field(default_factory=list)  # bytes that relations say they hold, epoch by epoch

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.world = World(self.random)
        for _ in range(200):  # until it is about as large as it will be
            self.world.apply(*self.world.change(4))
        self.session = whence.open(text=PROGRAM, strategy=self.strategy)
        self.session.load(**self.world.facts)
        self.session.run()

    def note(self, what: str) -> None:
        self.happened[what] = self.happened.get(what, 0) + 1

    def epoch(self) -> None:
        insert, delete = self.world.change(self.random.choice((1, 2, 2, 4, 30)))
        dice = self.random.random()
        if dice < 0.1:
            self.interrupted(insert, delete)
        if dice < 0.15 and self.strategy != "dense":
            self.given_up(insert, delete)
        else:
            chosen = self.random.choice(("elastic", "update", "update", "update", "bootstrap"))
            impact = self.session.update(insert, delete, strategy=None if self.strategy == "dense" else chosen)
            self.note(impact.strategy)
        self.world.apply(insert, delete)
        if self.random.random() < 0.05:
            before = state(self.session)
            insert, delete = self.world.change(3)
            self.session.update(insert, delete)
            self.session.undo()
            assert not differences(before, state(self.session)), "undo did not lead back"
            self.note("undone")
        self.check_rows()
        self.largest.append(sum(self.session[name].nbytes for name in self.session))

    def interrupted(self, insert: dict[str, Any], delete: dict[str, Any]) -> None:
        """The old epoch answers as before; and the same change can be made afterwards."""
        before, epoch = state(self.session), self.session.epoch
        call, after = int(2 ** self.random.uniform(0, 10)), self.random.random() < 0.5
        strategy = None if self.strategy == "dense" else self.random.choice(("update", "update", "bootstrap"))
        try:
            with breaking(PLACES, call, after, KeyboardInterrupt):
                self.session.update(insert, delete, strategy=strategy)
        except KeyboardInterrupt:
            self.note("interrupted")
            found = differences(before, state(self.session))
            assert not found, [f"interrupted at call {call}, {'after' if after else 'before'} its work", *found]
            assert self.session.epoch == epoch
        else:  # it was done before that call
            self.session.undo()

    def given_up(self, insert: dict[str, Any], delete: dict[str, Any]) -> None:
        call, after = int(2 ** self.random.uniform(0, 6)), self.random.random() < 0.5
        with breaking(UPDATING, call, after, GaveUp), pytest.MonkeyPatch.context() as patch:
            patch.setattr(elastic, "_hopeless", lambda *_: False)  # every stratum is tried
            impact = self.session.update(insert, delete, strategy="elastic")
        if any("given up" in report.reason for report in impact.strata):
            self.note("given up")

    def check_rows(self) -> None:
        """Of a table, a quarter may be dead and a few more; and what the last epoch left."""
        for name, stored in self.session.engine.tables.stored.items():  # type: ignore[attr-defined]
            rows, live = len(stored.table), len(self.session[name])
            assert (rows - 2 * live) * MOST_DEAD <= 2 * (rows + revision.FEW_ROWS), (
                f"{name}: {rows} rows, {live} of them live"
            )

    def check_state(self) -> None:
        found = differences(state(fresh(self.world)), state(self.session))
        assert not found, [f"seed {self.seed}, epoch {self.session.epoch}", *found]


def endure(seed: int, strategy: str, epochs: int) -> Endurance:
    run = Endurance(seed, strategy)
    warm = epochs // 4
    held = 0
    for epoch in range(1, epochs + 1):
        run.epoch()
        if epoch == warm:
            held = resident()
        if epoch % (epochs // 5) == 0:
            run.check_state()
    assert resident() - held < 32 << 20, "the process has grown"
    early, late = run.largest[: 2 * warm], run.largest[-warm:]
    allowed = 64 * revision.FEW_ROWS  # bytes: so many dead rows add up in small tables before these are made anew
    assert max(late) < 1.5 * max(early) + allowed, f"relations held {max(early):,} bytes, then {max(late):,}"
    return run


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are made anew when few of their rows are dead, so that this happens in a short run."""
    monkeypatch.setattr(revision, "FEW_ROWS", 64)
    monkeypatch.setattr(vectors, "FEW_ROWS", 64)


@pytest.mark.usefixtures("eager")
def test_the_state_stays_that_of_bootstrap() -> None:
    run = endure(1, "elastic", 120)
    assert {"update", "bootstrap", "interrupted", "given up", "undone"} <= run.happened.keys(), run.happened


@pytest.mark.usefixtures("eager")
def test_so_does_dense_counting() -> None:
    run = endure(2, "dense", 60)
    assert {"dense", "interrupted"} <= run.happened.keys(), run.happened


@dataclass
class Shots:
    """Interrupts from another thread; those that come when nobody waits for them are lost."""

    armed: bool = False

    def arrive(self, number: int, frame: FrameType | None) -> None:
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt

    @contextmanager
    def after(self, seconds: float) -> Iterator[None]:
        late = threading.Event()
        thread = threading.Thread(target=lambda: late.wait(seconds) or os.kill(os.getpid(), signal.SIGINT))
        thread.start()
        try:
            self.armed = True
            yield
        finally:
            self.armed = False
            late.set()
            thread.join()


@pytest.fixture
def shots() -> Iterator[Shots]:
    made = Shots()
    before = signal.signal(signal.SIGINT, made.arrive)
    yield made
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("strategy", ["elastic", "dense"])
def test_real_interrupts_at_any_moment(strategy: str, shots: Shots) -> None:
    """Ctrl-C while arrays grow or an epoch is committed: the epoch is the old one as it was, or the new one."""
    run = Endurance(7, strategy)
    interrupted = 0
    for number in range(60):
        insert, delete = run.world.change(30)
        before, epoch = state(run.session), run.session.epoch
        try:
            with shots.after(run.random.uniform(0.0005, 0.03)):
                run.session.update(insert, delete)
        except KeyboardInterrupt:
            interrupted += 1
        if run.session.epoch == epoch:
            found = differences(before, state(run.session))
            assert not found, [f"interrupt {number}", *found]
        else:
            run.world.apply(insert, delete)
    run.check_state()
    assert interrupted > 5


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["elastic", "dense"])
@pytest.mark.parametrize("seed", range(3, 6))
def test_a_thousand_epochs(seed: int, strategy: str) -> None:
    endure(seed, strategy, 1_000)
