"""Evaluate a rule version: bindings pass through its levels, a chunk of rows at a time, into a buffer.

A level opens by reading rows (a scan, or a probe for each row of the level above) and goes on with instructions
that compute on or drop rows in place. The deepest level emits. The version stops when its buffer is full or it has
run for a while, and goes on where it was; so memory is bounded and Python can look at the clock in between.
"""

# ruff: noqa: F403, F405, SIM109
from .layout import *
from .operations import binary, holds, unary
from .pointers import halves, prefetch, words
from .rows import LOW, kernel, mix, tag_of


@kernel
def tags_of(tags, code, keys, width, registers, count):
    """The hash tags of `count` keys, whose registers are listed at code[keys:]."""
    for i in range(count):
        tags[i] = 0
    for k in range(width):
        column = words(registers + code[keys + k] * (CHUNK * 8))
        for i in range(count):
            tags[i] = mix(tags[i], column[i])
    for i in range(count):
        tags[i] = tag_of(tags[i])


@kernel
def find_all(found, view, whole, code, keys, width, registers, count):
    """For each of `count` keys the newest row that has it, or -1. `whole`: the key is the row, use the table's set."""
    table = words(view[V_TABLE])
    index = words(view[V_INDEX])
    rows = words(table[T_ROWS])
    arity = table[T_ARITY]
    if whole:
        slots_address = table[T_SLOTS]
        bits = table[T_BITS]
    else:
        slots_address = index[X_SLOTS]
        bits = index[X_BITS]
    slots = words(slots_address)
    shift = 32 - bits
    mask = (1 << bits) - 1
    tags_of(found, code, keys, width, registers, count)
    for i in range(count):
        prefetch(slots_address + ((found[i] >> shift) << 3))
    for i in range(count):
        tag = found[i]
        place = tag >> shift
        row = -1
        while True:
            slot = slots[place]
            if slot == 0:
                break
            if ((slot >> 32) & LOW) == tag:
                candidate = (slot & LOW) - 1
                same = True
                for k in range(width):
                    column = words(registers + code[keys + k] * (CHUNK * 8))
                    c = k if whole else index[X_COLUMNS + k]
                    if rows[candidate * arity + c] != column[i]:
                        same = False
                        break
                if same:
                    row = candidate
                    break
            place = (place + 1) & mask
        found[i] = row


@kernel
def keep(flags, code, live, registers, count):
    """Drop the rows whose flag is 0 from the live registers listed at code[live:]; return how many are left."""
    kept = 0
    for i in range(count):
        kept += flags[i]
    if kept == count:
        return count
    for k in range(code[live]):
        column = words(registers + code[live + 1 + k] * (CHUNK * 8))
        to = 0
        for i in range(count):
            column[to] = column[i]
            to += flags[i]
    return kept


@kernel
def load(table, rows_register, code, p, registers, count):
    """Copy columns of the rows numbered in a register; code[p:] is a list of columns, then of registers."""
    rows = words(table[T_ROWS])
    arity = table[T_ARITY]
    width = code[p]
    for k in range(width):
        c = code[p + 1 + k]
        to = words(registers + code[p + 2 + width + k] * (CHUNK * 8))
        if c == arity:
            stamps = halves(table[T_STAMPS])
            for i in range(count):
                to[i] = stamps[rows_register[i]] & ITERATION
        else:
            for i in range(count):
                to[i] = rows[rows_register[i] * arity + c]


@kernel
def shown(view, stamp):
    """Whether a view with a mask shows rows of this stamp."""
    return ((stamp & view[V_MASK]) == view[V_VALUE]) == (view[V_SENSE] != 0)


@kernel
def scan_shown(code, p, view, table, registers, level, chosen):
    """The next rows that the view shows; `chosen` is to hold their numbers."""
    stamps = halves(table[T_STAMPS])
    r = level[L_CURSOR]
    high = view[V_HIGH]
    count = 0
    while r < high and count < CHUNK:
        if shown(view, stamps[r]):
            chosen[count] = r
            count += 1
        r += 1
    level[L_CURSOR] = r
    load(table, chosen, code, p + 2, registers, count)
    return count


@kernel
def scan(code, p, views, registers, level, chosen):
    view_words = words(views + code[p + 1] * (VIEW_WORDS * 8))
    table = words(view_words[V_TABLE])
    if view_words[V_MASK] != 0:
        return scan_shown(code, p, view_words, table, registers, level, chosen)
    rows = words(table[T_ROWS])
    arity = table[T_ARITY]
    start = level[L_CURSOR]
    count = min(view_words[V_HIGH] - start, CHUNK)
    if count <= 0:
        return 0
    width = code[p + 2]
    for k in range(width):
        c = code[p + 3 + k]
        to = words(registers + code[p + 4 + width + k] * (CHUNK * 8))
        for i in range(count):
            to[i] = rows[(start + i) * arity + c]
    level[L_CURSOR] = start + count
    return count


@kernel
def after_list(code, p):
    return p + 1 + code[p]


@kernel
def probe(code, p, views, registers, level, above):
    """Up to CHUNK matches for the rows of the level above, from where the last call stopped."""
    view = words(views + code[p + 1] * (VIEW_WORDS * 8))
    table = words(view[V_TABLE])
    low = view[V_LOW]
    high = view[V_HIGH]
    crossing = code[p] == CROSS
    keys = p + 2
    q = keys if crossing else after_list(code, keys)
    left = words(registers + code[q] * (CHUNK * 8))
    right = words(registers + code[q + 1] * (CHUNK * 8))
    heads = words(registers + code[q + 2] * (CHUNK * 8))
    q += 3
    cursor = level[L_CURSOR]
    chain = level[L_CHAIN]
    parents = above[L_ROWS]
    masked = view[V_MASK] != 0
    stamps = halves(table[T_STAMPS])
    count = 0
    if crossing:
        while cursor < parents and count < CHUNK:
            if chain < low:
                chain = low
            stop = min(high, chain + CHUNK - count)
            while chain < stop:
                left[count] = cursor
                right[count] = chain
                count += 1 if not masked or shown(view, stamps[chain]) else 0
                chain += 1
            if chain >= high:
                cursor += 1
                chain = -1
    elif view[V_INDEX] == 0:
        if cursor == 0 and chain == -2:
            find_all(heads, view, True, code, keys + 1, code[keys], registers, parents)
            chain = -1
        while cursor < parents:  # at most one row for each, so all of them fit
            row = heads[cursor]
            left[count] = cursor
            right[count] = row
            count += 1 if low <= row < high and (not masked or shown(view, stamps[row])) else 0
            cursor += 1
    else:
        following = halves(words(view[V_INDEX])[X_NEXT])
        if cursor == 0 and chain == -2:
            find_all(heads, view, False, code, keys + 1, code[keys], registers, parents)
            chain = -1
            last = -1
            below = -1
            for i in range(parents):
                r = heads[i]
                if r != last:  # else the same key, which may have a long chain
                    last = r
                    while r >= high:
                        r = following[r]
                    below = r if r >= low else -1
                heads[i] = below
            chain = heads[0] if parents > 0 else -1
        while count < CHUNK:
            if chain < low:
                cursor += 1
                if cursor >= parents:
                    break
                chain = heads[cursor]
                continue
            left[count] = cursor
            right[count] = chain
            count += 1 if not masked or shown(view, stamps[chain]) else 0
            chain = following[chain]
    level[L_CURSOR] = cursor
    level[L_CHAIN] = chain
    if count == 0:
        return 0
    width = code[q]
    for k in range(width):
        source = words(registers + code[q + 1 + k] * (CHUNK * 8))
        to = words(registers + code[q + 2 + width + k] * (CHUNK * 8))
        for i in range(count):
            to[i] = source[left[i]]
    load(table, right, code, q + 2 + 2 * width, registers, count)
    return count


@kernel
def rows_shown(view, most):
    """How many rows the view shows, counting no further than `most`."""
    low = view[V_LOW]
    high = view[V_HIGH]
    if view[V_MASK] == 0:
        return max(high - low, 0)
    stamps = halves(words(view[V_TABLE])[T_STAMPS])
    count = 0
    for r in range(low, high):
        if shown(view, stamps[r]):
            count += 1
            if count == most:
                break
    return count


@kernel
def in_view(flags, view, whole, wanted, code, keys, width, registers, count):
    """Set flags to 1 where a row of the view has the key, and so differs or not from `wanted`."""
    low = view[V_LOW]
    high = view[V_HIGH]
    masked = view[V_MASK] != 0
    stamps = halves(words(view[V_TABLE])[T_STAMPS])
    if width == 0 and not whole:
        there = 1 if (rows_shown(view, 1) > 0) == wanted else 0
        for i in range(count):
            flags[i] = there
        return
    find_all(flags, view, whole, code, keys, width, registers, count)
    if whole:
        for i in range(count):
            r = flags[i]
            found = low <= r < high and (not masked or shown(view, stamps[r]))
            flags[i] = 1 if found == wanted else 0
    else:
        following = halves(words(view[V_INDEX])[X_NEXT])
        for i in range(count):
            r = flags[i]
            while r >= high or (masked and r >= low and r >= 0 and not shown(view, stamps[r])):
                r = following[r]
            flags[i] = 1 if (r >= low and r >= 0) == wanted else 0


@kernel
def times(weight, matches):
    if weight < MOST_DERIVATIONS and matches < MOST_DERIVATIONS:
        return weight * matches
    return MOST_WEIGHT if matches > 0 and weight > MOST_WEIGHT // matches else weight * matches


@kernel
def weigh(flags, view, code, keys, width, registers, count):
    """Multiply each weight by the number of rows of the view that have the key; return how many rows were met.

    A key that comes again in the chunk is not counted again, as its chain may be long: its newest row is remembered.
    """
    weights = words(registers + code[keys + width] * (CHUNK * 8))
    heads = words(registers + code[keys + width + 1] * (CHUNK * 8))
    lengths = words(registers + code[keys + width + 2] * (CHUNK * 8))
    low = view[V_LOW]
    high = view[V_HIGH]
    masked = view[V_MASK] != 0
    stamps = halves(words(view[V_TABLE])[T_STAMPS])
    if width == 0:
        matches = rows_shown(view, MOST_DERIVATIONS)
        for i in range(count):
            weights[i] = times(weights[i], matches)
            flags[i] = 1 if matches > 0 else 0
        return high - low if masked else 0
    find_all(flags, view, False, code, keys, width, registers, count)
    following = halves(words(view[V_INDEX])[X_NEXT])
    for i in range(CHUNK):
        heads[i] = -1
        lengths[i] = 0
    met = 0
    for i in range(count):
        r = flags[i]
        memory = r & (CHUNK - 1)
        if r != heads[memory]:
            heads[memory] = r
            matches = 0
            while r >= high:
                r = following[r]
                met += 1
            while r >= low and r >= 0:
                matches += 1 if not masked or shown(view, stamps[r]) else 0
                met += 1
                r = following[r]
            lengths[memory] = matches
        weights[i] = times(weights[i], lengths[memory])
        flags[i] = 1 if lengths[memory] > 0 else 0
    return met


@kernel
def evaluate(code_address, views, registers, state_address, flags_address, out_address, weights_address, capacity):
    """Run a version until it is done, its buffer is full or its budget is spent; return the rows emitted.

    State says where it stands, in S_ERROR why it stopped.
    """
    code = words(code_address)
    state = words(state_address)
    flags = words(flags_address)
    out = words(out_address)
    weights = words(weights_address)
    last = code[0] - 1
    depth = state[S_DEPTH]
    budget = state[S_BUDGET]
    emitted = 0
    while depth >= 0:
        if (depth == last and capacity - emitted < CHUNK) or budget <= 0:
            state[S_DEPTH] = depth
            state[S_ERROR] = SUSPENDED
            return emitted
        budget -= 1
        level = words(state_address + (S_LEVELS + depth * LEVEL_WORDS) * 8)
        p = code[1 + depth]
        opening = code[p]
        if opening == SCAN:
            count = scan(code, p, views, registers, level, flags)
            p = after_list(code, after_list(code, p + 2))
        elif opening == UNIT:
            count = 1 if level[L_CURSOR] == 0 else 0
            level[L_CURSOR] = 1
            p += 1
        else:
            above = words(state_address + (S_LEVELS + (depth - 1) * LEVEL_WORDS) * 8)
            count = probe(code, p, views, registers, level, above)
            p = p + 2 if opening == CROSS else after_list(code, p + 2)
            p += 3
            for _ in range(4):
                p = after_list(code, p)
        if count == 0:
            depth -= 1
            continue
        while True:
            instruction = code[p]
            if instruction == END:
                break
            if instruction == FILTER:
                a = words(registers + code[p + 2] * (CHUNK * 8))
                b = words(registers + code[p + 3] * (CHUNK * 8))
                comparison = code[p + 1]
                if comparison == EQ:
                    for i in range(count):
                        flags[i] = 1 if a[i] == b[i] else 0
                elif comparison == NE:
                    for i in range(count):
                        flags[i] = 1 if a[i] != b[i] else 0
                else:
                    for i in range(count):
                        flags[i] = 1 if holds(comparison, a[i], b[i]) else 0
                count = keep(flags, code, p + 4, registers, count)
                p = after_list(code, p + 4)
            elif instruction == UNARY:
                unary(
                    code[p + 1],
                    words(registers + code[p + 2] * (CHUNK * 8)),
                    words(registers + code[p + 3] * (CHUNK * 8)),
                    count,
                )
                p += 4
            elif instruction == BINARY:
                fine = binary(
                    code[p + 1],
                    words(registers + code[p + 2] * (CHUNK * 8)),
                    words(registers + code[p + 3] * (CHUNK * 8)),
                    words(registers + code[p + 4] * (CHUNK * 8)),
                    count,
                )
                if not fine:
                    state[S_ERROR] = DIVISION_BY_ZERO
                    return emitted
                p += 5
            elif instruction == EMIT:
                width = code[p + 1]
                for k in range(width):
                    source = words(registers + code[p + 2 + k] * (CHUNK * 8))
                    to = emitted * width + k
                    for i in range(count):
                        out[to] = source[i]
                        to += width
                weight = code[p + 2 + width]
                if weight >= 0:
                    source = words(registers + weight * (CHUNK * 8))
                    for i in range(count):
                        weights[emitted + i] = source[i]
                emitted += count
                p += 3 + width
            elif instruction == UNPACK:
                view = words(views + code[p + 1] * (VIEW_WORDS * 8))
                a = words(registers + code[p + 2] * (CHUNK * 8))
                q = p + 3
                live = after_list(code, after_list(code, q))
                for i in range(count):
                    flags[i] = 1 if a[i] != 0 else 0
                count = keep(flags, code, live, registers, count)
                for i in range(count):
                    flags[i] = a[i] - 1
                load(words(view[V_TABLE]), flags, code, q, registers, count)
                p = after_list(code, live)
            else:
                view = words(views + code[p + 1] * (VIEW_WORDS * 8))
                width = code[p + 2]
                live = p + 3 + width
                if instruction == WEIGH:
                    budget -= weigh(flags, view, code, p + 3, width, registers, count) // CHUNK
                    live += 3
                else:
                    whole = instruction == TEST or instruction == ABSENT
                    wanted = instruction == TEST or instruction == SEEK
                    in_view(flags, view, whole, wanted, code, p + 3, width, registers, count)
                count = keep(flags, code, live, registers, count)
                p = after_list(code, live)
            if count == 0:
                break
        if count == 0 or depth == last:
            continue
        level[L_ROWS] = count
        depth += 1
        below = words(state_address + (S_LEVELS + depth * LEVEL_WORDS) * 8)
        below[L_CURSOR] = 0
        below[L_CHAIN] = -2
    state[S_DEPTH] = -1
    state[S_ERROR] = DONE
    return emitted
