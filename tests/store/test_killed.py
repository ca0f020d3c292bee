"""Killed at any moment, a store holds its last epoch, and the next writer leaves no trace of what was cut short."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from store import children
from store.children import GROWN, How, contents, processes, write_epoch
from store.tuples import files_in, files_of
from whence.store import Store

ROWS = 60_000  # so that writing an epoch takes a while


def check_contents(store: Store, number: int, rows: int) -> None:
    for name, expected in contents(number, rows).items():
        found = store.read(name, number)
        if name == "grown":
            found = found.sort_by("x")
        assert found.cast(expected.schema).equals(expected), f"{name} in epoch {number}"


def last_sent(reports: Connection) -> int:
    """What a process sent last before it ended."""
    sent = -1
    with suppress(EOFError):
        while True:
            sent = reports.recv()
    return sent


@pytest.mark.parametrize("how", ["write", "adopt"])
def test_killed_at_ten_random_moments(how: How, tmp_path: Path) -> None:
    """A process commits epoch after epoch; the moments are spread over the time that one of them takes."""
    moments = random.Random(how)
    root = tmp_path / "state"
    store = Store.create(root)
    write_epoch(store, how, ROWS)
    began = time.perf_counter()
    write_epoch(store, how, ROWS)
    duration = time.perf_counter() - began
    cut_short = 0
    for tenth in range(10):
        reports, sender = processes.Pipe(duplex=False)
        child = processes.Process(target=children.commit_forever, args=(root, how, ROWS, sender))
        child.start()
        sender.close()
        assert reports.poll(60), "nothing was committed in a minute"
        time.sleep(duration * (tenth + moments.random()) / 10)
        os.kill(child.pid or 0, signal.SIGKILL)
        child.join()
        assert child.exitcode == -signal.SIGKILL
        reported = last_sent(reports)

        store = Store.open(root)
        store.check()
        assert store.latest.number in (reported, reported + 1)
        check_contents(store, store.latest.number, ROWS)
        cut_short += files_in(root) != files_of(store)

        number = store.latest.number
        write_epoch(store, how, ROWS)
        assert files_in(root) == files_of(store)
        check_contents(Store.open(root), number + 1, ROWS)
        store.vacuum(2)
    assert cut_short >= 3, "the moments were not within the writing of an epoch"


@pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("act", [children.create, children.commit, children.adopt, children.undo, children.vacuum])
def test_killed_before_any_step(act: Callable[[Path], None], stride: int, tmp_path: Path) -> None:
    """The moments at which Python opens, renames or removes a file, one after the other."""
    original, root = tmp_path / "original", tmp_path / "state"
    if act is not children.create:
        store = Store.create(original)
        for _ in range(3):
            write_epoch(store, "write", 10)
    step, exit_code = random.Random(act.__name__).randint(1 - stride, 0), None
    happened = []
    while exit_code != 0:
        step += stride
        shutil.rmtree(root, ignore_errors=True)
        if original.exists():
            shutil.copytree(original, root)
        child = processes.Process(target=children.end_at_step, args=(act, root, step))
        child.start()
        child.join()
        exit_code = child.exitcode
        assert exit_code in (0, -signal.SIGKILL)
        if not (root / "manifest.json").exists():
            assert act is children.create
            Store.create(root)
        store = Store.open(root)
        store.check()
        happened.append(store.numbers != ((0, 1, 2) if original.exists() else ()))
        for number in store.numbers:
            check_contents(store, number, 10)
        write_epoch(store, "write", 10)
        check_contents(store, store.latest.number, 10)
        if act is children.vacuum:
            store.vacuum()  # which ends what was cut short
        assert files_in(root) == files_of(store), f"killed before step {step}"
    assert happened == sorted(happened), "what had happened by one step was undone by a later one"
    assert happened[-1] or act is children.create


def test_what_the_manifest_names_is_on_the_disk_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill does not show it, a power failure would: each file, and each folder with its name, is synced by then."""
    root = tmp_path / "state"
    synced: dict[int, object] = {}
    fsync, replace = os.fsync, os.replace
    replaced = 0

    def state(path: str | int) -> object:
        status = os.stat(path)
        return sorted(os.listdir(path)) if os.path.isdir(path) else (status.st_size, status.st_mtime_ns)

    def record_sync(descriptor: int) -> None:
        fsync(descriptor)
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        synced[os.fstat(descriptor).st_ino] = state(path)

    def record_replace(source: Path, target: Path) -> None:
        nonlocal replaced
        replaced += 1
        for path in [source, *(root / "epochs").rglob("*"), root / "epochs"]:
            if root / "epochs" == path and replaced == 1:
                continue  # of a new store: it is synced with the folder it is in
            assert synced.get(path.stat().st_ino) == state(str(path)), f"{path} is not on the disk as it is now"
        replace(source, target)
        synced.clear()

    monkeypatch.setattr(os, "fsync", record_sync)
    monkeypatch.setattr(os, "replace", record_replace)
    store = Store.create(root)
    assert synced[root.stat().st_ino] == ["epochs", "lock", "manifest.json"]
    write_epoch(store, "write", 10)
    assert replaced == 2
    assert synced[root.stat().st_ino] == ["epochs", "lock", "manifest.json"]
    assert store.relation("grown").rows == GROWN
