"""Floats as text are the C library's business, and it heeds the locale: kernels that read or print them run in C's."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

ALL_CATEGORIES = 0x1FBF  # glibc's LC_ALL_MASK

# What Soufflé prints: files have enough digits to read back the same float, `to_string` has six after the point.
IN_FILES = ctypes.create_string_buffer(b"%.17g")
IN_STRINGS = ctypes.create_string_buffer(b"%f")


def address_of(text: ctypes.Array[ctypes.c_char]) -> int:
    return ctypes.addressof(text)


@contextmanager
def in_c_locale() -> Iterator[None]:
    """For this thread, a point is a point."""
    switch, locale = _c_locale()
    if locale is None:
        yield
        return
    before = switch(locale)
    try:
        yield
    finally:
        switch(before)


@cache
def _c_locale() -> tuple[Any, int | None]:
    library = ctypes.CDLL(None)
    try:
        make, switch = library.newlocale, library.uselocale
    except AttributeError:
        return None, None
    make.restype = switch.restype = ctypes.c_void_p
    make.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p]
    switch.argtypes = [ctypes.c_void_p]
    return switch, make(ALL_CATEGORIES, b"C", None)
