"""Where things stand in the arrays that Z-sets share with the kernel. Plain numbers, no imports.

A *join* says what is matched with what: a batch of rows with a trace, which is a table whose rows may have their time
as last column. The lists behind it are the key (where each value of the index's key comes from), tests of a batch's row
alone, checks of a pair, and the columns of the output.
"""

(
    J_BATCH, J_BATCH_ARITY, J_BATCH_WEIGHTS, J_COUNT, J_TABLE, J_TRACE_WEIGHTS, J_INDEX, J_TIMED, J_NOW,
    J_OUT, J_OUT_WEIGHTS, J_OUT_TIMES, J_CAPACITY, J_CURSOR, J_CHAIN, J_LATEST, J_LISTS,
) = range(17)  # fmt: skip

# Where a value comes from: a column of the batch, a column of the trace, or it is a constant.
BATCH, TRACE, CONSTANT = range(3)

NOT_BEGUN = -2  # the row at CURSOR has not been looked up

# The history of weights by row: HEADS are the first entry of each row, 0 for none; entry 0 is never used.
(
    H_HEADS, H_SUMS, H_MARKS, H_TOUCHED, H_TIMES, H_WEIGHTS, H_NEXT, H_SIZE, H_FREE, H_NOW,
    H_OUT_ROWS, H_OUT_TIMES, H_OUT_WEIGHTS, H_CAPACITY, H_WRITTEN,
) = range(15)  # fmt: skip
HISTORY_WORDS = 15
