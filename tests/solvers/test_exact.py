"""The exact search on problems that it used to get stuck in."""

from pathlib import Path

import pytest

import memstow
from memstow import Options, Status
from memstow.planner.generate.planted import planted

# What one run has learnt can keep the next from a layout.
STEPS = 300_000_000


@pytest.mark.parametrize("seed", [0, 1])
def test_it_forgets_what_keeps_it_from_the_optimum(shared_data: Path, seed: int) -> None:
    problem = memstow.read_problem((shared_data / "minimalloc" / "D.1048576.csv").read_bytes())
    options = Options(solver="exact", deterministic=True, seed=seed, work_limit=STEPS)
    plan = memstow.plan(problem, options)
    assert plan.status is Status.OPTIMAL
    assert plan.pools[0].peak == 986_112


# Sweeps took 14 to 25 million steps of these rows, which are nearly full, before the search had its turn.
@pytest.mark.parametrize(
    ("n", "live", "slack", "drop", "seed"),
    [(100, 10, 0.0, 0.03, 0), (170, 18, 0.0, 0.03, 0), (170, 18, 0.02, 0.02, 2), (170, 18, 0.02, 0.02, 3)],
)
def test_what_a_search_soon_ends_does_not_wait_for_sweeps(
    n: int, live: int, slack: float, drop: float, seed: int
) -> None:
    problem = planted(n, seed, live=live, slack=slack, drop=drop, alignment=16 * 1024)
    plan = memstow.plan(problem, Options(deterministic=True, work_limit=5_000_000))
    assert plan.status is Status.OPTIMAL
    assert plan.pools[0].peak == 1 << 20
