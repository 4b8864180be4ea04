"""The engine against brute force: tiny problems with one to three pools and every constraint and term mixed.

MEMSTOW_AGREEMENT=20000 in the environment tries so many.
"""

import os
from dataclasses import replace
from random import Random

import pytest

from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.solve.engine import plan
from memstow.planner.verify import verify
from tests.campaign import gate_first
from tests.in_process import run_back_ends_in_process
from tests.problems import TERMS, random_problem
from tests.referee import best
from tests.stale import stale_plan
from tests.waiting import PATIENCE
from tests.wild import wild_problem

pytest.importorskip("ortools", reason="the [cpsat] extra is not installed")

TRIED = int(os.environ.get("MEMSTOW_AGREEMENT", 150))


def mixed(seed: int) -> tuple[Problem, Plan | None]:
    """A problem, and the plan its `moves` are counted from where they are a term."""
    rng = Random(seed)
    # With five buffers and three pools the brute force can take minutes.
    problem = random_problem(rng, most_buffers=4)
    if rng.random() < 0.7:
        return problem, None
    terms = [*TERMS, *(f"peak:{pool.id}" for pool in problem.pools)]
    chosen = ["moves", *rng.sample(terms, rng.choice((0, 1, 2)))]
    rng.shuffle(chosen)
    return replace(problem, objective=tuple(chosen)), stale_plan(problem, rng)


def test_status_and_every_level_of_the_objective_are_those_of_brute_force(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_back_ends_in_process(monkeypatch)
    for seed in range(TRIED):
        problem, hint = mixed(seed)
        planned = plan(problem, Options(time_limit=PATIENCE, hint=hint))
        status, vector = best(problem, hint)
        assert planned.status is status, seed
        assert verify(problem, planned, hint) == [], seed
        if vector is not None:
            assert tuple(term.value for term in planned.objective) == vector, seed
            assert tuple(term.bound for term in planned.objective) == vector, seed


@pytest.mark.parametrize("chunk", gate_first(range(5), 1))
def test_problems_drawn_with_no_regard_for_what_is_easy_agree_as_well(chunk: int) -> None:
    """Odd alignments, distances that fit them only now and then, pins within rigid groups, several groups."""
    for seed in range(chunk, TRIED, 5):
        problem = wild_problem(Random(seed), most_buffers=3)
        planned = plan(problem, Options(time_limit=PATIENCE))
        status, vector = best(problem)
        assert planned.status is status, seed
        assert verify(problem, planned) == [], seed
        if vector is not None:
            assert tuple(term.value for term in planned.objective) == vector, seed
            assert tuple(term.bound for term in planned.objective) == vector, seed


def test_the_mixture_holds_one_to_three_pools_every_term_and_every_constraint() -> None:
    problems = [mixed(seed)[0] for seed in range(400)]
    assert {len(problem.pools) for problem in problems} == {1, 2, 3}
    terms = {term for problem in problems for term in problem.terms()}
    assert terms >= {*TERMS, "moves", "peak:fast", "peak:slow", "peak:far"}
    for constraint in ("conflicts", "exclusive", "relative", "in_place", "reuse_costs"):
        for pools in (1, 2, 3):
            assert any(getattr(p, constraint) for p in problems if len(p.pools) == pools), constraint
