"""Arguments that several commands take, and what they may be."""

from __future__ import annotations

import argparse


def count(text: str) -> int:
    """A number of things, 0 included."""
    number = int(text.replace("_", ""))
    if number < 0:
        raise ValueError
    return number


def positive(text: str) -> int:
    number = int(text.replace("_", ""))
    if number < 1:
        raise ValueError
    return number


def seconds(text: str) -> float:
    number = float(text)
    if not 0 <= number < float("inf"):
        raise ValueError
    return number


def share(text: str) -> float:
    number = float(text)
    if not number >= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share; give a number such as 0.2")
    return number
