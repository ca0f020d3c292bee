"""Metrics by which the smallest of several proofs is chosen (002, 4.3.5).

The iteration that the state keeps orders proofs within a stratum, and costs nothing. A metric gives every tuple the
value of its smallest proof, across strata; `annotate.py` computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from whence.engines.local.table import Words
from whence.errors import WhenceError

MOST = 1 << 58  # where values stop growing: trees can have more nodes than there are numbers
SAMPLES = 200


@dataclass(frozen=True)
class Metric:
    """`leaf` is the value of an input tuple; `combine` makes of the values of a rule's tuples, an array for each
    positive atom, the value of what they derive. Values are whole numbers, fewer is better.

    The conditions of 4.3.5: values are ordered (numbers are); the value of a tuple follows from those of its body
    alone, and does not fall when one of them grows (compositional); no tuple of a body has a value as large as that of
    the head, and none is below `leaf` (monotone and bounded), so that proofs end.
    """

    name: str
    leaf: int
    combine: Callable[[Sequence[Words]], Words]


def _highest(values: Sequence[Words]) -> Words:
    return np.max(np.stack(values), axis=0) + 1 if values else np.ones(1, np.int64)


def _sum(values: Sequence[Words]) -> Words:
    return np.minimum(np.sum(np.stack(values), axis=0) + 1, MOST) if values else np.ones(1, np.int64)


HEIGHT = Metric("height", 0, _highest)
SIZE = Metric("size", 1, _sum)
METRICS = {metric.name: metric for metric in (HEIGHT, SIZE)}


def named(metric: str | Metric) -> Metric:
    """A metric by its name, or one of the user's own, whose conditions are checked."""
    if isinstance(metric, Metric):
        check(metric)
        return metric
    if metric not in METRICS:
        there = ", ".join(["iteration", *METRICS])
        raise WhenceError(f"there is no metric {metric!r}; the metrics are: {there}")
    return METRICS[metric]


def check(metric: Metric) -> None:
    """Tries the three conditions on many values."""
    random = np.random.default_rng(4_3_5)
    for atoms in (1, 2, 3):
        values = [metric.leaf + random.integers(0, 100, SAMPLES) for _ in range(atoms)]
        result = combined(metric, values)
        again = combined(metric, [value.copy() for value in values])
        if not np.array_equal(result, again):
            raise WhenceError(f"the metric {metric.name!r} is not compositional: equal values gave different results")
        place = int(random.integers(atoms))
        larger = [value + (i == place) for i, value in enumerate(values)]
        if (combined(metric, larger) < result).any():
            raise WhenceError(f"the metric {metric.name!r} is not compositional: it falls where a part of it grows")


def combined(metric: Metric, values: Sequence[Words]) -> Words:
    """What a metric makes of values, with the conditions checked that hold for each."""
    result = np.asarray(metric.combine(values), np.int64)
    if not values:
        if (result < metric.leaf).any():
            raise WhenceError(f"the metric {metric.name!r} is not bounded: a rule without tuples is below its leaf")
        return result
    if result.shape != values[0].shape:
        raise WhenceError(f"the metric {metric.name!r} should give one value for each of those it is given")
    highest = np.max(np.stack(values), axis=0)
    wrong = np.flatnonzero((result <= highest) & (result < MOST))
    if len(wrong):
        given = ", ".join(str(int(value[wrong[0]])) for value in values)
        raise WhenceError(
            f"the metric {metric.name!r} is not monotone: it makes {int(result[wrong[0]])} of {given}; "
            "a tuple must have a larger value than those it is derived from"
        )
    return result
