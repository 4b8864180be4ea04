"""What a bound in floats proves: the next integer, but never one that its errors alone speak for."""

import pytest

from memstow.planner.model.options import Options
from memstow.planner.model.problem import Buffer, Problem, ReuseCost
from memstow.planner.reduce import Reduction, reduce
from memstow.planner.solve.engine import plan
from memstow.planner.solve.problem_plans import task_of
from memstow.planner.verify import verify
from memstow.solvers.milp import can_prove, integer_bound
from memstow.solvers.registry import BACK_ENDS
from memstow.solvers.solver import Task


def task(problem: Problem) -> Task:
    """Without terms."""
    reduction = reduce(problem)
    assert isinstance(reduction, Reduction)
    return task_of(reduction, {}, Options())[0]


@pytest.mark.parametrize(
    ("bound", "value"),
    [(5.0, 5), (5.0000001, 5), (5.0005, 5), (5.01, 6), (4.9999999, 5), (-0.0000001, 0), (1e8 + 0.9, 10**8)],
)
def test_a_bound_is_rounded_up_but_for_its_errors(bound: float, value: int) -> None:
    assert integer_bound(bound) == value


@pytest.mark.parametrize("bound", [float("inf"), float("nan"), -float("inf"), 1e16])
def test_what_no_float_holds_proves_nothing(bound: float) -> None:
    assert integer_bound(bound) is None


@pytest.mark.parametrize("name", ["cbc", "highs"])
def test_numbers_beyond_what_floats_have_got_right_prove_nothing(name: str) -> None:
    """With these, HiGHS 1.15 says that no plan costs less than 5; there is one of 4."""
    if (reason := BACK_ENDS[name].how_to_get()) is not None:
        pytest.skip(f"{name} needs {reason}")
    lives = {
        "a": (524_289, (4, 5), 1),
        "b": (262_147, (1, 4), 1),
        "c": (524_289, (7, 8), 1),
        "d": (262_144, (3, 4), 64),
        "e": (524_290, (0, 3), 1),
        "f": (1_310_723, (5, 6), 1),
        "g": (786_435, (6, 8), 1),
        "h": (786_433, (3, 6), 64),
        "i": (1_310_719, (0, 1), 1),
        "j": (786_432, (6, 8), 1),
    }
    much = 1 << 20
    costs = {"e b": 1, "f b": 3, "g a": much, "g e": much + 1, "h d": 3, "i b": 1, "i f": 1, "j h": much}
    problem = Problem(
        version=1,
        buffers=tuple(
            Buffer(id=name, size=size, lifetime=life, alignment=alignment)
            for name, (size, life, alignment) in lives.items()
        ),
        reuse_costs=tuple(ReuseCost(buffers=(pair[0], pair[-1]), cost=cost) for pair, cost in costs.items()),
        objective=("max_peak", "reuse_cost"),
    )
    planned = plan(problem, Options(solver=name, workers=1, time_limit=5.0))
    assert verify(problem, planned) == []
    peak, cost = planned.objective
    assert (peak.value, peak.bound) == (2_097_156, 2_097_156), "by live bytes"
    assert cost.bound == 0


def test_small_numbers_prove() -> None:
    small, large = (
        Problem(version=1, buffers=(Buffer(id="a", size=size, lifetime=(0, 2)), Buffer(id="b", size=1)))
        for size in (1 << 18, 1 << 19)
    )
    assert [can_prove(task(entry)) for entry in (small, large)] == [True, False]
