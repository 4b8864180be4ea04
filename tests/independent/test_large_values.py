"""Values near 2^62: a problem in larger bytes has the same best plan, in larger bytes."""

import pytest

from tests.campaign import gate_first
from tests.independent.brute_force import TooMuchError
from tests.independent.door import answer
from tests.independent.generator import problem_of
from tests.independent.judge import Truth
from tests.independent.meaning import Meaning, places_of
from tests.independent.runs import Run
from tests.independent.scaled import scaled


# The largest factor keeps all that a problem of six small buffers adds up to below 2^62.
@pytest.mark.parametrize("factor", gate_first([(1 << 54) - 1, 3, (1 << 40) + 1, 1 << 55], 1))
@pytest.mark.parametrize("solver", ["greedy", "exact", "reuse", "first-fit"])
def test_the_best_plan_grows_with_the_problem(solver: str, factor: int) -> None:
    decided = 0
    for seed in range(2_000, 2_080):
        problem, hint = problem_of(seed)
        if hint is not None:
            continue
        try:
            truth = Truth.of(problem)
        except TooMuchError:
            continue
        larger = scaled(problem, factor)
        plan = answer(larger, None, Run(solver=solver))
        if not isinstance(plan, dict):
            continue
        decided += 1
        if plan["status"] == "infeasible":
            assert truth.best is None, seed
            continue
        if plan["status"] == "unknown":
            continue
        assert truth.best is not None, seed
        meaning, places = Meaning(larger), places_of(plan)
        assert meaning.faults(places) == [], seed
        least = Meaning(larger).vector(
            {name: (pool, offset * factor) for name, (pool, offset) in truth.best.places.items()}
        )
        rows = plan.get("objective", [])
        assert tuple(row["value"] for row in rows) == meaning.vector(places), seed
        assert all(row["bound"] <= best for row, best in zip(rows, least, strict=True)), seed
        assert plan["status"] != "optimal" or meaning.vector(places) == least, seed
    assert decided > 10
