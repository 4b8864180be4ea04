"""Buffers that live throughout are put at the bottom by the improver; the engine's judge sees the whole."""

from dataclasses import replace

import pytest

from memstow.planner.generate.network import network
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Buffer, Pool
from memstow.planner.solve import engine
from memstow.planner.verify import judge


@pytest.mark.parametrize(("seed", "alignment"), [(1, 64), (2, 64), (3, 1), (5, 512)])
def test_plans_above_what_lives_throughout_are_valid(seed: int, alignment: int) -> None:
    problem = network(2_400, seed, training=True, alignment=alignment)
    # In the way of all others, wherever it is.
    horizon = max(buffer.lifetime[1] for buffer in problem.buffers if isinstance(buffer.lifetime, tuple))
    odd = Buffer(id="odd", size=1_000_001, lifetime=(0, horizon), alignment=alignment)
    problem = replace(problem, buffers=(odd, *problem.buffers), pools=(Pool(id="memory", capacity=1 << 40),))
    options = Options(solver="improve", deterministic=True, work_limit=20_000_000)
    planned = engine.plan(problem, options)
    assert judge(problem, planned).valid
    assert planned.objective[0].value >= planned.objective[0].bound
    # The same with what the improver starts from as its limit: no plan is worse than greedy's.
    start = engine.plan(problem, replace(options, solver="greedy"))
    assert planned.objective[0].value <= start.objective[0].value
