"""Where things stand in the int64 arrays that Python and the kernel share. Plain numbers, no imports.

A *table* descriptor says where a relation's rows are; an *index* descriptor where an arrangement of it is; a *view*
names a table, an index and the range of rows to read. All three are written by Python and read by the kernel, so a
growing table needs no new code.
"""

# A table: rows are stored one after the other, `ARITY` int64 each; SLOTS is the hash set over whole rows. STAMPS is 0
# until the table is first revised: every row is there then.
T_ROWS, T_ARITY, T_SIZE, T_CAPACITY, T_COUNTS, T_SLOTS, T_BITS, T_STAMPS = range(8)
TABLE_WORDS = 8

# The stamp of a row, four bytes: the iteration of its tuple, and in which epochs it is there. A row with neither BEFORE
# nor NOW is dead. A rule version may read the iteration as if it were one more column, after the last.
ITERATION = (1 << 27) - 1
CHANGED = 1 << 27  # by the changes that are being propagated
TOUCHED = 1 << 28  # in this epoch, and so in its log
BEFORE = 1 << 29
NOW = 1 << 30

# A tuple's count of derivations takes four bytes, a weight on its way there eight. What is more stays at these.
MOST_DERIVATIONS = 2**31 - 1
MOST_WEIGHT = 2**63 - 1

# A log: what rows were when they were first touched in an epoch.
G_ROWS, G_STAMPS, G_COUNTS, G_SIZE, G_CAPACITY = range(5)
LOG_WORDS = 5

# Events that wait: CHAINS has for each iteration below LIMIT its newest event plus one, and how many there are, of four
# bytes each. ROWS, WEIGHTS and NEXT are of the events; those from USED on were never used, FREE chains those that were.
# No event waits before FIRST. WANTED is the iteration for which there was no room, TOO_MANY says that some weight was
# more than is counted.
W_CHAINS, W_LIMIT, W_ROWS, W_WEIGHTS, W_NEXT, W_CAPACITY, W_USED, W_FREE, W_FIRST, W_WANTED, W_TOO_MANY = range(11)
WAITING_WORDS = 11

# What happened to derivations whose heads are noted: they were lost, gained, or found for tuples that were deleted.
LOST, GAINED, SEARCHED = range(3)

# An index: SLOTS maps a key to the newest row that has it, NEXT chains to older ones (-1 ends). Newest first means
# that the rows of one iteration, or all before it, are a stretch of the chain.
X_SLOTS, X_BITS, X_NEXT, X_ROOM, X_KEYS, X_INDEXED, X_COLUMN_COUNT, X_COLUMNS = range(8)
INDEX_WORDS = 8  # then one word for each column; NEXT has room for ROOM rows

# A view, as a version reads it: the rows from LOW to HIGH and, where MASK is not 0, of these only those with
# ((stamp & MASK) == VALUE) == SENSE. A probe without an INDEX is by whole rows.
V_TABLE, V_INDEX, V_LOW, V_HIGH, V_MASK, V_VALUE, V_SENSE = range(7)
VIEW_WORDS = 7

# A slot holds the upper half of a hash and a row number plus one; 0 is free. The place of an entry is the leading
# bits of that half, so growing a table is one pass in order and never looks at a row.

# Registers are columns of CHUNK values; a version's bindings pass through them CHUNK rows at a time.
CHUNK = 512

# A version's code: LEVELS, then the start of each level, then the instructions.
# A level opens with one of these. Operands follow; a list is its length and its members.
(
    UNIT,  # one row of nothing
    SCAN,  # view, list of column, list of register
    PROBE,  # view, list of key register, left, right, list of from register, list of to register, list of column, list of register  # noqa: E501
    CROSS,  # view, left, right, then as PROBE without keys
) = range(4)
# Then come instructions that keep or drop rows in place; those that drop name the live registers, a list, last.
(
    END,
    FILTER,  # comparison, a, b, live
    TEST,  # view, list of register (all columns), live
    ABSENT,  # view, list of register (all columns), live
    SEEK,  # view, list of key register, live: some row has the key
    MISS,  # view, list of key register, live: no row has the key
    WEIGH,  # view, list of key register, weight register, two to remember in, live: multiply by the number of rows
    UNARY,  # operation, to, a
    BINARY,  # operation, to, a, b
    UNPACK,  # view, a, list of column, list of register, live: the fields of a record, dropping nil
    EMIT,  # list of register, weight register or -1
) = range(10, 21)

# Comparisons: equality by bits, order by kind.
EQ, NE, LT_I, LE_I, LT_U, LE_U, LT_F, LE_F = range(8)

# Operations; the suffix is the kind where it matters (I number, U unsigned, F float).
(
    COPY, NEG_I, NEG_F, BNOT, LNOT, I_TO_F, U_TO_F, F_TO_I, F_TO_U,
) = range(9)  # fmt: skip
(
    ADD_I, ADD_F, SUB_I, SUB_F, MUL_I, MUL_F, DIV_I, DIV_U, DIV_F, MOD_I, MOD_U, POW_I, POW_U, POW_F,
    BAND, BOR, BXOR, BSHL, BSHR_I, BSHR_U, LAND, LOR, LXOR, MIN_I, MIN_U, MIN_F, MAX_I, MAX_U, MAX_F,
) = range(29)  # fmt: skip

# State of a suspended version: what happened, where it is, and for each level rows, cursor and chain.
S_DEPTH, S_ERROR, S_BUDGET, S_LEVELS = range(4)
LEVEL_WORDS = 3
L_ROWS, L_CURSOR, L_CHAIN = range(3)

DONE, SUSPENDED, DIVISION_BY_ZERO = range(3)

# What the kernel needs to go through iterations of an Update by itself: these words, then a record for each relation of
# the stratum, then one for each version, then the readings of versions.
(
    P_RELATIONS, P_VERSIONS, P_EFFECT, P_STEP, P_ITERATION, P_ROUNDS, P_CHANGED, P_BUDGET, P_MOST, P_EMITTED, P_TAKEN,
) = range(11)  # fmt: skip
PROPAGATION_WORDS = 11
# A relation: MET has room for twice P_MOST rows, EVENTS and WEIGHTS for P_MOST events. NET adds up what came and went.
(
    R_TABLE, R_LOG, R_WAITING, R_LOST, R_GAINED, R_EVENTS, R_WEIGHTS, R_MET, R_LEAVING, R_COMING, R_MOVING,
    R_NET, R_TAGS,
) = range(13)  # fmt: skip
RELATION_WORDS = 13
# A version: the arguments of `evaluate`; the relation of its head and what happens to that; the relation that drives
# it, by what (one of the signs), and the table that holds this; the readings that grow.
(
    E_CODE, E_VIEWS, E_REGISTERS, E_STATE, E_FLAGS, E_OUT, E_OUT_WEIGHTS, E_OUT_CAPACITY, E_HEAD, E_SIGN, E_DRIVER,
    E_DRIVEN_BY, E_DRIVING, E_READINGS, E_READINGS_AT,
) = range(15)  # fmt: skip
VERSION_WORDS = 15
# A reading of a relation of the stratum: the view, its table, its index or 0.
D_VIEW, D_TABLE, D_INDEX = range(3)
READING_WORDS = 3

SETTLING = -1  # the step between two iterations
# Why it stopped: nothing waits; the next iteration has too many events; the log has no room; it has worked for a while;
# a version is to be made ready; what it emitted is to be noted; a version failed; a count is too large, or less than
# nothing.
FINISHED, LARGE, NO_ROOM, PAUSED, UNREADY, OVERFULL, FAILED, UNCOUNTABLE, MISCOUNTED = range(9)
