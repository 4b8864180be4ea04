"""What is left of the limits of a call, by a clock that the test sets."""

from types import SimpleNamespace

import pytest

from memstow.planner.model.options import Options
from memstow.planner.solve import portfolio
from memstow.planner.solve.portfolio import Allowance


class Clock:
    """The time that the allowance sees."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(portfolio, "time", SimpleNamespace(monotonic=clock.monotonic))
    return clock


def test_what_is_left_of_the_time_is_shared(clock: Clock) -> None:
    allowance = Allowance(Options(time_limit=10.0))
    assert (allowance.seconds, allowance.seconds_left) == (0.0, 10.0)
    clock.now += 4.0
    assert (allowance.seconds, allowance.seconds_left) == (4.0, 6.0)
    assert allowance.share(0.5).time_limit == 3.0
    seconds = allowance.budget(0.5).seconds_left
    assert seconds is not None  # They run down by the clock of the machine.
    assert seconds <= 3.0
    assert allowance.affords(6.0)
    assert not allowance.affords(6.5)
    half = allowance.mark(0.5)
    assert not allowance.is_past(half)
    clock.now += 3.0
    assert allowance.is_past(half)
    assert not allowance.over


@pytest.mark.parametrize(("taken", "over"), [(0.0, False), (9.5, False), (9.875, True), (15.0, True)])
def test_the_time_is_over_a_little_before_its_end(clock: Clock, taken: float, over: bool) -> None:
    allowance = Allowance(Options(time_limit=10.0))
    clock.now += taken
    assert allowance.over is over
    assert allowance.share(1.0).time_limit == allowance.seconds_left == max(10.0 - taken, 0.0)


def test_of_a_deterministic_run_work_is_left_and_time_has_no_end(clock: Clock) -> None:
    allowance = Allowance(Options(time_limit=10.0, work_limit=1000, deterministic=True))
    clock.now += 99.0
    allowance.spend(400)
    assert allowance.share(0.5).work_limit == allowance.budget(0.5).work_left == 300
    assert allowance.budget(0.5).seconds_left is None
    assert allowance.affords(1e9)
    half = allowance.mark(0.5)
    assert not allowance.is_past(half)
    allowance.spend(300)
    assert allowance.is_past(half)


@pytest.mark.parametrize(("spent", "over"), [(0, False), (979, False), (980, True), (1500, True)])
def test_the_work_is_over_a_little_before_its_end(spent: int, over: bool) -> None:
    allowance = Allowance(Options(work_limit=1000, deterministic=True))
    allowance.spend(spent)
    assert allowance.over is over
