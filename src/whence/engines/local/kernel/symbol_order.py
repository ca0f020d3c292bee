"""The order of symbols: by bytes, which in UTF-8 is the order by code points."""

# mypy: ignore-errors
# ruff: noqa: F403, F405
from .c_library import compare_bytes, reversed_bytes, word_at
from .pointers import octets, words
from .rows import kernel
from .text_layout import *

SIGN = -9223372036854775808


@kernel
def order_of(symbols, a, b):
    if a == b:
        return 0
    offsets = words(symbols[Y_OFFSETS])
    a_length = offsets[a + 1] - offsets[a]
    b_length = offsets[b + 1] - offsets[b]
    difference = compare_bytes(symbols[Y_BYTES] + offsets[a], symbols[Y_BYTES] + offsets[b], min(a_length, b_length))
    if difference == 0:
        difference = a_length - b_length
    return (1 if difference > 0 else 0) - (1 if difference < 0 else 0)


@kernel
def compare_symbols(symbols_address, a_address, b_address, count, out_address):
    """-1, 0 or 1 for each pair."""
    symbols = words(symbols_address)
    a = words(a_address)
    b = words(b_address)
    out = words(out_address)
    for i in range(count):
        out[i] = order_of(symbols, a[i], b[i])
    return count


@kernel
def shared_start(symbols, pairs, count):
    """How many bytes all of the symbols begin with alike."""
    offsets = words(symbols[Y_OFFSETS])
    first = octets(symbols[Y_BYTES] + offsets[pairs[1]])
    shared = offsets[pairs[1] + 1] - offsets[pairs[1]]
    for i in range(1, count):
        code = pairs[2 * i + 1]
        text = octets(symbols[Y_BYTES] + offsets[code])
        shared = min(shared, offsets[code + 1] - offsets[code])
        k = 0
        while k < shared and text[k] == first[k]:
            k += 1
        shared = k
    return shared


@kernel
def sort_symbols(symbols_address, codes_address, spare_address, count):
    """Sort codes by text. Both arrays hold pairs: a word of leading bytes, filled in here, and the code.

    A merge sort, since it compares least, and most strings differ within the eight bytes after those they all share.
    Returns 1 if the result is in the spare array.
    """
    symbols = words(symbols_address)
    offsets = words(symbols[Y_OFFSETS])
    pairs = words(codes_address)
    shared = shared_start(symbols, pairs, count) if count > 0 else 0
    for i in range(count):
        code = pairs[2 * i + 1]
        begin = offsets[code] + shared
        length = offsets[code + 1] - begin
        if length >= 8:
            lead = reversed_bytes(word_at(symbols[Y_BYTES] + begin))
        else:
            text = octets(symbols[Y_BYTES] + begin)
            lead = 0
            for k in range(8):
                lead = (lead << 8) | (text[k] if k < length else 0)
        pairs[2 * i] = lead ^ SIGN
    source = codes_address
    target = spare_address
    width = 1
    while width < count:
        old = words(source)
        new = words(target)
        left = 0
        while left < count:
            middle = min(left + width, count)
            right = min(left + 2 * width, count)
            i = left
            j = middle
            for k in range(left, right):
                first = j >= right
                if i < middle and j < right:
                    x = old[2 * i]
                    y = old[2 * j]
                    first = x < y or (x == y and order_of(symbols, old[2 * i + 1], old[2 * j + 1]) <= 0)
                taken = i if first else j
                new[2 * k] = old[2 * taken]
                new[2 * k + 1] = old[2 * taken + 1]
                if first:
                    i += 1
                else:
                    j += 1
            left = right
        source, target = target, source
        width *= 2
    return 1 if source == spare_address else 0
