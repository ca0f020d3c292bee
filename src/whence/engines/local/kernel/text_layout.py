"""Where things stand in the arrays that Python and the kernels of text share. Plain numbers, no imports."""

# A symbol table: the bytes of all symbols one after the other, where each begins, and the hash slots over them
# (of the same form as a table's). NEED is how many bytes the kernel had no room for when it stopped.
Y_BYTES, Y_USED, Y_ROOM, Y_OFFSETS, Y_COUNT, Y_CAPACITY, Y_SLOTS, Y_BITS, Y_NEED = range(9)
SYMBOLS_WORDS = 9

# What interning answers instead of a code.
FULL, INVALID = -1, -2

# Kinds of values, as columns of a file have them.
NUMBER, UNSIGNED, FLOAT, SYMBOL, RECORD = range(5)
WANTED = 5  # not a kind: the field is to be found, not read
KIND_BITS = 3

# A reader. TEXT holds whole lines only. PLAN has a word for each column of the file: the kind, and above it the
# column of the relation; or SKIPPED. AT, END and FIELD say which field an error is about.
(
    R_TEXT, R_LENGTH, R_POSITION, R_LINE, R_ROWS, R_ARITY, R_COUNT, R_CAPACITY, R_PLAN, R_FIELDS, R_EXACT,
    R_DELIMITER, R_DELIMITER_LENGTH, R_PLAIN, R_BRACKETS, R_SYMBOLS, R_TEXTS, R_SCRATCH, R_AT, R_END, R_FIELD,
) = range(21)  # fmt: skip
READER_WORDS = 21
SKIPPED = -1

(
    READ, FULL_ROWS, FULL_SYMBOLS, FULL_TEXTS,
    TOO_FEW, TOO_MANY, NOT_A_NUMBER, OUT_OF_RANGE, NOT_UTF8, UNBALANCED, FOUND,
) = range(11)  # fmt: skip

# A writer. COLUMNS has two words for each column: its kind, and the symbol table that holds its texts.
(
    W_ROWS, W_ARITY, W_ROW, W_COUNT, W_COLUMNS, W_DELIMITER, W_DELIMITER_LENGTH, W_BUFFER, W_ROOM, W_USED, W_NEED,
    W_FORMAT,
) = range(12)  # fmt: skip
WRITER_WORDS = 12

SCRATCH = 4096  # bytes for one number given as text
LONGEST_INTEGER = 20  # characters
LONGEST_GENERAL = 32  # a float in 17 digits
LONGEST_FIXED = 400  # a float with all its digits before the point
