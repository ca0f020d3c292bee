"""When an elastic Update is given up: by what is left of it, on a clock of the test's own."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.maintain import attempt
from whence.maintain.attempt import Attempt, GaveUp
from whence.maintain.pace import Pace


@dataclass
class Under:
    """What an attempt looks at in a revision."""

    arranging: float = 0.0
    iteration: int = 0
    through: float = 0.0
    net: int = 0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(attempt, "perf_counter", lambda: now[0])
    return now


EVEN = Pace([(i, 0.1 * i) for i in range(1, 11)], 1.0)  # ten iterations, a tenth of a second each


def given_up(made: Attempt) -> bool:
    try:
        made.watch()
    except GaveUp:
        return True
    return False


def test_at_the_pace_of_bootstrap_it_goes_on_beyond_the_share(clock: list[float]) -> None:
    revision = Under()
    made = Attempt(revision, 1.0, 100, 0.2, EVEN)  # type: ignore[arg-type]
    for iteration in range(1, 11):
        clock[0], revision.iteration = 0.09 * (iteration - 1), iteration
        assert not given_up(made)


def test_far_behind_that_pace_it_is_given_up_early(clock: list[float]) -> None:
    revision = Under()
    made = Attempt(revision, 1.0, 100, 0.2, EVEN)  # type: ignore[arg-type]
    revision.iteration = 1
    assert not given_up(made)
    clock[0], revision.iteration = 0.3, 2
    assert made.left() == pytest.approx(2.7)
    assert given_up(made)


def test_where_nothing_tells_the_share_does(clock: list[float]) -> None:
    made = Attempt(Under(), 1.0, 100, 0.2, Pace())  # type: ignore[arg-type]
    clock[0] = 0.19
    assert made.left() is None
    assert not given_up(made)
    clock[0] = 0.21
    assert given_up(made)


def test_beyond_the_last_iteration_of_bootstrap_nothing_tells(clock: list[float]) -> None:
    revision = Under(iteration=1)
    made = Attempt(revision, 1.0, 100, 0.2, EVEN)  # type: ignore[arg-type]
    made.watch()
    clock[0], revision.iteration = 0.5, 20
    assert given_up(made)


def test_what_drives_the_first_batch_tells(clock: list[float]) -> None:
    revision = Under()
    made = Attempt(revision, 1.0, 100, 0.2, Pace())  # type: ignore[arg-type]
    made.course.driving = 10
    made.course.drive(5)
    clock[0], revision.through = 0.3, 1.0
    assert made.left() == pytest.approx(0.7)
    assert not given_up(made)
    clock[0] = 0.6
    assert given_up(made)


def test_a_state_that_has_shrunk_is_bootstrapped_sooner(clock: list[float]) -> None:
    revision = Under(iteration=1)
    made = Attempt(revision, 1.0, 100, 0.2, EVEN)  # type: ignore[arg-type]
    made.watch()
    clock[0], revision.iteration = 0.3, 6
    assert not given_up(made)
    revision.net = -90
    assert given_up(made)


def test_what_was_expected_makes_it_given_up_sooner(clock: list[float]) -> None:
    revision = Under(iteration=1)
    hoped, doubted, hopeless = (
        Attempt(revision, 1.0, 100, 0.2, EVEN, expected)  # type: ignore[arg-type]
        for expected in (0.5, 2.0, 5.0)
    )
    for made in (hoped, doubted, hopeless):
        made.watch()
    clock[0], revision.iteration = 0.3, 4
    assert not given_up(hoped), "0.7 s are left"
    assert given_up(doubted)
    clock[0], revision.iteration = 0.21, 10
    assert not given_up(doubted), "little is left"
    assert given_up(hopeless)


def test_arrangements_do_not_count(clock: list[float]) -> None:
    revision = Under()
    made = Attempt(revision, 1.0, 100, 0.2, Pace())  # type: ignore[arg-type]
    clock[0] = revision.arranging = 5.0
    assert not given_up(made)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=2000), st.integers(0, 3000))
def test_a_pace_is_kept_in_few_points(steps: list[float], asked: int) -> None:
    pace = Pace()
    seconds = 0.0
    for iteration, step in enumerate(steps, 1):
        seconds += step
        pace.passed(iteration, seconds)
    pace.seconds = seconds
    assert len(pace.points) <= 64
    parts = [pace.part(iteration) for iteration in range(asked % 100, len(steps) + 2)]
    assert parts == sorted(parts)
    assert all(0 <= part <= 1 for part in parts)
    assert Pace.of_json(pace.to_json()).points == pace.points
