"""Growing arrays. Small ones are NumPy's; large ones are mapped pages, which grow in place and cost only what is used.

A page that was never written takes no memory, so capacity may run ahead of size; and growing a mapping moves page
tables, not bytes, so that there is no moment with two copies.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

MAPPED = 1 << 21  # from this many bytes on, one huge page, an array is mapped
_ADVICE = getattr(mmap, "MADV_HUGEPAGE", None)


class Array:
    """A one-dimensional array of zeros that can grow. `view` is the whole of it, `address` where it is; take them anew
    after growing."""

    def __init__(self, dtype: Any, length: int) -> None:
        self.dtype = np.dtype(dtype)
        self._pages: mmap.mmap | None = None
        self.view: np.ndarray[tuple[int], Any] = np.zeros(0, self.dtype)
        self._allocate(length)

    def __len__(self) -> int:
        return len(self.view)

    def grow(self, length: int) -> None:
        """Make it at least twice as long, keeping what is there."""
        old = self.view
        if self._pages is not None:
            self.view = old[:0].copy()
            kept = len(old)
            del old
            try:
                self._pages.resize(length * self.dtype.itemsize)
            except BufferError:  # someone still looks at the old rows: leave those to them
                old = np.frombuffer(self._pages, self.dtype)[:kept]
            else:
                self._map()
                return
        self._pages = None
        self._allocate(length)
        self.view[: len(old)] = old

    def _allocate(self, length: int) -> None:
        if length * self.dtype.itemsize < MAPPED:
            self.view = np.zeros(length, self.dtype)
            self.address = int(self.view.ctypes.data)
        else:
            self._pages = mmap.mmap(-1, length * self.dtype.itemsize, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            self._map()

    def _map(self) -> None:
        assert self._pages is not None
        if _ADVICE is not None:
            self._pages.madvise(_ADVICE)
        self.view = np.frombuffer(self._pages, self.dtype)
        self.address = int(self.view.ctypes.data)
