"""Symbols interned in an arena: bytes of UTF-8, their codes, and hash slots over both.

Nothing allocates. Where a symbol table has no room, a kernel stops, says how many rows it has done, and Python makes
room.
"""

# mypy: ignore-errors
# ruff: noqa: F403, F405
from .c_library import copy_bytes, word_at
from .pointers import octets, words
from .rows import LOW, kernel, mix, tag_of
from .text_layout import *

HIGH_BITS = -9187201950435737472  # 0x8080808080808080


@kernel
def tag_of_bytes(address, length):
    h = length
    i = 0
    while i + 8 <= length:
        h = mix(h, word_at(address + i))
        i += 8
    if i < length:
        if length >= 8:
            h = mix(h, word_at(address + length - 8))
        else:
            text = octets(address)
            tail = 0
            for k in range(length):
                tail = (tail << 8) | text[k]
            h = mix(h, tail)
    return tag_of(h)


@kernel
def same_bytes(a, b, length):
    i = 0
    while i + 8 <= length:
        if word_at(a + i) != word_at(b + i):
            return False
        i += 8
    if i == length:
        return True
    if length >= 8:
        return word_at(a + length - 8) == word_at(b + length - 8)
    left = octets(a)
    right = octets(b)
    for k in range(length):  # noqa: SIM110
        if left[k] != right[k]:
            return False
    return True


@kernel
def is_utf8(address, length):
    text = octets(address)
    i = 0
    while i < length:
        if i + 8 <= length and (word_at(address + i) & HIGH_BITS) == 0:
            i += 8
            continue
        first = text[i]
        if first < 0x80:
            i += 1
            continue
        if first < 0xC2 or first > 0xF4:
            return False
        extra = 1 if first < 0xE0 else (2 if first < 0xF0 else 3)
        if i + extra >= length:
            return False
        second = text[i + 1]
        low = 0x80
        high = 0xBF
        if first == 0xE0:
            low = 0xA0  # else a longer form of a shorter character
        elif first == 0xED:
            high = 0x9F  # else half of a surrogate pair
        elif first == 0xF0:
            low = 0x90
        elif first == 0xF4:
            high = 0x8F
        if second < low or second > high:
            return False
        for k in range(2, extra + 1):
            if text[i + k] < 0x80 or text[i + k] > 0xBF:
                return False
        i += extra + 1
    return True


@kernel
def look_up(symbols, address, length, tag):
    """The place of a string in the slots: that of its entry, or the free one where it would go."""
    slots = words(symbols[Y_SLOTS])
    offsets = words(symbols[Y_OFFSETS])
    bits = symbols[Y_BITS]
    mask = (1 << bits) - 1
    place = tag >> (32 - bits)
    while True:
        slot = slots[place]
        if slot == 0:
            return place
        if ((slot >> 32) & LOW) == tag:
            code = (slot & LOW) - 1
            begin = offsets[code]
            if offsets[code + 1] - begin == length and same_bytes(symbols[Y_BYTES] + begin, address, length):
                return place
        place = (place + 1) & mask


@kernel
def intern(symbols, address, length, checked):
    """The code of a string, new if need be. It may lie in the free part of the arena, to be kept there."""
    tag = tag_of_bytes(address, length)
    place = look_up(symbols, address, length, tag)
    slots = words(symbols[Y_SLOTS])
    slot = slots[place]
    if slot != 0:
        return (slot & LOW) - 1
    if checked and not is_utf8(address, length):
        return INVALID
    bits = symbols[Y_BITS]
    code = symbols[Y_COUNT]
    used = symbols[Y_USED]
    full = code >= min(symbols[Y_CAPACITY], (1 << bits) - (1 << (bits - 2)))
    if full or used + length > symbols[Y_ROOM]:
        symbols[Y_NEED] = length
        return FULL
    home = symbols[Y_BYTES] + used
    if address != home:
        copy_bytes(home, address, length)
    offsets = words(symbols[Y_OFFSETS])
    offsets[code + 1] = used + length
    symbols[Y_USED] = used + length
    symbols[Y_COUNT] = code + 1
    slots[place] = (tag << 32) | (code + 1)
    return code


@kernel
def intern_spans(symbols_address, base, starts_address, ends_address, begin, count, out_address):
    """Codes of the strings at base + start … base + end; return how many are done, fewer where there was no room."""
    symbols = words(symbols_address)
    starts = words(starts_address)
    ends = words(ends_address)
    out = words(out_address)
    for i in range(begin, count):
        code = intern(symbols, base + starts[i], ends[i] - starts[i], False)
        if code < 0:
            return i
        out[i] = code
    return count


@kernel
def find_symbol(symbols_address, address, length):
    """The code of a string, or -1 if it is not a symbol yet."""
    symbols = words(symbols_address)
    place = look_up(symbols, address, length, tag_of_bytes(address, length))
    return (words(symbols[Y_SLOTS])[place] & LOW) - 1
