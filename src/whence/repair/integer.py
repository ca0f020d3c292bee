"""Integer programs over 0/1 variables, solved by HiGHS, which is loaded when the first one is."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any

import numpy as np

from whence.errors import WhenceError

INFINITY = float("inf")


class Unsolved(Exception):
    """The time was up before an optimum was proved."""


@dataclass
class IntegerProgram:
    """Minimise the cost of variables that are 0 or 1. A row is `low <= sum of coefficient * variable <= high`."""

    costs: list[float] = field(default_factory=list)
    bounds: list[tuple[float, float]] = field(default_factory=list)
    rows: list[tuple[Mapping[int, float], float, float]] = field(default_factory=list)

    def variable(self, cost: float = 0.0, low: float = 0.0, high: float = 1.0) -> int:
        self.costs.append(cost)
        self.bounds.append((low, high))
        return len(self.costs) - 1

    def row(self, coefficients: Mapping[int, float], low: float = -INFINITY, high: float = INFINITY) -> None:
        self.rows.append((coefficients, low, high))

    def solve(self, seconds: float) -> Sequence[bool] | None:
        """Values of an optimum; None if nothing satisfies all rows."""
        if seconds <= 0:
            raise Unsolved
        if not self.costs:
            return [] if all(low <= 0 <= high for _, low, high in self.rows) else None
        import highspy

        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = len(self.costs), len(self.rows)
        program.col_cost_ = np.array(self.costs)
        program.col_lower_ = np.array([low for low, _ in self.bounds])
        program.col_upper_ = np.array([high for _, high in self.bounds])
        program.row_lower_ = np.array([low for _, low, _ in self.rows])
        program.row_upper_ = np.array([high for _, _, high in self.rows])
        program.integrality_ = [highspy.HighsVarType.kInteger] * len(self.costs)
        matrix = program.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kRowwise
        matrix.start_ = np.cumsum([0, *(len(row) for row, _, _ in self.rows)]).astype(np.int32)
        matrix.index_ = np.array([column for row, _, _ in self.rows for column in row], np.int32)
        matrix.value_ = np.array([value for row, _, _ in self.rows for value in row.values()], np.float64)
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.setOptionValue("mip_rel_gap", 0.0)
        if solver.passModel(program) == highspy.HighsStatus.kError:
            raise WhenceError("HiGHS refuses the integer program of this repair; this is a mistake in Whence")
        _run(solver, seconds)
        status = solver.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return None
        if status != highspy.HighsModelStatus.kOptimal:
            raise Unsolved
        return [value > 0.5 for value in solver.getSolution().col_value]


def _run(solver: Any, seconds: float) -> None:
    """Solves in a thread of its own, so that an interrupt and the end of the time are heard at once; HiGHS itself looks
    up now and then only, and ends soon after it was told to."""
    deadline = time.monotonic() + seconds
    solver.HandleKeyboardInterrupt = True  # it can be cancelled
    solved = Event()

    def solve() -> None:
        solver.run()
        solved.set()

    Thread(target=solve, daemon=True).start()
    try:
        while not solved.wait(0.1):
            if time.monotonic() > deadline:
                raise Unsolved
    except BaseException:
        solver.cancelSolve()
        raise
