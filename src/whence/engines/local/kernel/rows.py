"""Rows in hash sets and indexes: insert with derivation counts, extend an index, grow.

Every function takes addresses and descriptors (see `layout`). None allocates: a full table makes `insert` stop and
say how far it came, and Python makes room.
"""

# ruff: noqa: F403, F405
from numba import njit

from .layout import *
from .pointers import halves, prefetch, words

kernel = njit(error_model="numpy")

MULTIPLIER = -7046029254386353131  # 2**64 / golden ratio, odd
FINISHER = -4417276706812531889
LOW = 0xFFFFFFFF


@kernel
def mix(accumulated, value):
    h = (accumulated ^ value) * MULTIPLIER
    return h ^ ((h >> 32) & LOW)


@kernel
def tag_of(accumulated):
    """The half of the finished hash that is kept; its leading bits are the place in the table."""
    return ((accumulated * FINISHER) >> 32) & LOW


@kernel
def same_row(rows, r, arity, other, offset):
    base = r * arity
    if arity == 2:
        return rows[base] == other[offset] and rows[base + 1] == other[offset + 1]
    for c in range(arity):  # noqa: SIM110
        if rows[base + c] != other[offset + c]:
            return False
    return True


@kernel
def insert(table_address, buffer_address, start, count, weights_address, fresh, tags_address, found_address):
    """Insert rows `start` to `count` of the buffer; return how many were taken before the table was full.

    A row that is new gets its weight as its count of derivations; one that is already there gains it if it is
    of this iteration, that is, at or after row `fresh`; no count exceeds MOST_DERIVATIONS. Rows found or made are
    reported in `found` if that is set.
    """
    table = words(table_address)
    arity = table[T_ARITY]
    rows = words(table[T_ROWS])
    counts = halves(table[T_COUNTS])
    slots = words(table[T_SLOTS])
    bits = table[T_BITS]
    buffer = words(buffer_address)
    weights = words(weights_address)
    tags = words(tags_address)
    found = words(found_address)
    shift = 32 - bits
    mask = (1 << bits) - 1
    limit = min(table[T_CAPACITY], (1 << bits) - (1 << (bits - 2)))
    size = table[T_SIZE]
    keeps_counts = table[T_COUNTS] != 0
    weighted = weights_address != 0
    block = start
    while block < count:
        stop = min(block + CHUNK, count)
        for i in range(block, stop):
            h = 0
            for c in range(arity):
                h = mix(h, buffer[i * arity + c])
            tag = tag_of(h)
            tags[i - block] = tag
            prefetch(table[T_SLOTS] + ((tag >> shift) << 3))
        for i in range(block, stop):  # where a slot looks right, its row will be compared: ask for that too
            slot = slots[tags[i - block] >> shift]
            if slot != 0:
                prefetch(table[T_ROWS] + ((slot & LOW) - 1) * arity * 8)
        for i in range(block, stop):
            tag = tags[i - block]
            place = tag >> shift
            row = -1
            while True:
                slot = slots[place]
                if slot == 0:
                    break
                if ((slot >> 32) & LOW) == tag:
                    candidate = (slot & LOW) - 1
                    if same_row(rows, candidate, arity, buffer, i * arity):
                        row = candidate
                        break
                place = (place + 1) & mask
            if row < 0:
                if size >= limit:
                    table[T_SIZE] = size
                    return i
                row = size
                size += 1
                slots[place] = (tag << 32) | size
                for c in range(arity):
                    rows[row * arity + c] = buffer[i * arity + c]
                if keeps_counts:
                    counts[row] = min(weights[i], MOST_DERIVATIONS) if weighted else 1
            elif keeps_counts and row >= fresh:
                if weighted:
                    counts[row] = min(counts[row] + min(weights[i], MOST_DERIVATIONS), MOST_DERIVATIONS)
                elif counts[row] < MOST_DERIVATIONS:
                    counts[row] += 1
            if found_address != 0:
                found[i] = row
        block = stop
    table[T_SIZE] = size
    return count


@kernel
def push_event(waiting, row, iteration, weight):
    """Let an event wait; there is room for it."""
    place = waiting[W_FREE] - 1
    following = halves(waiting[W_NEXT])
    if place >= 0:
        waiting[W_FREE] = following[place]
    else:
        place = waiting[W_USED]
        waiting[W_USED] = place + 1
    chains = halves(waiting[W_CHAINS])
    halves(waiting[W_ROWS])[place] = row
    halves(waiting[W_WEIGHTS])[place] = weight
    following[place] = chains[2 * iteration]
    chains[2 * iteration] = place + 1
    chains[2 * iteration + 1] += 1
    if iteration < waiting[W_FIRST]:
        waiting[W_FIRST] = iteration


@kernel
def note(table_address, buffer_address, start, count, weights_address, sign, tags_address, waiting_address):
    """Find or append the heads of derivations that changed, and let those that may mean something wait as events.

    A row of the buffer is a head and its iteration. An event matters up to the iteration that its tuple has, or always
    if the tuple is not there; but one that has just been deleted has those that a search finds, and no others.
    Returns how many rows were taken before the table or what waits was full.
    """
    table = words(table_address)
    arity = table[T_ARITY]
    stride = arity + 1
    rows = words(table[T_ROWS])
    stamps = halves(table[T_STAMPS])
    slots = words(table[T_SLOTS])
    bits = table[T_BITS]
    buffer = words(buffer_address)
    weights = words(weights_address)
    tags = words(tags_address)
    waiting = words(waiting_address)
    shift = 32 - bits
    mask = (1 << bits) - 1
    limit = min(table[T_CAPACITY], (1 << bits) - (1 << (bits - 2)))
    size = table[T_SIZE]
    block = start
    while block < count:
        stop = min(block + CHUNK, count)
        for i in range(block, stop):
            h = 0
            for c in range(arity):
                h = mix(h, buffer[i * stride + c])
            tag = tag_of(h)
            tags[i - block] = tag
            prefetch(table[T_SLOTS] + ((tag >> shift) << 3))
        for i in range(block, stop):  # as `insert` does, and the stamp is needed too
            slot = slots[tags[i - block] >> shift]
            if slot != 0:
                prefetch(table[T_ROWS] + ((slot & LOW) - 1) * arity * 8)
                prefetch(table[T_STAMPS] + ((slot & LOW) - 1) * 4)
        for i in range(block, stop):
            iteration = buffer[i * stride + arity]
            if iteration >= waiting[W_LIMIT] or (waiting[W_FREE] == 0 and waiting[W_USED] == waiting[W_CAPACITY]):
                table[T_SIZE] = size
                waiting[W_WANTED] = iteration
                return i
            tag = tags[i - block]
            place = tag >> shift
            row = -1
            while True:
                slot = slots[place]
                if slot == 0:
                    break
                if ((slot >> 32) & LOW) == tag:
                    candidate = (slot & LOW) - 1
                    if same_row(rows, candidate, arity, buffer, i * stride):
                        row = candidate
                        break
                place = (place + 1) & mask
            if row < 0:
                if size >= limit:
                    table[T_SIZE] = size
                    return i
                row = size
                size += 1
                slots[place] = (tag << 32) | size
                for c in range(arity):
                    rows[row * arity + c] = buffer[i * stride + c]
            stamp = stamps[row]
            there = (stamp & NOW) != 0
            changed = (stamp & CHANGED) != 0
            if sign == SEARCHED:
                matters = changed and not there
            elif there:
                matters = iteration <= (stamp & ITERATION)
            else:
                matters = not changed
            if matters:
                weight = 1 if weights_address == 0 else weights[i]
                if weight >= MOST_DERIVATIONS:
                    weight = MOST_DERIVATIONS
                    waiting[W_TOO_MANY] = 1
                push_event(waiting, row, iteration, -weight if sign == LOST else weight)
        block = stop
    table[T_SIZE] = size
    return count


@kernel
def locate(table_address, buffer_address, count, found_address):
    """For each of `count` rows of the buffer its row in the table, or -1."""
    table = words(table_address)
    arity = table[T_ARITY]
    rows = words(table[T_ROWS])
    slots = words(table[T_SLOTS])
    bits = table[T_BITS]
    buffer = words(buffer_address)
    found = words(found_address)
    shift = 32 - bits
    mask = (1 << bits) - 1
    block = 0
    while block < count:
        stop = min(block + CHUNK, count)
        for i in range(block, stop):
            h = 0
            for c in range(arity):
                h = mix(h, buffer[i * arity + c])
            found[i] = tag_of(h)
            prefetch(table[T_SLOTS] + ((found[i] >> shift) << 3))
        for i in range(block, stop):  # as `insert` does
            slot = slots[found[i] >> shift]
            if slot != 0:
                prefetch(table[T_ROWS] + ((slot & LOW) - 1) * arity * 8)
        for i in range(block, stop):
            tag = found[i]
            place = tag >> shift
            found[i] = -1
            while slots[place] != 0:
                slot = slots[place]
                if ((slot >> 32) & LOW) == tag and same_row(rows, (slot & LOW) - 1, arity, buffer, i * arity):
                    found[i] = (slot & LOW) - 1
                    break
                place = (place + 1) & mask
        block = stop
    return count


@kernel
def grow_slots(old_address, old_bits, new_address, new_bits):
    """Copy entries into a larger, zeroed slot array, in order of place; chains of collisions stay short."""
    old = words(old_address)
    new = words(new_address)
    shift = 32 - new_bits
    mask = (1 << new_bits) - 1
    for i in range(1 << old_bits):
        slot = old[i]
        if slot != 0:
            place = ((slot >> 32) & LOW) >> shift
            while new[place] != 0:
                place = (place + 1) & mask
            new[place] = slot
    return 0


@kernel
def extend_index(table_address, index_address, stop):
    """Index the rows up to `stop`; return how many are indexed, fewer where the index was full."""
    table = words(table_address)
    index = words(index_address)
    arity = table[T_ARITY]
    rows = words(table[T_ROWS])
    slots = words(index[X_SLOTS])
    following = halves(index[X_NEXT])
    bits = index[X_BITS]
    shift = 32 - bits
    mask = (1 << bits) - 1
    limit = (1 << bits) - (1 << (bits - 2))
    width = index[X_COLUMN_COUNT]
    keys = index[X_KEYS]
    r = index[X_INDEXED]
    while r < stop:
        base = r * arity
        h = 0
        for k in range(width):
            h = mix(h, rows[base + index[X_COLUMNS + k]])
        tag = tag_of(h)
        place = tag >> shift
        older = -1
        while True:
            slot = slots[place]
            if slot == 0:
                break
            if ((slot >> 32) & LOW) == tag:
                candidate = (slot & LOW) - 1
                same = True
                for k in range(width):
                    c = index[X_COLUMNS + k]
                    if rows[candidate * arity + c] != rows[base + c]:
                        same = False
                        break
                if same:
                    older = candidate
                    break
            place = (place + 1) & mask
        if older < 0:
            if keys >= limit:
                break
            keys += 1
        following[r] = older
        slots[place] = (tag << 32) | (r + 1)
        r += 1
    index[X_KEYS] = keys
    index[X_INDEXED] = r
    return r
