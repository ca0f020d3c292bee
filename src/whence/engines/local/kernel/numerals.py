"""Numbers read from text and written as text."""

# mypy: ignore-errors
# ruff: noqa: F403, F405
from .c_library import copy_bytes, float_from_text, print_float
from .pointers import as_bits, as_float, divide_unsigned, less_unsigned, octets, words
from .rows import kernel
from .symbols import intern
from .text_layout import *

LARGEST = 9223372036854775807
SMALLEST = -9223372036854775808

# Numbers from text. Each reader returns the value, where it stopped, and whether the number was out of range; one
# that stopped where it began has read nothing.


@kernel
def is_space(c):
    return c == 32 or (9 <= c <= 13)


@kernel
def digit_of(c):
    if 48 <= c <= 57:
        return c - 48
    if 97 <= c <= 102:
        return c - 87
    if 65 <= c <= 70:
        return c - 55
    return 99


@kernel
def read_integer(text, start, end, unsigned, prefixed):
    """An integer as C reads it: white space and a sign first. With `prefixed`, also 0x… and 0b…."""
    i = start
    negative = False
    base = 10
    if not prefixed:
        while i < end and is_space(text[i]):
            i += 1
    if i < end and (text[i] == 45 or text[i] == 43):
        negative = text[i] == 45
        i += 1
    if negative and unsigned:
        return 0, start, False
    if prefixed and i + 1 < end and text[i] == 48:
        marker = text[i + 1]
        if marker == 120:
            base = 16
        elif marker == 98:
            base = 2
        if base != 10:
            i += 2
    first = i
    value = 0
    limit = -1 if unsigned else (SMALLEST if negative else LARGEST)
    over = False
    while i < end:
        digit = digit_of(text[i])
        if digit >= base:
            break
        if i - first < 15:
            value = value * base + digit
        else:
            over = over or less_unsigned(divide_unsigned(limit - digit, base), value)
            value = value * base + digit
        i += 1
    if i == first:
        return 0, start, False
    return (-value if negative else value), i, over


@kernel
def power_of_ten(n):
    """Exact up to 22."""
    power = 1.0
    for _ in range(n):
        power *= 10.0
    return power


@kernel
def read_float(text_address, start, end, scratch):
    """The nearest double. Short decimals are computed; the rest are left to the C library."""
    text = octets(text_address)
    i = start
    negative = False
    if i < end and (text[i] == 45 or text[i] == 43):
        negative = text[i] == 45
        i += 1
    mantissa = 0
    digits = 0
    exponent = 0
    while i < end and 48 <= text[i] <= 57:
        mantissa = mantissa * 10 + (text[i] - 48)
        digits += 1
        i += 1
        if digits > 15:
            break
    if i < end and text[i] == 46:
        i += 1
        while i < end and digits <= 15 and 48 <= text[i] <= 57:
            mantissa = mantissa * 10 + (text[i] - 48)
            digits += 1
            exponent -= 1
            i += 1
    if i == end and 0 < digits <= 15 and exponent >= -22:
        value = float(mantissa) / power_of_ten(-exponent)
        return as_bits(-value if negative else value), end, False
    length = min(end - start, SCRATCH - 9)
    copy = octets(scratch + 8)
    copy_bytes(scratch + 8, text_address + start, length)
    copy[length] = 0
    value = float_from_text(scratch + 8, scratch)
    stop = start + words(scratch)[0] - (scratch + 8)
    if stop - start == length and stop < end:  # it may go on
        return 0, start, False
    k = start
    while k < stop and (is_space(text[k]) or text[k] == 45 or text[k] == 43):
        k += 1
    over = (value == float("inf") or value == float("-inf")) and k < stop and text[k] != 105 and text[k] != 73
    return as_bits(value), stop, over


@kernel
def has_prefix(text, start, end):
    i = start
    if i < end and text[i] == 45:
        i += 1
    return i + 1 < end and text[i] == 48 and (text[i + 1] == 120 or text[i + 1] == 98)


@kernel
def parse_symbols(symbols_address, codes_address, begin, count, kind, out_address, scratch):
    """Numbers that symbols begin with, as C++'s stoll and stod read them.

    Returns how many rows are done: fewer where a symbol begins with no number, or -1 - that where the number that it
    begins with is out of range.
    """
    symbols = words(symbols_address)
    offsets = words(symbols[Y_OFFSETS])
    codes = words(codes_address)
    out = words(out_address)
    text = octets(symbols[Y_BYTES])
    for i in range(begin, count):
        start = offsets[codes[i]]
        end = offsets[codes[i] + 1]
        if kind == FLOAT:
            value, stop, over = read_float(symbols[Y_BYTES], start, end, scratch)
        else:
            value, stop, over = read_integer(text, start, end, kind == UNSIGNED, has_prefix(text, start, end))
        if over:
            return -1 - i
        if stop == start:
            return i
        out[i] = value
    return count


# Numbers as text. Each writer returns where it stopped.


@kernel
def write_unsigned(text, position, value):
    length = 1
    rest = value
    while less_unsigned(9, rest):
        rest = divide_unsigned(rest, 10)
        length += 1
    end = position + length
    at = end
    rest = value
    while less_unsigned(9, rest):
        quotient = divide_unsigned(rest, 10)
        at -= 1
        text[at] = 48 + (rest - quotient * 10)
        rest = quotient
    text[at - 1] = 48 + rest
    return end


@kernel
def write_integer(text, position, value):
    if value < 0:
        text[position] = 45
        return write_unsigned(text, position + 1, -value)
    return write_unsigned(text, position, value)


@kernel
def whole_of(bits):
    """The integer that a float is, if that has at most 15 digits and is not -0; else SMALLEST."""
    value = as_float(bits)
    if bits == SMALLEST or not -1e15 < value < 1e15:
        return SMALLEST
    whole = int(value)
    return whole if float(whole) == value else SMALLEST


@kernel
def write_float(address, position, bits, format_address, room):
    return position + print_float(address + position, room, format_address, as_float(bits))


@kernel
def print_symbols(symbols_address, values_address, begin, count, kind, format_address, out_address):
    """Numbers as symbols; return how many are done."""
    symbols = words(symbols_address)
    values = words(values_address)
    out = words(out_address)
    for i in range(begin, count):
        used = symbols[Y_USED]
        if used + LONGEST_FIXED > symbols[Y_ROOM]:
            symbols[Y_NEED] = LONGEST_FIXED
            return i
        text = octets(symbols[Y_BYTES])
        if kind == FLOAT:
            end = write_float(symbols[Y_BYTES], used, values[i], format_address, LONGEST_FIXED)
        elif kind == UNSIGNED:
            end = write_unsigned(text, used, values[i])
        else:
            end = write_integer(text, used, values[i])
        code = intern(symbols, symbols[Y_BYTES] + used, end - used, False)
        if code < 0:
            return i
        out[i] = code
    return count
