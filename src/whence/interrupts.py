"""When Ctrl-C may come: not between an array's growing and telling the kernel where it is, and not within a commit.

Python raises KeyboardInterrupt between any two calls. While a session works, its own handler is in place: an interrupt
that comes within `uninterrupted` waits until that is done, and one that comes after `hold` until the session is.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ContextDecorator, contextmanager
from types import FrameType, TracebackType

_held = 0  # how many say that an interrupt has to wait
_waiting: list[FrameType | None] = []
_listening = False


@contextmanager
def listening() -> Iterator[None]:
    """Only the main thread is interrupted, and by its outermost session; elsewhere there is nothing to do."""
    global _listening, _held
    handler = signal.getsignal(signal.SIGINT)
    if _listening or not _in_main_thread() or not callable(handler):
        yield
        return

    def interrupted(number: int, frame: FrameType | None) -> None:
        if _held:
            _waiting.append(frame)
        else:
            handler(number, frame)

    try:
        _listening, _held = True, 0
        signal.signal(signal.SIGINT, interrupted)
        yield
    finally:
        _held += 1  # until the handler of before is back
        signal.signal(signal.SIGINT, handler)
        _listening, _held = False, 0
        if _waiting:
            _deliver()


def hold() -> None:
    """From here on nothing is undone: an interrupt waits until the session has finished what it does."""
    global _held
    if _listening and _in_main_thread():
        _held += 1


class Uninterrupted(ContextDecorator):
    """`with uninterrupted:` what must not be cut in two. It is entered often, so it is made once and does little."""

    def __enter__(self) -> None:
        global _held
        if _in_main_thread():
            _held += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _held
        if _in_main_thread():
            _held -= 1
            if _waiting and not _held and error is None:
                _deliver()


uninterrupted = Uninterrupted()


def _in_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident


def _deliver() -> None:
    frame = _waiting[-1]
    _waiting.clear()
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler):
        handler(signal.SIGINT, frame)
