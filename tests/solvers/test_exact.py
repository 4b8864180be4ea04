"""The exact search on a published problem that it used to get stuck in."""

from pathlib import Path

import pytest

import memstow
from memstow import Options, Status

# What one run has learnt can keep the next from a layout.
STEPS = 300_000_000


@pytest.mark.parametrize("seed", [0, 1])
def test_it_forgets_what_keeps_it_from_the_optimum(shared_data: Path, seed: int) -> None:
    problem = memstow.read_problem((shared_data / "minimalloc" / "D.1048576.csv").read_bytes())
    options = Options(solver="exact", deterministic=True, seed=seed, work_limit=STEPS)
    plan = memstow.plan(problem, options)
    assert plan.status is Status.OPTIMAL
    assert plan.pools[0].peak == 986_112
