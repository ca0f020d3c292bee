"""Saving a session: only what its last update has changed if its store has the rest, else all of its state."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.errors import WhenceError
from whence.history import Sizes, program_changes, sizes_to_json
from whence.lang import compile_text
from whence.lang.program import Program
from whence.maintain.impact import Impact
from whence.store import Epoch, Store, Writer
from whence.store.directory import MANIFEST
from whence.store.manifest import schemas_of

if TYPE_CHECKING:
    from whence.session import Session

INHERITED = ("streams",)  # what a summary takes over from the epoch before


@dataclass
class Saved:
    """As which epoch of which store a session is kept; how many updates there were since, and what the last did."""

    store: Store
    epoch: int
    updates: int = 0
    impact: Impact | None = None

    def updated(self, impact: Impact) -> None:
        self.updates += 1
        self.impact = impact

    def must_be_latest(self) -> None:
        latest = self.store.latest.number
        if self.epoch != latest:
            opened = f"the session is opened at epoch {self.epoch}, and the store {self.store.root} is at {latest}"
            raise WhenceError(f"{opened}; only the last epoch can be changed")


def save(
    session: Session,
    folder: str | os.PathLike[str],
    seconds: float | None = None,
    change: Sizes | None = None,
    summary: Mapping[str, Any] | None = None,
) -> Epoch:
    """Commits the state of a session as a new epoch of the store in a folder.

    `seconds` and `change` are what it took and what was asked for, if that is not known from its last update.
    `summary` is added to what the epoch says of itself.
    """
    saved = session.saved
    if saved is not None and _same(saved.store.root, folder):
        saved.must_be_latest()
        if not saved.updates:
            return saved.store.latest
        store = saved.store
    else:
        saved = None
        store = Store.open(folder) if (Path(folder) / MANIFEST).exists() else Store.create(folder)
    impact = None if saved is None else saved.impact
    told = {**_inherited(store), "learned": session.engine.learned()}
    if impact is not None:
        sizes = impact_sizes(impact)
        told["change"] = sizes_to_json(_given(sizes, session.program) if change is None else change)
        told["impact"] = sizes_to_json(sizes)
        told["strata"] = [stratum.to_json() for stratum in impact.strata]
    told |= summary or {}
    text, file = session.text
    kept = saved is not None and store.program_text() == text  # then the store has it, and the epochs share it
    if saved is not None and not kept:
        told["program"] = program_changes(compile_text(store.program_text(), file), session.program)
    new = None if kept else text
    strategy = "bootstrap" if impact is None else impact.strategy
    seconds = seconds if impact is None or seconds is not None else impact.seconds
    with store.commit(new, file, program=session.program, strategy=strategy, seconds=seconds, summary=told) as writer:
        _write(session, writer, only_changes=saved is not None and saved.updates == 1)
    session.kept_as(Saved(store, store.latest.number))
    return store.latest


def _write(session: Session, writer: Writer, only_changes: bool) -> None:
    if only_changes:
        changed = session.engine.changed_relations()
        for relation in session.program.relations:
            if not writer.continues(relation):
                session.engine.store(relation, writer)
            elif relation in changed:
                session.engine.store_changes(relation, writer)
        writer.keep_others()
    else:
        for relation in session.program.relations:
            session.engine.store(relation, writer)


def impact_sizes(impact: Impact) -> dict[str, tuple[int, int]]:
    names = dict.fromkeys([*impact.inserted, *impact.deleted])
    return {name: (len(impact.inserted.get(name, ())), len(impact.deleted.get(name, ()))) for name in names}


def _given(sizes: Sizes, program: Program) -> Sizes:
    """What came and went of the input, where nothing else is known of the change."""
    schemas = schemas_of(program)
    return {name: sides for name, sides in sizes.items() if name in schemas and schemas[name].input}


def _inherited(store: Store) -> dict[str, Any]:
    if not store.numbers:
        return {}
    return {key: value for key, value in store.latest.summary.items() if key in INHERITED}


def _same(one: Path, other: str | os.PathLike[str]) -> bool:
    return one.resolve() == Path(other).resolve()
