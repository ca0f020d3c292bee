"""Metrics by which proofs are chosen (002, 4.3.5)."""

from __future__ import annotations

from whence.explain.search import Order
from whence.explain.state import State

Metric = str


def ordered(state: State, metric: str | None) -> tuple[str, Order | None]:
    return "iteration", None
