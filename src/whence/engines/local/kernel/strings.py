"""Functors over columns of symbols: length, concatenation, substring, search. A character is a code point."""

# mypy: ignore-errors
# ruff: noqa: F403, F405
from .c_library import copy_bytes, find_bytes
from .pointers import octets, words
from .rows import kernel
from .symbols import intern
from .text_layout import *


@kernel
def count_characters(address, length):
    """Bytes that do not continue a character."""
    text = octets(address)
    total = 0
    for i in range(length):
        total += 1 if (text[i] & 0xC0) != 0x80 else 0
    return total


@kernel
def measure_symbols(symbols_address, codes_address, count, out_address):
    symbols = words(symbols_address)
    offsets = words(symbols[Y_OFFSETS])
    codes = words(codes_address)
    out = words(out_address)
    for i in range(count):
        begin = offsets[codes[i]]
        out[i] = count_characters(symbols[Y_BYTES] + begin, offsets[codes[i] + 1] - begin)
    return count


@kernel
def join_symbols(symbols_address, columns_address, width, begin, count, out_address):
    """The symbols of each row of some columns, one after the other; return how many rows are done."""
    symbols = words(symbols_address)
    offsets = words(symbols[Y_OFFSETS])
    columns = words(columns_address)
    out = words(out_address)
    for i in range(begin, count):
        length = 0
        for k in range(width):
            code = words(columns[k])[i]
            length += offsets[code + 1] - offsets[code]
        used = symbols[Y_USED]
        if used + length > symbols[Y_ROOM]:
            symbols[Y_NEED] = length
            return i
        home = symbols[Y_BYTES] + used
        end = home
        for k in range(width):
            code = words(columns[k])[i]
            size = offsets[code + 1] - offsets[code]
            copy_bytes(end, symbols[Y_BYTES] + offsets[code], size)
            end += size
        joined = intern(symbols, home, length, False)
        if joined < 0:
            return i
        out[i] = joined
    return count


@kernel
def skip_characters(text, position, end, number):
    """Where the character is that comes `number` characters after `position`; the end if there are not so many."""
    while number > 0 and position < end:
        position += 1
        while position < end and (text[position] & 0xC0) == 0x80:
            position += 1
        number -= 1
    return position, number


@kernel
def cut_symbols(
    symbols_address, codes_address, starts_address, lengths_address, begin, count, out_address, wrong_address
):
    """Substrings by characters. A start outside the string is flagged and gives "", a negative length the rest."""
    symbols = words(symbols_address)
    offsets = words(symbols[Y_OFFSETS])
    codes = words(codes_address)
    starts = words(starts_address)
    lengths = words(lengths_address)
    out = words(out_address)
    wrong = octets(wrong_address)
    text = octets(symbols[Y_BYTES])
    for i in range(begin, count):
        end = offsets[codes[i] + 1]
        first, lacking = skip_characters(text, offsets[codes[i]], end, starts[i])
        outside = starts[i] < 0 or lacking > 0
        wrong[i] = 1 if outside else 0
        last = end
        if outside:
            last = first
        elif lengths[i] >= 0:
            last, _ = skip_characters(text, first, end, lengths[i])
        code = intern(symbols, symbols[Y_BYTES] + first, last - first, False)
        if code < 0:
            return i
        out[i] = code
    return count


@kernel
def search_symbols(symbols_address, needles_address, texts_address, count, out_address):
    """Flags: is the one contained in the other?"""
    symbols = words(symbols_address)
    offsets = words(symbols[Y_OFFSETS])
    needles = words(needles_address)
    texts = words(texts_address)
    out = octets(out_address)
    bytes_address = symbols[Y_BYTES]
    for i in range(count):
        needle = needles[i]
        text = texts[i]
        needle_length = offsets[needle + 1] - offsets[needle]
        length = offsets[text + 1] - offsets[text]
        found = needle == text or needle_length == 0
        if not found and needle_length < length:
            found = (
                find_bytes(bytes_address + offsets[text], length, bytes_address + offsets[needle], needle_length) != 0
            )
        out[i] = 1 if found else 0
    return count
