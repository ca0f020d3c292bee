"""The symbol table: every string of a program once, in UTF-8, with a code that stands for it in rows.

Codes are 0, 1, 2, … in order of first appearance, and never change. Strings lie one after the other in one array of
bytes; the kernel interns them, Python only makes room.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from types import SimpleNamespace

import numpy as np

from whence.interrupts import uninterrupted

from .kernel.text_layout import (
    SYMBOLS_WORDS,
    Y_BITS,
    Y_BYTES,
    Y_CAPACITY,
    Y_COUNT,
    Y_NEED,
    Y_OFFSETS,
    Y_ROOM,
    Y_SLOTS,
    Y_USED,
)
from .memory import Array
from .table import Words, grown

FIRST_BITS = 6
FIRST_SYMBOLS = 48
FIRST_BYTES = 1024


class SymbolTable:
    def __init__(self, kernel: SimpleNamespace) -> None:
        self.kernel = kernel
        self.descriptor = np.zeros(SYMBOLS_WORDS, np.int64)
        self.address = self.descriptor.ctypes.data
        self._fields = self.descriptor.data
        self._bytes = Array(np.uint8, FIRST_BYTES)
        self._offsets = Array(np.int64, FIRST_SYMBOLS + 1)
        self._slots = Array(np.int64, 1 << FIRST_BITS)
        self._fields[Y_BITS] = FIRST_BITS
        self._publish()

    def __len__(self) -> int:
        return self._fields[Y_COUNT]

    @property
    def nbytes(self) -> int:
        """Bytes in use: the strings, where they begin, and the hash slots."""
        return self._fields[Y_USED] + 8 * (len(self) + 1) + 8 * len(self._slots)

    # From strings to codes

    def encode(self, strings: Iterable[str]) -> Words:
        """The code of each string, interned if it is new."""
        parts = [_utf8(string) for string in strings]
        ends = np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)))
        starts = np.zeros_like(ends)
        starts[1:] = ends[:-1]
        data = b"".join(parts)
        return self.intern(_address(data), starts, ends)

    def code(self, string: str) -> int:
        """The code of one string, interned if it is new."""
        found = self.find(string)
        return int(self.encode((string,))[0]) if found is None else found

    def find(self, string: str) -> int | None:
        """The code of a string, or None if it is not a symbol yet."""
        data = _utf8(string)
        code: int = self.kernel.find_symbol(self.address, _address(data), len(data))
        return None if code < 0 else code

    def intern(self, base: int, starts: Words, ends: Words) -> Words:
        """The codes of strings given as UTF-8 bytes, from `base + start` to `base + end` in memory."""
        codes = np.empty(len(starts), np.int64)
        self.fill(
            lambda done: self.kernel.intern_spans(
                self.address, base, starts.ctypes.data, ends.ctypes.data, done, len(starts), codes.ctypes.data
            ),
            len(starts),
        )
        return codes

    def fill(self, kernel: Callable[[int], int], count: int) -> None:
        """Run a kernel that interns: told how many rows are done, it does more, until there is no room."""
        done = kernel(0)
        while done < count:
            self.make_room()
            done = kernel(done)

    # From codes to strings

    def text(self, code: int) -> str:
        return str(self._span(code), "utf-8")

    def decode(self, codes: Words) -> list[str]:
        """The string of each code. Each distinct code is decoded once."""
        if len(codes) < 64:
            return [self.text(code) for code in codes.tolist()]
        distinct, places = np.unique(codes, return_inverse=True)
        begins = self._offsets.view[distinct].tolist()
        ends = self._offsets.view[distinct + 1].tolist()
        data = self._bytes.view.data
        strings = np.empty(len(distinct), object)
        strings[:] = [str(data[begin:end], "utf-8") for begin, end in zip(begins, ends, strict=True)]
        texts: list[str] = strings[places].tolist()
        return texts

    def sizes(self, codes: Words) -> Words:
        """The number of bytes of each symbol."""
        sizes: Words = self._offsets.view[codes + 1] - self._offsets.view[codes]
        return sizes

    def sorted(self, codes: Words) -> Words:
        """Distinct codes in the order of their strings, by code point."""
        pairs = np.empty((len(codes), 2), np.int64)
        pairs[:, 1] = codes
        spare = np.empty_like(pairs)
        swapped = self.kernel.sort_symbols(self.address, pairs.ctypes.data, spare.ctypes.data, len(codes))
        result: Words = (spare if swapped else pairs)[:, 1].copy()
        return result

    @uninterrupted
    def make_room(self) -> None:
        """After a kernel stopped: twice of whatever is used up."""
        fields = self._fields
        count, bits = fields[Y_COUNT], fields[Y_BITS]
        if fields[Y_USED] + fields[Y_NEED] > fields[Y_ROOM]:
            self._bytes.grow(max(2 * fields[Y_ROOM], fields[Y_USED] + fields[Y_NEED]))
        if count >= fields[Y_CAPACITY]:
            self._offsets.grow(2 * fields[Y_CAPACITY] + 1)
        if count >= (1 << bits) - (1 << (bits - 2)):
            self._slots = grown(self.kernel, self._slots, bits)
            fields[Y_BITS] = bits + 1
        self._publish()

    def _publish(self) -> None:
        self._fields[Y_BYTES] = self._bytes.address
        self._fields[Y_ROOM] = len(self._bytes)
        self._fields[Y_OFFSETS] = self._offsets.address
        self._fields[Y_CAPACITY] = len(self._offsets) - 1
        self._fields[Y_SLOTS] = self._slots.address

    def _span(self, code: int) -> memoryview:
        if not 0 <= code < len(self):
            raise IndexError(f"there is no symbol with the code {code}")
        return self._bytes.view[self._offsets.view[code] : self._offsets.view[code + 1]].data


def _utf8(string: str) -> bytes:
    try:
        return string.encode()
    except UnicodeEncodeError as error:
        half = ascii(string[error.start])
        shown = repr(string) if len(string) <= 60 else repr(string[:60])[:-1] + "…'"
        raise ValueError(f"{shown} cannot be a symbol: {half} is half of a character; give whole ones") from None


def _address(data: bytes) -> int:
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0
