"""A small change in a problem moves few buffers: `moves` keeps what can stay where the hint has it."""

from dataclasses import replace

import pytest

from memstow.planner.generate.network import network
from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Pool, Problem
from memstow.planner.solve.engine import plan
from memstow.planner.verify import verify

SEEDS = (1, 2, 3)


def planned(seed: int, count: int = 60) -> tuple[Problem, Plan]:
    """A network in a memory a tenth larger than it needs, and its plan."""
    problem = network(count, seed)
    result = plan(problem, Options(time_limit=20.0))
    room = result.objective[0].value * 11 // 10
    return replace(problem, pools=(Pool(id="memory", capacity=room),)), result


def changes(problem: Problem) -> list[Problem]:
    """The problem with one buffer a little larger, one more buffer, and one that lives a moment longer."""
    middle = len(problem.buffers) // 2
    buffer = problem.buffers[middle]
    assert isinstance(buffer.lifetime, tuple)
    before, after = problem.buffers[:middle], problem.buffers[middle + 1 :]
    begin, end = buffer.lifetime
    return [
        replace(problem, buffers=(*before, replace(buffer, size=buffer.size + 64), *after)),
        replace(problem, buffers=(*problem.buffers, replace(buffer, id="new", size=64))),
        replace(problem, buffers=(*before, replace(buffer, lifetime=(begin, end + 1)), *after)),
        replace(problem, buffers=(*before, *after)),
    ]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("objective", [("moves",), ("moves", "peak"), ("peak", "moves")], ids=",".join)
def test_what_has_not_changed_does_not_move(seed: int, objective: tuple[str, ...]) -> None:
    problem, before = planned(seed)
    again = plan(replace(problem, objective=objective), Options(hint=before, time_limit=20.0))
    assert again.status is Status.OPTIMAL
    assert again.placements == before.placements


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("solver", ["auto", "greedy"])
def test_a_small_change_moves_few(seed: int, solver: str) -> None:
    if solver == "auto":
        pytest.importorskip("ortools", reason="the [cpsat] extra is not installed")
    problem, before = planned(seed)
    for changed in changes(problem):
        request = replace(changed, objective=("moves", "peak"))
        result = plan(request, Options(hint=before, solver=solver, time_limit=30.0))
        moved, _ = result.objective
        # What changed may have to go elsewhere, and a neighbour or two with it.
        assert moved.value <= 3
        assert verify(request, result, before) == []
