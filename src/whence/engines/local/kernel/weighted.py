"""Z-sets: rows with signed weights. Consolidate, accumulate, match against an index, follow a threshold in time.

Every function takes addresses and descriptors (see `weighted_layout`). None allocates: where an output is full, a
function says how far it came, and Python makes room. Weights wrap as int64 does.
"""

# ruff: noqa: F403, F405
from .layout import *
from .pointers import halves, octets, prefetch, words
from .rows import LOW, kernel, mix, same_row, tag_of
from .weighted_layout import *


@kernel
def consolidate(rows_address, arity, count, weights_address, slots_address, bits):
    """Adds the weights of equal rows up, in place; rows of weight 0 go. Returns how many are left."""
    rows = words(rows_address)
    weights = words(weights_address)
    slots = words(slots_address)
    shift = 32 - bits
    mask = (1 << bits) - 1
    size = 0
    for i in range(count):
        h = 0
        for c in range(arity):
            h = mix(h, rows[i * arity + c])
        tag = tag_of(h)
        place = tag >> shift
        found = -1
        while slots[place] != 0:
            slot = slots[place]
            if ((slot >> 32) & LOW) == tag and same_row(rows, (slot & LOW) - 1, arity, rows, i * arity):
                found = (slot & LOW) - 1
                break
            place = (place + 1) & mask
        if found >= 0:
            weights[found] += weights[i]
        else:
            weight = weights[i]
            for c in range(arity):
                rows[size * arity + c] = rows[i * arity + c]
            weights[size] = weight
            size += 1
            slots[place] = (tag << 32) | size
    kept = 0
    for i in range(size):
        if weights[i] != 0:
            if kept != i:
                for c in range(arity):
                    rows[kept * arity + c] = rows[i * arity + c]
                weights[kept] = weights[i]
            kept += 1
    return kept


@kernel
def accumulate(found_address, weights_address, count, sums_address):
    """Adds each weight to the sum of its row; returns by how many the sums that are 0 have become more."""
    found = words(found_address)
    weights = words(weights_address)
    sums = words(sums_address)
    zeros = 0
    for i in range(count):
        r = found[i]
        before = sums[r]
        after = before + weights[i]
        sums[r] = after
        if before == 0 and after != 0:
            zeros -= 1
        elif before != 0 and after == 0:
            zeros += 1
    return zeros


@kernel
def gather_weights(found_address, weights_address, count, sums_address, marks_address, touched_address, touched):
    """As `accumulate`, and notes each row that gets a weight once; returns how many are noted now."""
    found = words(found_address)
    weights = words(weights_address)
    sums = words(sums_address)
    marks = octets(marks_address)
    noted = words(touched_address)
    for i in range(count):
        r = found[i]
        sums[r] += weights[i]
        if marks[r] == 0:
            marks[r] = 1
            noted[touched] = r
            touched += 1
    return touched


@kernel
def match_rows(join_address):
    """Matches the rows of a batch with those of a trace that have the same key; returns how many pairs were written.

    Stops when the output is full; CURSOR and CHAIN say where to go on, and CURSOR is COUNT when all is done.
    """
    join = words(join_address)
    batch = words(join[J_BATCH])
    batch_arity = join[J_BATCH_ARITY]
    batch_weights = words(join[J_BATCH_WEIGHTS])
    count = join[J_COUNT]
    table = words(join[J_TABLE])
    rows = words(table[T_ROWS])
    arity = table[T_ARITY]
    trace_weights = words(join[J_TRACE_WEIGHTS])
    index = words(join[J_INDEX])
    slots = words(index[X_SLOTS])
    following = halves(index[X_NEXT])
    shift = 32 - index[X_BITS]
    mask = (1 << index[X_BITS]) - 1
    timed = join[J_TIMED]
    now = join[J_NOW]
    out = words(join[J_OUT])
    out_weights = words(join[J_OUT_WEIGHTS])
    out_times = words(join[J_OUT_TIMES])
    capacity = join[J_CAPACITY]
    latest = join[J_LATEST]
    i = join[J_CURSOR]
    chain = join[J_CHAIN]
    keys = J_LISTS
    key_count = join[keys]
    tests = keys + 1 + 2 * key_count
    test_count = join[tests]
    checks = tests + 1 + 3 * test_count
    check_count = join[checks]
    outputs = checks + 1 + 3 * check_count
    width = join[outputs]
    written = 0
    while i < count:
        base = i * batch_arity
        if chain == NOT_BEGUN:
            chain = -1
            fits = True
            for k in range(test_count):  # of the batch's row alone: a constant, a repeated variable
                at = tests + 1 + 3 * k
                other = join[at + 2] if join[at + 1] == CONSTANT else batch[base + join[at + 2]]
                if batch[base + join[at]] != other:
                    fits = False
                    break
            if fits and key_count != 0:
                h = 0
                for k in range(key_count):
                    at = keys + 1 + 2 * k
                    h = mix(h, join[at + 1] if join[at] == CONSTANT else batch[base + join[at + 1]])
                tag = tag_of(h)
                place = tag >> shift
                while slots[place] != 0:
                    slot = slots[place]
                    if ((slot >> 32) & LOW) == tag:
                        candidate = (slot & LOW) - 1
                        same = True
                        for k in range(key_count):
                            at = keys + 1 + 2 * k
                            value = join[at + 1] if join[at] == CONSTANT else batch[base + join[at + 1]]
                            if rows[candidate * arity + index[X_COLUMNS + k]] != value:
                                same = False
                                break
                        if same:
                            chain = candidate
                            break
                    place = (place + 1) & mask
            elif fits:
                chain = table[T_SIZE] - 1
        while chain >= 0:
            if written == capacity:
                join[J_CURSOR] = i
                join[J_CHAIN] = chain
                join[J_LATEST] = latest
                return written
            row = chain * arity
            fits = trace_weights[chain] != 0
            if fits:
                for k in range(check_count):
                    at = checks + 1 + 3 * k
                    if join[at + 1] == CONSTANT:
                        other = join[at + 2]
                    elif join[at + 1] == BATCH:
                        other = batch[base + join[at + 2]]
                    else:
                        other = rows[row + join[at + 2]]
                    if rows[row + join[at]] != other:
                        fits = False
                        break
            if fits:
                to = written * width
                for c in range(width):
                    at = outputs + 1 + 2 * c
                    if join[at] == BATCH:
                        out[to + c] = batch[base + join[at + 1]]
                    elif join[at] == TRACE:
                        out[to + c] = rows[row + join[at + 1]]
                    else:
                        out[to + c] = join[at + 1]
                out_weights[written] = batch_weights[i] * trace_weights[chain]
                if timed != 0:
                    time = max(now, rows[row + arity - 1])
                    out_times[written] = time
                    latest = max(latest, time)
                written += 1
            chain = following[chain] if key_count != 0 else chain - 1
        chain = NOT_BEGUN
        i += 1
    join[J_CURSOR] = i
    join[J_CHAIN] = chain
    join[J_LATEST] = latest
    return written


@kernel
def cross_threshold(history_address, start, count):
    """Adds the sums of touched rows to their histories at the time NOW, and says where rows come and go by that.

    A history is the weights of a row by time, in order. A row is there from a time on at which the sum up to it is more
    than 0. What is written is the difference: rows, times, and 1 or -1. Returns how many touched rows were dealt with,
    fewer where the output was full.
    """
    history = words(history_address)
    heads = halves(history[H_HEADS])
    sums = words(history[H_SUMS])
    marks = octets(history[H_MARKS])
    touched = words(history[H_TOUCHED])
    times = words(history[H_TIMES])
    weights = words(history[H_WEIGHTS])
    following = halves(history[H_NEXT])
    size = history[H_SIZE]
    free = history[H_FREE]
    now = history[H_NOW]
    out_rows = words(history[H_OUT_ROWS])
    out_times = words(history[H_OUT_TIMES])
    out_weights = words(history[H_OUT_WEIGHTS])
    capacity = history[H_CAPACITY]
    written = history[H_WRITTEN]
    i = start
    while i < count:
        r = touched[i]
        if i + 8 < count:
            prefetch(history[H_SUMS] + 8 * touched[i + 8])
            prefetch(history[H_HEADS] + 4 * touched[i + 8])
        change = sums[r]
        if change != 0:
            length = 0
            entry = heads[r]
            while entry != 0:
                length += 1
                entry = following[entry]
            if written + length + 1 > capacity:
                break
            before = 0
            previous = 0
            entry = heads[r]
            while entry != 0 and times[entry] < now:
                before += weights[entry]
                previous = entry
                entry = following[entry]
            was = 1 if before > 0 else 0
            there = was
            after = before + change
            if entry != 0 and times[entry] == now:
                before += weights[entry]
                after += weights[entry]
                weights[entry] += change
                if weights[entry] == 0:  # this time is like any other again
                    rest = following[entry]
                    if previous == 0:
                        heads[r] = rest
                    else:
                        following[previous] = rest
                    following[entry] = free
                    free = entry
                    entry = rest
                else:
                    entry = following[entry]
            else:
                if free != 0:
                    made = free
                    free = following[free]
                else:
                    made = size
                    size += 1
                times[made] = now
                weights[made] = change
                following[made] = entry
                if previous == 0:
                    heads[r] = made
                else:
                    following[previous] = made
            time = now
            while True:
                is_there = 1 if after > 0 else 0
                was_there = 1 if before > 0 else 0
                difference = (is_there - there) - (was_there - was)
                if difference != 0:
                    out_rows[written] = r
                    out_times[written] = time
                    out_weights[written] = difference
                    written += 1
                there = is_there
                was = was_there
                if entry == 0:
                    break
                time = times[entry]
                before += weights[entry]
                after += weights[entry]
                entry = following[entry]
        sums[r] = 0
        marks[r] = 0
        i += 1
    history[H_SIZE] = size
    history[H_FREE] = free
    history[H_WRITTEN] = written
    return i
