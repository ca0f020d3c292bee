"""The value of a numeric literal, as Soufflé's scanner and its 64-bit domain have it."""

from __future__ import annotations

import re
from math import isinf

from whence.lang.diagnostics import Report
from whence.lang.program import Kind

NUMBER_RANGE = (-(2**63), 2**63 - 1)
UNSIGNED_RANGE = (0, 2**64 - 1)

_INTEGER = re.compile(r"(0x[0-9a-fA-F]+|0b[01]+|[0-9]+)(u?)")
_FLOAT = re.compile(r"[0-9]+\.[0-9]+")
_ADDRESS = re.compile(r"([0-9]+)\.([0-9]+)\.([0-9]+)\.([0-9]+)")
_EXPONENT = re.compile(r"[0-9]+(\.[0-9]+)?[eE][0-9]*")
_LONGEST = 80  # digits; no number of 64 bits is longer in any base


def number_value(report: Report, start: int, text: str) -> tuple[int | float, Kind | None]:
    """The value and, if the way it is written fixes it, the kind of a literal. What is wrong is reported, as 0."""
    end = start + len(text)
    integer = _INTEGER.fullmatch(text)
    if integer is not None:
        digits, unsigned = integer.groups()
        significant = digits if digits[:2] in ("0x", "0b") else digits.lstrip("0") or "0"
        value = int(significant, 0) if len(significant) <= _LONGEST else UNSIGNED_RANGE[1] + 1
        if value > UNSIGNED_RANGE[1]:
            report.error(start, end, "this number does not fit in 64 bits", f"the largest is {UNSIGNED_RANGE[1]}u")
            value = 0
        return value, "unsigned" if unsigned else None
    if _FLOAT.fullmatch(text):
        number = float(text)
        if isinf(number):
            report.error(start, end, "this float is out of range", "the largest is about 1.8 times 10 to the 308th")
            number = 0.0
        return number, "float"
    address = _ADDRESS.fullmatch(text)
    if address is not None:
        parts = [int(part) if len(part) < 4 else 256 for part in address.groups()]
        if max(parts) > 255:
            report.error(start, end, "this IP address is out of range", "each of its parts is at most 255")
            return 0, "number"
        return (parts[0] << 24) + (parts[1] << 16) + (parts[2] << 8) + parts[3], None
    hint = "numbers are written 12, 0xff, 0b101, 12u or 1.5"
    if _EXPONENT.match(text):
        hint = "floats have no exponent; write the digits, such as 1500.0"
    report.error(start, end, f"malformed number `{text[:40]}`", hint)
    return 0, None
