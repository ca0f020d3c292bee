"""Work that an interrupt must not cut in two: Ctrl-C waits until it is done.

Python raises KeyboardInterrupt between any two instructions. Between an array's growing and telling the kernel where it
is now, that would leave the kernel with memory that is gone; within a commit, half an epoch.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Only the main thread is ever interrupted, so that in others there is nothing to hold up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[FrameType | None] = []
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):  # ignored, or not Python's to handle
        yield
        return
    signal.signal(signal.SIGINT, lambda _, frame: waiting.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if waiting:
            handler(signal.SIGINT, waiting[0])
