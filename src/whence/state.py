"""A session on the state that a store holds: any epoch of it, as it was committed, without evaluating again."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from whence.errors import WhenceError
from whence.lang import Diagnostic
from whence.session import Session
from whence.session import open as open_session
from whence.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from whence.engines.spark.options import Options


def open_state(
    state: str | os.PathLike[str] | Store,
    epoch: int | None = None,
    *,
    engine: str = "local",
    spark: SparkSession | None = None,
    options: Options | None = None,
    warn: Callable[[Diagnostic | str], None] | None = None,
    announce: Callable[[str], None] | None = None,
) -> Session:
    """Opens a session on an epoch of a state, by default the last: all relations with iterations and counts.

    `state` is the folder of a store, or the store. The other parameters are those of `whence.open`.
    """
    store = state if isinstance(state, Store) else Store.open(state)
    described = store.epoch(epoch)
    uncounted = [name for name, stored in described.relations.items() if not stored.counted]
    if uncounted and engine != "local":
        raise WhenceError(
            f"the state in {store.root} has no derivation counts of {', '.join(uncounted)}; open it with engine='local'"
        )

    def heard(message: Diagnostic | str) -> None:
        if warn is not None and isinstance(message, str):  # what the compiler warns of was told when the state was made
            warn(message)

    session = open_session(
        text=store.program_text(described.number),
        file=described.file,
        engine=engine,
        counts=not uncounted,
        spark=spark,
        options=options,
        warn=heard,
        announce=announce,
    )
    try:
        session.restore(store, described.number)
    except BaseException:
        session.close()
        raise
    return session
