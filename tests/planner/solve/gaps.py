"""What one solver claims when it may stop at a gap, or must at a limit, against brute force, as JSON.

Run as `python -m tests.planner.solve.gaps SOLVER FIRST COUNT`, since not all back ends can be in one process
with each other: OR-tools and highspy bring different copies of HiGHS under the same names.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from random import Random
from typing import Final

import pytest

from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import DeclinedError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan, gap_of
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.solve import one_run
from memstow.planner.solve.engine import plan
from memstow.planner.solve.portfolio import Stage
from memstow.planner.verify import verify
from memstow.solvers.registry import BACK_ENDS, native_solver
from memstow.solvers.solver import Solver, Task
from tests.in_process import run_back_ends_in_process
from tests.planner.solve.test_agreement import mixed
from tests.problems import costly_problem, random_problem
from tests.referee import Verdict, judge, least

GAPS: Final = (0.0, 0.02, 0.1, 0.5)
WORK: Final = (0, 1, 200, 20_000, 2_000_000)


def main(solver: str, first: int, number: int) -> dict[str, object]:
    """How many runs ended how, and what is wrong with any of them."""
    tally: Counter[str] = Counter()
    wrong: list[object] = []
    with pytest.MonkeyPatch.context() as patch:
        run_back_ends_in_process(patch, with_highs=solver == "highs")
        if solver in BACK_ENDS:
            patch.setattr(one_run, "stages_for", _badly_started)
        for seed in range(first, first + number):
            problem, hint = problem_for(solver, seed)
            truth = judge(problem, hint)
            for options in _options(solver, seed, hint):
                try:
                    planned = plan(problem, options)
                except DeclinedError:
                    tally["declined"] += 1
                    continue
                tally["runs"] += 1
                tally[planned.status] += 1
                tally["with a gap left"] += any(term.gap for term in planned.objective)
                for reason in _against(problem, hint, planned, truth, options):
                    wrong.append([seed, options.gap, options.work_limit, reason])
    return {"tally": tally, "wrong": wrong}


def _badly_started(request: Solver | None, task: Task, _seconds: float | None) -> list[Stage]:
    """With nothing, or little, to start from: greedy finds the best plan of most tiny problems."""
    assert request is not None
    starts: tuple[list[Stage], ...] = (
        [],
        [Stage(native_solver("usmp-size"), 1.0)],
        [Stage(native_solver("greedy"), 1.0, most_work=1)],
    )
    return [*starts[task.seed % 3], Stage(request, 1.0)]


def problem_for(solver: str, seed: int) -> tuple[Problem, Plan | None]:
    """A tiny problem that the solver does not decline, and the plan that moves are counted from."""
    rng = Random(seed)
    if solver == "reuse":
        return costly_problem(rng, most_buffers=4), None
    if solver != "exact":
        return mixed(seed) if seed % 2 else (shared_out(rng), None)
    drawn = (random_problem(rng) for _ in count())
    return replace(next(p for p in drawn if len(p.pools) == 1), objective=("peak",)), None


def shared_out(rng: Random) -> Problem:
    """Few constraints and much to choose: plans are found at once, and the best one is not."""
    pools = tuple(Pool(id=name, cost=rng.randint(0, 2)) for name in ("fast", "slow"))
    always = rng.random() < 0.7
    lives = [(begin := rng.randint(0, 2), begin + rng.randint(1, 3)) for _ in range(4)]
    buffers = tuple(
        Buffer(id=f"b{i}", size=rng.randint(1, 5), lifetime="always" if always else life)
        for i, life in enumerate(lives)
    )
    terms = ("max_peak", "peak", "placement_cost", "peak:slow", "peak:fast")
    objective = (rng.choice(terms[:2]), *rng.sample(terms[2:], rng.randint(0, 2)))
    return Problem(version=1, pools=pools, buffers=buffers, objective=objective)


def _options(solver: str, seed: int, hint: Plan | None) -> Iterator[Options]:
    for gap in GAPS:
        yield Options(solver=solver, gap=gap, hint=hint, seed=seed, workers=1 + seed % 2, time_limit=600.0)
    for work in WORK:
        gap = GAPS[seed % len(GAPS)]
        yield Options(solver=solver, gap=gap, hint=hint, seed=seed, deterministic=True, work_limit=work)


def _against(
    problem: Problem, hint: Plan | None, result: Plan, truth: Verdict, options: Options
) -> Iterator[str]:
    """What is claimed and not so."""
    for violation in verify(problem, result, hint):
        yield violation.message
    if result.status is Status.INFEASIBLE and truth.status is not Status.INFEASIBLE:
        yield "something fits"
    if result.status is Status.UNKNOWN and options.work_limit is None:
        yield "no answer"
    if result.status not in PLANNED:
        return
    values = tuple(term.value for term in result.objective)
    if result.status is Status.OPTIMAL and values != truth.vector:
        yield f"{values} is not optimal: {truth.vector}"
    for at, term in enumerate(result.objective):
        lowest = least(problem, term.term, values[:at], hint)
        if lowest is None or not term.bound <= lowest <= term.value:
            yield f"{term.term} can be {lowest}: not within {term.bound} and {term.value}"
        if options.work_limit is None and gap_of(term.value, term.bound) > options.gap:
            yield f"{term.term} is {term.value}, its bound {term.bound}: not within the gap"


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1], *map(int, sys.argv[2:]))))
