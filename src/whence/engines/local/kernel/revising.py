"""Rows of a relation while it is revised: events weighed, changes shown, changes made.

See `whence.engines.local.revision` for what events are, `layout` for stamps. All row numbers take four bytes.
"""

# ruff: noqa: F403, F405
from .layout import *
from .pointers import halves, prefetch, words
from .rows import kernel


@kernel
def log_row(log, row, stamp, count):
    """Remember what a row was; there is room."""
    size = log[G_SIZE]
    halves(log[G_ROWS])[size] = row
    halves(log[G_STAMPS])[size] = stamp
    halves(log[G_COUNTS])[size] = count
    log[G_SIZE] = size + 1


@kernel
def first_waiting(waiting_address):
    """The first iteration for which an event waits, or -1."""
    waiting = words(waiting_address)
    chains = halves(waiting[W_CHAINS])
    iteration = waiting[W_FIRST]
    limit = waiting[W_LIMIT]
    while iteration < limit and chains[2 * iteration] == 0:
        iteration += 1
    waiting[W_FIRST] = iteration
    return iteration if iteration < limit else -1


@kernel
def take_events(waiting_address, iteration, rows_address, weights_address):
    """Take the events of an iteration out of what waits; there is room for them. Returns how many they are."""
    waiting = words(waiting_address)
    chains = halves(waiting[W_CHAINS])
    following = halves(waiting[W_NEXT])
    event_rows = halves(waiting[W_ROWS])
    event_weights = halves(waiting[W_WEIGHTS])
    rows = halves(rows_address)
    weights = halves(weights_address)
    newest = chains[2 * iteration]
    count = 0
    place = newest
    last = 0
    while place != 0:
        rows[count] = event_rows[place - 1]
        weights[count] = event_weights[place - 1]
        count += 1
        last = place
        place = following[place - 1]
    if count > 0:
        following[last - 1] = waiting[W_FREE]
        waiting[W_FREE] = newest
        chains[2 * iteration] = 0
        chains[2 * iteration + 1] = 0
    return count


@kernel
def weigh_events(
    table_address, log_address, rows_address, weights_address, count, iteration, met_address, sizes_address
):
    """Sum up the events of an iteration by row, in the rows' own counts, and say what they mean.

    `met` has room for twice `count` numbers. In the end it holds the rows that leave, then those that come, and `sizes`
    how many of each, and how many of the latter were there later; both are marked as changed. Returns 1 if a tuple has
    more derivations than are counted.
    """
    table = words(table_address)
    stamps = halves(table[T_STAMPS])
    counts = halves(table[T_COUNTS])
    log = words(log_address)
    rows = halves(rows_address)
    weights = halves(weights_address)
    met = halves(met_address)
    before = halves(met_address + count * 4)
    sizes = words(sizes_address)
    number = 0
    for i in range(count):
        if i + 16 < count:
            prefetch(table[T_STAMPS] + rows[i + 16] * 4)
            prefetch(table[T_COUNTS] + rows[i + 16] * 4)
        row = rows[i]
        stamp = stamps[row]
        there = (stamp & NOW) != 0
        if there and (stamp & ITERATION) < iteration:
            continue  # it was there before: sparsification
        if (stamp & CHANGED) == 0:
            met[number] = row
            before[number] = counts[row]
            number += 1
            if (stamp & TOUCHED) == 0:
                log_row(log, row, stamp, counts[row])
            stamps[row] = stamp | TOUCHED | CHANGED
            if not there or (stamp & ITERATION) > iteration:
                counts[row] = 0
            elif counts[row] >= MOST_DERIVATIONS:
                return 1
        total = int(counts[row]) + int(weights[i])
        if total >= MOST_DERIVATIONS:
            return 1
        counts[row] = total
    leaving = 0
    moving = 0
    for i in range(number):  # those that leave to the front; those that come over the counts, which are read before
        row = met[i]
        stamp = stamps[row]
        here = (stamp & NOW) != 0 and (stamp & ITERATION) == iteration
        was = before[i]
        before[i] = -1
        if counts[row] < 0:
            return 2
        if here and counts[row] == 0:
            met[leaving] = row
            leaving += 1
        elif not here and counts[row] > 0:
            before[i] = row
            if (stamp & NOW) != 0:
                moving += 1
        else:
            if not here:
                counts[row] = was
            stamps[row] = stamp & ~CHANGED
    coming = 0
    for i in range(number):
        if before[i] >= 0:
            met[leaving + coming] = before[i]
            coming += 1
    sizes[0] = leaving
    sizes[1] = coming
    sizes[2] = moving
    return 0


@kernel
def mark_rows(table_address, log_address, rows_address, count, derivations):
    """Rows that leave or come by a change of input: log and mark them; those that come have `derivations`, if any."""
    table = words(table_address)
    stamps = halves(table[T_STAMPS])
    counts = halves(table[T_COUNTS])
    log = words(log_address)
    rows = halves(rows_address)
    for i in range(count):
        row = rows[i]
        if (stamps[row] & TOUCHED) == 0:
            log_row(log, row, stamps[row], counts[row])
        stamps[row] |= TOUCHED | CHANGED
        if derivations > 0:
            counts[row] = derivations
    return 0


@kernel
def show_rows(table_address, rows_address, count, delta_address, iteration):
    """Append rows to a table with one column more, for their iteration, or the given one if it is not negative.

    Only rows that are there now are appended where it is their own; there is room. Returns the size of that table.
    """
    table = words(table_address)
    arity = table[T_ARITY]
    tuples = words(table[T_ROWS])
    stamps = halves(table[T_STAMPS])
    rows = halves(rows_address)
    delta = words(delta_address)
    to = words(delta[T_ROWS])
    size = delta[T_SIZE]
    for i in range(count):
        if i + 16 < count:
            prefetch(table[T_ROWS] + rows[i + 16] * arity * 8)
        row = rows[i]
        if iteration < 0 and (stamps[row] & NOW) == 0:
            continue
        base = size * (arity + 1)
        for c in range(arity):
            to[base + c] = tuples[row * arity + c]
        to[base + arity] = iteration if iteration >= 0 else stamps[row] & ITERATION
        size += 1
    delta[T_SIZE] = size
    return size


@kernel
def change_rows(table_address, rows_address, leaving, coming, iteration):
    """The rows that leave are no longer there, those that come are, in this iteration."""
    stamps = halves(words(table_address)[T_STAMPS])
    rows = halves(rows_address)
    for i in range(leaving):
        stamps[rows[i]] &= ~NOW
    for i in range(leaving, leaving + coming):
        row = rows[i]
        stamps[row] = (stamps[row] & ~ITERATION) | NOW | iteration
    return 0


@kernel
def unmark_rows(table_address, rows_address, count):
    stamps = halves(words(table_address)[T_STAMPS])
    rows = halves(rows_address)
    for i in range(count):
        stamps[rows[i]] &= ~CHANGED
    return 0
