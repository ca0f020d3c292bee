"""Arithmetic and comparison of whole registers. Values are int64; floats are their bits."""

# ruff: noqa: F403, F405, SIM109
from .layout import *
from .pointers import (
    as_bits,
    as_float,
    divide,
    divide_unsigned,
    float_of_unsigned,
    less_unsigned,
    octets,
    remainder,
    remainder_unsigned,
    shift_right_unsigned,
    unsigned_of_float,
    words,
)
from .rows import kernel


@kernel
def holds(comparison, a, b):
    if comparison == EQ:
        return a == b
    if comparison == NE:
        return a != b
    if comparison == LT_I:
        return a < b
    if comparison == LE_I:
        return a <= b
    if comparison == LT_U:
        return less_unsigned(a, b)
    if comparison == LE_U:
        return not less_unsigned(b, a)
    if comparison == LT_F:
        return as_float(a) < as_float(b)
    return as_float(a) <= as_float(b)


@kernel
def unary(operation, to, a, count):
    for i in range(count):
        x = a[i]
        if operation == COPY:
            r = x
        elif operation == NEG_I:
            r = -x
        elif operation == NEG_F:
            r = as_bits(-as_float(x))
        elif operation == BNOT:
            r = ~x
        elif operation == LNOT:
            r = 1 if x == 0 else 0
        elif operation == I_TO_F:
            r = as_bits(float(x))
        elif operation == U_TO_F:
            r = as_bits(float_of_unsigned(x))
        elif operation == F_TO_I:
            r = int(as_float(x))
        else:
            r = unsigned_of_float(as_float(x))
        to[i] = r


@kernel
def binary(operation, to, a, b, count):
    """False where an integer is divided by zero; nothing is promised of `to` then."""
    if DIV_I <= operation <= MOD_U and operation != DIV_F:
        for i in range(count):
            if b[i] == 0:
                return False
    for i in range(count):
        x = a[i]
        y = b[i]
        if operation == ADD_I:
            r = x + y
        elif operation == SUB_I:
            r = x - y
        elif operation == MUL_I:
            r = x * y
        elif operation == DIV_I:
            r = -x if y == -1 else divide(x, y)  # the least number by -1 traps on some machines
        elif operation == MOD_I:
            r = 0 if y == -1 else remainder(x, y)
        elif operation == DIV_U:
            r = divide_unsigned(x, y)
        elif operation == MOD_U:
            r = remainder_unsigned(x, y)
        elif operation == ADD_F:
            r = as_bits(as_float(x) + as_float(y))
        elif operation == SUB_F:
            r = as_bits(as_float(x) - as_float(y))
        elif operation == MUL_F:
            r = as_bits(as_float(x) * as_float(y))
        elif operation == DIV_F:
            r = as_bits(as_float(x) / as_float(y))
        elif operation == POW_I or operation == POW_U:
            r = power(x, y, operation == POW_U)
        elif operation == POW_F:
            r = as_bits(as_float(x) ** as_float(y))
        elif operation == BAND:
            r = x & y
        elif operation == BOR:
            r = x | y
        elif operation == BXOR:
            r = x ^ y
        elif operation == BSHL:
            r = x << (y & 63)
        elif operation == BSHR_I:
            r = x >> (y & 63)
        elif operation == BSHR_U:
            r = shift_right_unsigned(x, y & 63)
        elif operation == LAND:
            r = 1 if x != 0 and y != 0 else 0
        elif operation == LOR:
            r = 1 if x != 0 or y != 0 else 0
        elif operation == LXOR:
            r = 1 if (x != 0) != (y != 0) else 0
        elif operation == MIN_I:
            r = min(x, y)
        elif operation == MAX_I:
            r = max(x, y)
        elif operation == MIN_U:
            r = x if less_unsigned(x, y) else y
        elif operation == MAX_U:
            r = y if less_unsigned(x, y) else x
        elif operation == MIN_F:
            r = x if as_float(x) < as_float(y) else y
        else:
            r = y if as_float(x) < as_float(y) else x
        to[i] = r
    return True


@kernel
def power(base, exponent, unsigned):
    """Integer power, wrapping; a negative exponent gives 0 but for the bases 1 and -1."""
    if exponent < 0 and not unsigned:
        if base == 1:
            return 1
        if base == -1:
            return -1 if exponent & 1 else 1
        return 0
    result = 1
    while exponent != 0:
        if exponent & 1:
            result *= base
        base *= base
        exponent = shift_right_unsigned(exponent, 1)
    return result


@kernel
def compute_column(operation, operands, to_address, a_address, b_address, count):
    """An operation of one or two operands on whole columns; 1 where an integer is divided by zero, else 0."""
    if operands == 1:
        unary(operation, words(to_address), words(a_address), count)
        return 0
    return 0 if binary(operation, words(to_address), words(a_address), words(b_address), count) else 1


@kernel
def compare_columns(comparison, a_address, b_address, flags_address, count):
    """Whether a comparison holds, for each row of two columns."""
    a = words(a_address)
    b = words(b_address)
    flags = octets(flags_address)
    for i in range(count):
        flags[i] = 1 if holds(comparison, a[i], b[i]) else 0
    return 0
