"""Plans by name become the layouts that they are, whatever constrains the problem."""

from random import Random

import pytest

from memstow.planner.formats.native import write_document
from memstow.planner.model import PLANNED
from memstow.planner.model.errors import PlugInError
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Kind, Problem, counts, terms_of
from memstow.planner.reduce import Reduction, reduce
from memstow.planner.solve import engine
from memstow.planner.solve.by_name import NamedProblem
from memstow.planner.solve.problem_plans import task_of
from tests.campaign import gate_first
from tests.problems import banked_problem, costly_problem, random_problem

MADE = {"random": random_problem, "costly": costly_problem, "banked": banked_problem}


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("seed", gate_first(range(12), 2))
def test_the_values_of_a_plan_by_name_are_those_of_the_plan(kind: str, seed: int) -> None:
    planned = 0
    for number in range(25):
        problem: Problem = MADE[kind](Random(1000 * seed + number))
        hint = None
        if counts(problem, Kind.MOVES):
            hint = engine.plan(problem, Options(deterministic=True, work_limit=1000, solver="greedy", seed=1))
            hint = hint if hint.status in PLANNED else None
        plan = engine.plan(problem, Options(deterministic=True, work_limit=20_000, hint=hint))
        if plan.status not in PLANNED:
            continue
        reduction = reduce(problem, hint if counts(problem, Kind.MOVES) else None, in_bytes=True)
        assert isinstance(reduction, Reduction)
        task, scales = task_of(reduction, dict.fromkeys(terms_of(problem), 0), Options(hint=hint))
        assert set(scales) <= {1}
        named = NamedProblem(reduction, hint, task)
        received = named.read(write_document(plan), "mine")
        assert received is not None
        assert received.values == tuple(term.value for term in plan.objective)
        placed = reduction.placements(received.layout)
        sizes = {buffer.id: buffer.size for buffer in problem.buffers}
        assert [p for p in placed if sizes[p.buffer]] == [p for p in plan.placements if sizes[p.buffer]]
        planned += 1
    assert planned > 5


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b'{"status": "optimal"}', b'{"status": "feasible", "placements": [1]}', b"\xff"],
)
def test_what_is_no_plan_of_it_is_an_error_of_the_plug_in(data: bytes) -> None:
    problem = random_problem(Random(3))
    reduction = reduce(problem, in_bytes=True)
    assert isinstance(reduction, Reduction)
    task, _ = task_of(reduction, dict.fromkeys(terms_of(problem), 0), Options())
    with pytest.raises(PlugInError, match="'mine'"):
        NamedProblem(reduction, None, task).read(data, "mine")
