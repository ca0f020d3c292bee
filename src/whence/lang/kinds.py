"""Sets of kinds as bit masks, the kinds that functors take and give, and the words for them in messages."""

from __future__ import annotations

from whence.lang.program import Kind

KINDS: tuple[Kind, ...] = ("number", "unsigned", "float", "symbol", "record")
NUMBER, UNSIGNED, FLOAT, SYMBOL, RECORD = (1 << index for index in range(5))
MASK: dict[Kind, int] = dict(zip(KINDS, (NUMBER, UNSIGNED, FLOAT, SYMBOL, RECORD), strict=True))
INTEGER = NUMBER | UNSIGNED
NUMERIC = INTEGER | FLOAT
ORDERED = NUMERIC | SYMBOL
ANY = ORDERED | RECORD

# Functors whose arguments and result have one kind, among these.
ALIKE: dict[str, int] = {
    "neg": NUMBER | FLOAT, "add": NUMERIC, "sub": NUMERIC, "mul": NUMERIC, "div": NUMERIC, "pow": NUMERIC,
    "mod": INTEGER, "bnot": INTEGER, "band": INTEGER, "bor": INTEGER, "bxor": INTEGER, "bshl": INTEGER,
    "bshr": INTEGER, "bshru": INTEGER, "lnot": INTEGER, "land": INTEGER, "lor": INTEGER, "lxor": INTEGER,
    "min": ORDERED, "max": ORDERED, "cat": SYMBOL,
}  # fmt: skip
# Functors with a kind for each argument, and one for the result.
FIXED: dict[str, tuple[tuple[int, ...], int]] = {
    "strlen": ((SYMBOL,), NUMBER), "substr": ((SYMBOL, NUMBER, NUMBER), SYMBOL), "ord": ((ANY,), NUMBER),
    "to_number": ((ORDERED,), NUMBER), "to_string": ((ORDERED,), SYMBOL), "to_float": ((ORDERED,), FLOAT),
    "to_unsigned": ((ORDERED,), UNSIGNED),
}  # fmt: skip
# How a numeric literal of a kind is written.
NUMERALS = {
    NUMBER: "a `number` is written 12",
    UNSIGNED: "an `unsigned` is written 12u",
    FLOAT: "a `float` is written 1.5",
}
CONVERSIONS = {
    NUMBER: "to_number",
    INTEGER: "to_number",
    UNSIGNED: "to_unsigned",
    FLOAT: "to_float",
    SYMBOL: "to_string",
}


def first_kind(mask: int) -> Kind:
    """The kind that a term with nothing more said about it has: `1` alone is a number."""
    return KINDS[(mask & -mask).bit_length() - 1]


def a_kind(mask: int) -> str:
    """A set of kinds as a sentence has it: a `symbol`, an `unsigned`, a number."""
    if mask in (NUMERIC, NUMBER | FLOAT):
        return "a number"
    if mask == INTEGER:
        return "a whole number"
    if mask == ORDERED:
        return "a number or a `symbol`"
    names = [f"`{kind}`" if kind != "record" else "record" for kind in KINDS if MASK[kind] & mask]
    return ("an " if names[0] == "`unsigned`" else "a ") + " or ".join(names)


def conversion(mask: int) -> str | None:
    """What to do with a term of another kind to get one of these."""
    if mask == RECORD:
        return "a record is written `[a, b]` or `nil`"
    return f"convert with `{CONVERSIONS[mask]}(…)`" if mask in CONVERSIONS else None
