"""The figures of a bare layout are those that the engine tells of the same places."""

from dataclasses import replace

import pytest

from planner import engine
from planner.bench.judgement import MOST_KEPT, Judgement, judgement_of
from planner.generate.mixed import mixed
from planner.generate.planted import planted
from planner.options import Options
from planner.plan import Plan, Status
from planner.problem import Buffer, Problem

FEATURES = ("pools", "reuse_costs", "objective", "alignments", "pins")


@pytest.mark.parametrize("seed", range(30))
def test_a_bare_layout_is_worth_what_the_plan_says(seed: int) -> None:
    problem = mixed(8, seed, features=FEATURES)
    plan = engine.plan(problem, Options(deterministic=True, work_limit=20_000, solver="greedy"))
    if plan.status not in (Status.OPTIMAL, Status.FEASIBLE):
        pytest.skip("nothing fits")
    bare = Plan(status=Status.FEASIBLE, placements=tuple(reversed(plan.placements)))
    whole, alone = judgement_of(problem, plan), judgement_of(problem, bare)
    assert whole.valid
    assert [term[:2] for term in alone.objective] == [term[:2] for term in whole.objective]
    assert (alone.peak, alone.layout) == (whole.peak, whole.layout)
    assert all(term.bound is None for term in alone.objective)


def test_a_plan_that_is_wrong_has_no_figures() -> None:
    problem = planted(20, 1)
    plan = engine.plan(problem, Options(deterministic=True, work_limit=20_000))
    first = replace(plan.placements[0], offset=plan.placements[1].offset)
    wrong = Plan(status=Status.FEASIBLE, placements=(first, *plan.placements[2:]))
    assert judgement_of(problem, wrong) == Judgement(False, ("missing",))


def test_a_layout_of_many_buffers_is_not_kept() -> None:
    def laid_out(count: int) -> Judgement:
        buffers = tuple(Buffer(id=f"b{i}", size=1, lifetime=(i, i + 1)) for i in range(count))
        problem = Problem(version=1, buffers=buffers)
        return judgement_of(problem, engine.plan(problem))

    assert laid_out(MOST_KEPT).layout is not None
    assert laid_out(MOST_KEPT + 1).layout is None
