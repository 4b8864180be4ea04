"""A run keeps time to judge its plan: by what the problem has, and by how slow the machine is."""

from dataclasses import replace
from itertools import pairwise

import pytest

from memstow.planner.model.options import Options
from memstow.planner.model.problem import Buffer, InPlace, Pool, Problem, Relative, ReuseCost
from memstow.planner.solve.one_run import Arrays, Progress
from memstow.planner.solve.problem_plans import ProblemSource, seconds_to_judge

BUFFERS = tuple(Buffer(id=f"b{i}", size=4, lifetime=(2 * i, 2 * i + 3)) for i in range(100))
PLAIN = Problem(version=1, buffers=BUFFERS, pools=(Pool(id="memory"),))
PAIRS = tuple((one.id, other.id) for one, other in pairwise(BUFFERS))


class SetClock(Progress):
    """A clock that says these seconds, the last ones again and again."""

    def __init__(self, *seconds: float) -> None:
        super().__init__(None)
        self._left = list(seconds)

    def seconds(self) -> float:
        return self._left.pop(0) if len(self._left) > 1 else self._left[0]


def kept(problem: Problem, limit: float, *seconds: float) -> float:
    """The seconds that the run keeps; reducing begins and ends at the first two."""
    arrays = ProblemSource(problem, Options(time_limit=limit)).arrays(SetClock(*seconds))
    assert isinstance(arrays, Arrays)
    return arrays.seconds_after


@pytest.mark.parametrize(
    "more",
    [
        replace(PLAIN, conflicts=PAIRS),
        replace(PLAIN, exclusive=PAIRS),
        replace(PLAIN, in_place=tuple(InPlace(input=one, output=other) for one, other in PAIRS)),
        replace(PLAIN, relative=(Relative(buffer="b1", base="b0", offset=4),)),
        replace(PLAIN, reuse_costs=tuple(ReuseCost(buffers=pair, cost=1) for pair in PAIRS)),
        replace(PLAIN, buffers=(replace(BUFFERS[0], pool="memory"), *BUFFERS[1:])),
    ],
)
def test_what_takes_more_to_judge_is_given_more_time(more: Problem) -> None:
    assert kept(more, 10.0, 0.0) == seconds_to_judge(more) > seconds_to_judge(PLAIN)


def test_a_machine_that_is_slow_so_far_is_slow_afterwards() -> None:
    as_ever = kept(PLAIN, 10.0, 0.0)
    assert kept(PLAIN, 10.0, 1.0, 1.0 + 0.9 * as_ever) == pytest.approx(3 * as_ever)
    assert kept(PLAIN, 10.0, 1.0, 1.0 + 90 * as_ever) == pytest.approx(8 * as_ever)


def test_the_search_has_a_quarter_of_what_is_left() -> None:
    as_ever = kept(PLAIN, 10.0, 0.0)
    assert kept(PLAIN, as_ever, 0.0) == pytest.approx(0.75 * as_ever)
    assert kept(PLAIN, 10.0, 10.0 - as_ever) == pytest.approx(0.75 * as_ever)
    assert kept(PLAIN, 10.0, 11.0) == 0.0
