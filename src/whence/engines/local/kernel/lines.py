"""Rows from lines of text, and lines of text from rows."""

# mypy: ignore-errors
# ruff: noqa: F403, F405, SIM109
from .c_library import copy_bytes
from .numerals import (
    SMALLEST,
    has_prefix,
    read_float,
    read_integer,
    whole_of,
    write_float,
    write_integer,
    write_unsigned,
)
from .pointers import octets, words
from .rows import kernel
from .symbols import intern
from .text_layout import *

NEWLINE, RETURN = 10, 13
OPENING, CLOSING, COMMA, SPACE, QUOTE, ESCAPE = 91, 93, 44, 32, 34, 92


@kernel
def delimiter_at(text, position, delimiter, length):
    for k in range(length):  # noqa: SIM110 (a newline is in no delimiter, so this stops before the text ends)
        if text[position + k] != delimiter[k]:
            return False
    return True


@kernel
def end_of_field(text, start, delimiter, delimiter_length):
    """Where the field that begins at `start` ends: at a delimiter, or at the end of its line."""
    first = delimiter[0]
    i = start
    while True:
        c = text[i]
        if c == NEWLINE:
            return i - 1 if i > start and text[i - 1] == RETURN else i
        if c == first and (delimiter_length == 1 or delimiter_at(text, i, delimiter, delimiter_length)):
            return i
        i += 1


@kernel
def end_of_bracketed(text, start, delimiter, delimiter_length):
    """The same where the delimiter may also stand inside brackets; -1 if these are not balanced.

    Inside brackets, a field that begins with a quote ends with one, and what is between does not count.
    """
    depth = 0
    before = 0
    i = start
    while True:
        c = text[i]
        if c == NEWLINE:
            if depth != 0:
                return -1
            return i - 1 if i > start and text[i - 1] == RETURN else i
        if depth == 0 and delimiter_at(text, i, delimiter, delimiter_length):
            return i
        if c == OPENING:
            depth += 1
        elif c == CLOSING:
            depth -= 1
            if depth < 0:
                return -1
        elif c == QUOTE and depth > 0 and (before == OPENING or before == COMMA):
            i += 1
            while text[i] != QUOTE and text[i] != NEWLINE:
                i += 2 if text[i] == ESCAPE and text[i + 1] != NEWLINE else 1
            if text[i] == NEWLINE:
                return -1
        if c != SPACE:
            before = c
        i += 1


@kernel
def read_rows(reader_address):
    """Read lines into rows until the text ends, there is no room, or a line is wrong; say which.

    A line is taken as a whole or not at all: what was interned for one that has to be read again is found again.
    """
    reader = words(reader_address)
    text_address = reader[R_TEXT]
    text = octets(text_address)
    length = reader[R_LENGTH]
    rows = words(reader[R_ROWS])
    arity = reader[R_ARITY]
    count = reader[R_COUNT]
    plan = words(reader[R_PLAN])
    fields = reader[R_FIELDS]
    delimiter = octets(reader[R_DELIMITER])
    delimiter_length = reader[R_DELIMITER_LENGTH]
    first_of_delimiter = delimiter[0]
    plain = reader[R_PLAIN] != 0
    position = reader[R_POSITION]
    line = reader[R_LINE]
    status = READ
    line_start = position
    start = position
    end = position
    field = 0
    while position < length:
        if count >= reader[R_CAPACITY]:
            status = FULL_ROWS
            break
        line_start = position
        base = count * arity
        last = False
        field = 0
        while field < fields:
            start = position
            if last:
                status = TOO_FEW
                start = end
                break
            step = plan[field]
            kind = step & ((1 << KIND_BITS) - 1)
            target = base + (step >> KIND_BITS)
            end = -1
            if step >= 0 and kind <= UNSIGNED and plain:
                # Nearly all numbers are short and plain, so that finding their end and their value is one loop.
                i = start
                negative = kind == NUMBER and text[i] == 45
                if negative:
                    i += 1
                begin = i
                value = 0
                while 48 <= text[i] <= 57:
                    value = value * 10 + (text[i] - 48)
                    i += 1
                c = text[i]
                closed = c == first_of_delimiter or c == NEWLINE or (c == RETURN and text[i + 1] == NEWLINE)
                if closed and 0 < i - begin <= 18:
                    rows[target] = -value if negative else value
                    end = i
            if end < 0:
                if reader[R_BRACKETS] != 0:
                    end = end_of_bracketed(text, start, delimiter, delimiter_length)
                    if end < 0 and step >= 0 and kind == RECORD:
                        status = UNBALANCED
                        end = end_of_field(text, start, delimiter, delimiter_length)
                        break
                if end < 0:
                    end = end_of_field(text, start, delimiter, delimiter_length)
                if step < 0:
                    pass
                elif kind == WANTED:
                    status = FOUND
                    break
                elif kind >= SYMBOL:
                    table = words(reader[R_SYMBOLS] if kind == SYMBOL else reader[R_TEXTS])
                    code = intern(table, text_address + start, end - start, True)
                    if code < 0:
                        status = FULL_SYMBOLS if kind == SYMBOL else FULL_TEXTS
                        if code == INVALID:
                            status = NOT_UTF8
                        break
                    rows[target] = code
                else:
                    if kind == FLOAT:
                        value, stop, over = read_float(text_address, start, end, reader[R_SCRATCH])
                    else:
                        unsigned = kind == UNSIGNED
                        prefixed = unsigned and has_prefix(text, start, end)
                        value, stop, over = read_integer(text, start, end, unsigned, prefixed)
                    if stop < end or stop == start:
                        status = NOT_A_NUMBER
                        break
                    if over:
                        status = OUT_OF_RANGE
                        break
                    rows[target] = value
            c = text[end]
            if c == NEWLINE:
                last = True
                position = end + 1
            elif c == RETURN and text[end + 1] == NEWLINE:
                last = True
                position = end + 2
            else:
                position = end + delimiter_length
            field += 1
        if status != READ:
            break
        if not last:
            if reader[R_EXACT] != 0:
                status = TOO_MANY
                start = position
                break
            while text[position] != NEWLINE:
                position += 1
            position += 1
        count += 1
        line += 1
    if status != READ and status != FULL_ROWS:
        position = line_start
    reader[R_POSITION] = position
    reader[R_LINE] = line
    reader[R_COUNT] = count
    reader[R_AT] = start
    reader[R_END] = end
    reader[R_FIELD] = field
    return status


@kernel
def write_rows(writer_address):
    """Write rows as lines until all are written or the buffer is full; return how many are written in all."""
    writer = words(writer_address)
    rows = words(writer[W_ROWS])
    arity = writer[W_ARITY]
    columns = words(writer[W_COLUMNS])
    delimiter_length = writer[W_DELIMITER_LENGTH]
    buffer = octets(writer[W_BUFFER])
    room = writer[W_ROOM]
    position = writer[W_USED]
    row = writer[W_ROW]
    while row < writer[W_COUNT]:
        need = arity * (LONGEST_GENERAL + delimiter_length) + 1
        for c in range(arity):
            if columns[2 * c] >= SYMBOL:
                offsets = words(words(columns[2 * c + 1])[Y_OFFSETS])
                code = rows[row * arity + c]
                need += offsets[code + 1] - offsets[code]
        if position + need > room:
            writer[W_NEED] = need
            break
        for c in range(arity):
            if c > 0:
                copy_bytes(writer[W_BUFFER] + position, writer[W_DELIMITER], delimiter_length)
                position += delimiter_length
            kind = columns[2 * c]
            value = rows[row * arity + c]
            if kind == NUMBER:
                position = write_integer(buffer, position, value)
            elif kind == UNSIGNED:
                position = write_unsigned(buffer, position, value)
            elif kind == FLOAT:
                whole = whole_of(value)
                if whole != SMALLEST:
                    position = write_integer(buffer, position, whole)
                else:
                    position = write_float(writer[W_BUFFER], position, value, writer[W_FORMAT], LONGEST_GENERAL)
            else:
                symbols = words(columns[2 * c + 1])
                offsets = words(symbols[Y_OFFSETS])
                size = offsets[value + 1] - offsets[value]
                copy_bytes(writer[W_BUFFER] + position, symbols[Y_BYTES] + offsets[value], size)
                position += size
        buffer[position] = NEWLINE
        position += 1
        row += 1
    writer[W_USED] = position
    writer[W_ROW] = row
    return row
