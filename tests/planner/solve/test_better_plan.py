"""Plans that a run hands out before its end: judged as the last one is, and better each time."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from memstow.planner.generate.planted import planted
from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.solve.engine import plan
from memstow.planner.solve.one_run import better
from memstow.planner.verify import verify
from tests.problems import random_problem

EMPTY = Plan(status=Status.FEASIBLE)


@pytest.mark.parametrize("seed", range(60))
def test_every_plan_on_the_way_holds_for_any_problem(seed: int) -> None:
    problem = random_problem(Random(seed), 8)
    hint = EMPTY if "moves" in problem.terms() else None
    offered: list[Callable[[], Plan]] = []
    last = plan(problem, Options(time_limit=0.3, hint=hint, workers=1), on_better=offered.append)
    # Asked for at the end, when the bounds are those of the best plan; some hold for no other.
    for element in (entry() for entry in offered):
        assert verify(problem, element, hint) == []
        assert not better(element, last)


def test_plans_on_the_way_become_better_up_to_the_last() -> None:
    problem = planted(400, 3)
    early: list[Plan] = []
    offered: list[Callable[[], Plan]] = []

    def offer(judged: Callable[[], Plan]) -> None:
        offered.append(judged)
        if len(offered) == 1:
            early.append(judged())

    last = plan(problem, Options(time_limit=1.0), on_better=offer)
    result = [entry() for entry in offered]
    values = [one_plan.objective[0].value for one_plan in result]
    assert len(values) > 1
    assert early[0].placements == result[0].placements
    assert values == sorted(values, reverse=True)
    assert values[-1] == last.objective[0].value
    assert result[-1].placements == last.placements


def test_a_layout_that_does_not_fit_is_not_handed_out() -> None:
    problem = planted(60, 5)
    pool = replace(problem.pools[0], capacity=max(buffer.size for buffer in problem.buffers))
    offered: list[Callable[[], Plan]] = []
    last = plan(replace(problem, pools=(pool,)), Options(time_limit=0.5), on_better=offered.append)
    assert last.status in (Status.INFEASIBLE, Status.UNKNOWN)
    assert offered == []
