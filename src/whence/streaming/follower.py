"""What a streaming query does with each micro-batch: an epoch of the state, once, and then its impact in the feed.

Structured Streaming gives a batch again, with the same number and the same content, unless it has noted that the batch
was done. So the epoch says which batch of which query it took in, and is committed with it: a batch that the state has
already is not taken in again, and if its impact did not get into the feed it is worked out from the state.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from whence.session import Session
from whence.state import Applied, apply_change, impact_of, open_state
from whence.store import Store
from whence.streaming.feed import Feed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from whence.changes import Change
    from whence.lang import Program

QUERY_ID = "sql.streaming.queryId"  # what Spark calls the identity of a query that lives as long as its checkpoint
STREAMS = "streams"  # in an epoch's summary: by query, the last batch that is in the state


class Source(Protocol):
    """How the rows of a micro-batch are understood."""

    def change(self, batch: DataFrame, program: Program, lenient: bool) -> Change: ...


class Heard(Protocol):
    """Who wants to know of each epoch."""

    def __call__(self, applied: Applied) -> None: ...


class Stopped(Exception):
    """The batch is not taken in, and will be given again."""


class Follower:
    """To be given to `foreachBatch`. The session is opened with the first batch, and kept."""

    def __init__(
        self,
        state: str | os.PathLike[str],
        source: Source,
        feed: str | os.PathLike[str] | None = None,
        *,
        heard: Heard | None = None,
        lenient: bool = False,
        update: Mapping[str, Any] | None = None,
        opened: Mapping[str, Any] | None = None,
    ) -> None:
        self.store = Store.open(state)
        self.source = source
        self.feed = None if feed is None else Feed(feed)
        self.error: BaseException | None = None
        self._heard = heard
        self._lenient = lenient
        self._update = dict(update or {})
        self._opened = dict(opened or {})
        self._session: Session | None = None
        self._batch = Lock()
        self._stopped = False

    def __call__(self, batch: DataFrame, number: int) -> None:
        with self._batch:
            if self._stopped:
                raise Stopped
            try:
                query = batch.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
                self._take(batch, number, query or "")
            except BaseException as error:
                self.error = error  # Spark would pass on its text only
                self.close()
                raise

    def stop(self) -> None:
        """Takes in no further batch; waits for the one that is under way."""
        with self._batch:
            self._stopped = True

    def _take(self, batch: DataFrame, number: int, query: str) -> None:
        self.store.refresh()
        latest = self.store.latest
        streams: Mapping[str, int] = latest.summary.get(STREAMS, {})
        if number <= streams.get(query, -1):
            self._complete_feed(query, number)
            return
        session = self._current()
        change = self.source.change(batch, session.program, self._lenient)
        if not change:
            return
        marks = {"stream": query, "batch": number, STREAMS: {**streams, query: number}}
        applied = apply_change(session, change, lenient=self._lenient, summary=marks, **self._update)
        if self.feed is not None:
            self.feed.write(applied.epoch, applied.impact.inserted, applied.impact.deleted)
        if self._heard is not None:
            self._heard(applied)

    def _current(self) -> Session:
        """A session on the last epoch; opened again if others have changed the state meanwhile."""
        if self._session is not None and self._session.epoch != self.store.latest.number:
            self.close()
        if self._session is None:
            self._session = open_state(self.store, **self._opened)
        return self._session

    def _complete_feed(self, query: str, number: int) -> None:
        """The batch is in the state. If it was the last, its impact may be missing from the feed."""
        if self.feed is None:
            return
        for epoch in reversed(self.store.numbers):
            summary = self.store.epoch(epoch).summary
            if (summary.get("stream"), summary.get("batch")) == (query, number):
                if not self.feed.has(epoch):
                    self.feed.write(epoch, *impact_of(self.store, epoch))
                return

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None
