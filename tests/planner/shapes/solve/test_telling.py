"""Plans that are told of on the way: each is accepted by the judge, and the last is not worse."""

from typing import get_args

import pytest

from memstow.planner.formats.native import parse_symbolic
from memstow.planner.model.options import Options
from memstow.planner.model.symbolic import Shapes, SymbolicPlan
from memstow.planner.shapes.plan_symbolic import plan_symbolic
from memstow.planner.shapes.point_plans import better
from memstow.planner.verify.symbolic_verdict import judge_symbolic
from tests.api.symbolic_problems import hard


@pytest.mark.parametrize("shapes", get_args(Shapes))
def test_what_is_told_of_can_be_used(shapes: Shapes) -> None:
    problem = parse_symbolic(hard(40))
    output: list[SymbolicPlan] = []
    pieces = 3 if shapes == "pieces" else None
    options = Options(time_limit=3.0)
    plan = plan_symbolic(problem, options, shapes=shapes, pieces=pieces, on_better=output.append)
    assert all(
        not judge_symbolic(problem, one_plan).violations and one_plan.shapes == shapes for one_plan in output
    )
    assert not any(better(problem, entry, plan) for entry in output)


def test_a_deterministic_run_is_the_same_whoever_listens() -> None:
    problem = parse_symbolic(hard(30))
    options = Options(deterministic=True, work_limit=20_000_000)
    output: list[SymbolicPlan] = []
    assert plan_symbolic(problem, options, on_better=output.append) == plan_symbolic(problem, options)
