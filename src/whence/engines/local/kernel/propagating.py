"""Go through the iterations of an Update without coming back to Python between them.

Where a change runs along a chain there are thousands of iterations with a tuple or two in each, and what Python does
around them would be nearly all of the time. This is the loop of `whence.maintain.update` over the same parts, for
iterations of few events; whatever needs room or is large is left to Python, which goes on from there or calls again.
"""

# ruff: noqa: F403, F405
from .layout import *
from .pipeline import evaluate
from .pointers import halves, words
from .revising import change_rows, first_waiting, show_rows, take_events, unmark_rows, weigh_events
from .rows import extend_index, kernel, note


@kernel
def next_iteration(propagation, relations):
    """The first iteration for which events wait, or -1."""
    found = -1
    for r in range(propagation[P_RELATIONS]):
        relation = words(relations + r * (RELATION_WORDS * 8))
        iteration = first_waiting(relation[R_WAITING])
        if iteration >= 0 and (found < 0 or iteration < found):
            found = iteration
    return found


@kernel
def take_up(propagation, relations, iteration):
    """Weigh the events of an iteration and show what changes; returns why that is not possible, or FINISHED."""
    for r in range(propagation[P_RELATIONS]):
        relation = words(relations + r * (RELATION_WORDS * 8))
        waiting = words(relation[R_WAITING])
        count = halves(waiting[W_CHAINS])[2 * iteration + 1] if iteration < waiting[W_LIMIT] else 0
        log = words(relation[R_LOG])
        if count > propagation[P_MOST]:
            return LARGE
        if log[G_SIZE] + count > log[G_CAPACITY]:
            return NO_ROOM
    changed = 0
    for r in range(propagation[P_RELATIONS]):
        relation = words(relations + r * (RELATION_WORDS * 8))
        waiting = words(relation[R_WAITING])
        lost = words(relation[R_LOST])
        gained = words(relation[R_GAINED])
        lost[T_SIZE] = 0
        gained[T_SIZE] = 0
        count = 0
        if iteration < waiting[W_LIMIT]:
            count = take_events(relation[R_WAITING], iteration, relation[R_EVENTS], relation[R_WEIGHTS])
        if count == 0:
            continue
        outcome = weigh_events(
            relation[R_TABLE],
            relation[R_LOG],
            relation[R_EVENTS],
            relation[R_WEIGHTS],
            count,
            iteration,
            relation[R_MET],
            relations + (r * RELATION_WORDS + R_LEAVING) * 8,
        )
        if outcome != 0:
            return UNCOUNTABLE if outcome == 1 else MISCOUNTED
        leaving = relation[R_LEAVING]
        coming = relation[R_COMING]
        changed += leaving + coming
        show_rows(relation[R_TABLE], relation[R_MET], leaving + coming, relation[R_LOST], -1)
        show_rows(relation[R_TABLE], relation[R_MET] + leaving * 4, coming, relation[R_GAINED], iteration)
    propagation[P_CHANGED] = changed
    return FINISHED


@kernel
def let_go(propagation, relations):
    """The changes of an iteration are done with."""
    for r in range(propagation[P_RELATIONS]):
        relation = words(relations + r * (RELATION_WORDS * 8))
        unmark_rows(relation[R_TABLE], relation[R_MET], relation[R_LEAVING] + relation[R_COMING])
        relation[R_NET] += relation[R_COMING] - relation[R_MOVING] - relation[R_LEAVING]
        relation[R_LEAVING] = 0
        relation[R_COMING] = 0
        relation[R_MOVING] = 0


@kernel
def made_ready(version, relation, readings):
    """Let a version see what drives it and the relations of its stratum as they are; false if there is no room."""
    views = words(version[E_VIEWS])
    driving = words(version[E_DRIVING])
    if version[E_DRIVEN_BY] == SEARCHED:  # the tuples that leave, without their iteration
        table = words(relation[R_TABLE])
        rows = words(table[T_ROWS])
        met = halves(relation[R_MET])
        to = words(driving[T_ROWS])
        arity = table[T_ARITY]
        for i in range(relation[R_LEAVING]):
            for c in range(arity):
                to[i * arity + c] = rows[met[i] * arity + c]
        driving[T_SIZE] = relation[R_LEAVING]
    views[V_LOW] = 0
    views[V_HIGH] = driving[T_SIZE]
    for d in range(version[E_READINGS]):
        reading = words(readings + (version[E_READINGS_AT] + d * READING_WORDS) * 8)
        size = words(reading[D_TABLE])[T_SIZE]
        words(reading[D_VIEW])[V_HIGH] = size
        if reading[D_INDEX] != 0 and size > words(reading[D_INDEX])[X_INDEXED]:
            if size > words(reading[D_INDEX])[X_ROOM]:
                return False
            if extend_index(reading[D_TABLE], reading[D_INDEX], size) < size:
                return False
    state = words(version[E_STATE])
    state[S_DEPTH] = 0
    state[S_LEVELS + L_CURSOR] = 0
    return True


@kernel
def drive(version, relation):
    """How many tuples drive a version."""
    if version[E_DRIVEN_BY] == SEARCHED:
        return relation[R_LEAVING]
    return words(version[E_DRIVING])[T_SIZE]


@kernel
def propagate(propagation_address):
    """Go on from the step where it stopped, until something is left to Python; returns what."""
    propagation = words(propagation_address)
    relations = propagation_address + PROPAGATION_WORDS * 8
    versions = relations + propagation[P_RELATIONS] * RELATION_WORDS * 8
    readings = versions + propagation[P_VERSIONS] * VERSION_WORDS * 8
    budget = propagation[P_BUDGET]
    while True:
        if propagation[P_STEP] == SETTLING:
            let_go(propagation, relations)
            iteration = next_iteration(propagation, relations)
            if iteration < 0:
                return FINISHED
            if budget <= 0:
                return PAUSED
            outcome = take_up(propagation, relations, iteration)
            if outcome != FINISHED:
                return outcome
            budget -= 1
            propagation[P_ITERATION] = iteration
            if propagation[P_CHANGED] == 0:
                continue
            propagation[P_ROUNDS] += 1
            propagation[P_STEP] = 0
        for v in range(propagation[P_STEP], propagation[P_VERSIONS] + 1):
            propagation[P_STEP] = v
            if v == propagation[P_EFFECT]:
                for r in range(propagation[P_RELATIONS]):
                    relation = words(relations + r * (RELATION_WORDS * 8))
                    change_rows(
                        relation[R_TABLE],
                        relation[R_MET],
                        relation[R_LEAVING],
                        relation[R_COMING],
                        propagation[P_ITERATION],
                    )
            if v == propagation[P_VERSIONS]:
                break
            version = words(versions + v * (VERSION_WORDS * 8))
            driver = words(relations + version[E_DRIVER] * (RELATION_WORDS * 8))
            if drive(version, driver) == 0:
                continue
            if not made_ready(version, driver, readings):
                return UNREADY
            emitted = evaluate(
                version[E_CODE],
                version[E_VIEWS],
                version[E_REGISTERS],
                version[E_STATE],
                version[E_FLAGS],
                version[E_OUT],
                version[E_OUT_WEIGHTS],
                version[E_OUT_CAPACITY],
            )
            outcome = words(version[E_STATE])[S_ERROR]
            if outcome == DIVISION_BY_ZERO:
                return FAILED
            budget -= 1 + emitted // CHUNK
            head = words(relations + version[E_HEAD] * (RELATION_WORDS * 8))
            taken = 0
            if emitted > 0:
                taken = note(
                    head[R_TABLE],
                    version[E_OUT],
                    0,
                    emitted,
                    version[E_OUT_WEIGHTS],
                    version[E_SIGN],
                    head[R_TAGS],
                    head[R_WAITING],
                )
            if taken < emitted or outcome == SUSPENDED:
                propagation[P_EMITTED] = emitted
                propagation[P_TAKEN] = taken
                return OVERFULL
            if words(head[R_WAITING])[W_TOO_MANY] != 0:
                return UNCOUNTABLE
        propagation[P_STEP] = SETTLING
