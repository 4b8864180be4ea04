"""The figures of a bare layout are those that the engine tells of the same places."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from memstow.planner.bench.judgement import MOST_KEPT, Judge, Judgement, checked_by, judgement_of
from memstow.planner.generate.planted import planted
from memstow.planner.generate.random_problems import mixed
from memstow.planner.model import Status
from memstow.planner.model.digest import digest
from memstow.planner.model.options import Callbacks, Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Buffer, Pool, Problem, Reserved, ReuseCost
from memstow.planner.solve import engine
from memstow.planner.solve.problem_plans import plan_for_judge
from memstow.planner.verify import Violation, verify

FEATURES = ("pools", "reuse_costs", "objective", "alignments", "pins")


QUICK = Options(deterministic=True, work_limit=20_000)


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
    plan = engine.plan(problem, QUICK)
    first = replace(plan.placements[0], offset=plan.placements[1].offset)
    wrong = Plan(status=Status.FEASIBLE, placements=(first, *plan.placements[2:]))
    assert judgement_of(problem, wrong) == Judgement(False, ("missing",))


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """The plans that are judged from now on."""
    plans: list[Plan] = []

    def counting(problem: Problem, plan: Plan, hint: Plan | None = None) -> list[Violation]:
        plans.append(plan)
        return verify(problem, plan, hint)

    for name in ("verify", "recount"):
        monkeypatch.setattr(f"memstow.planner.bench.judgement.{name}", counting)
    return plans


def test_a_plan_that_the_engine_had_judged_here_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = counted(monkeypatch)
    problem = planted(20, 1)
    judge = Judge(problem, digest(problem))
    plan = plan_for_judge(problem, QUICK, Callbacks(), judge.judge)
    assert judgement_of(problem, plan, judge).valid
    assert len(judged) == 1
    assert judged[0].placements == plan.placements


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda plan: {"placements": plan.placements[1:]}, "missing"),
        (lambda _: {"status": Status.FEASIBLE}, "status"),
        (lambda plan: {"pools": (replace(plan.pools[0], peak=1),)}, "peak"),
        (lambda _: {"digest": "0" * 64}, "digest"),
    ],
)
def test_any_other_plan_than_the_one_that_was_judged_is_judged(
    change: Callable[[Plan], dict[str, object]], code: str
) -> None:
    problem = planted(20, 1)
    judge = Judge(problem, digest(problem))
    plan = plan_for_judge(problem, QUICK, Callbacks(), judge.judge)
    other: Plan = replace(plan, **change(plan))  # type: ignore[arg-type]
    judgement = judgement_of(problem, other, judge)
    assert not judgement.valid
    assert code in judgement.codes


def test_what_the_engine_does_not_judge_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = counted(monkeypatch)
    buffers = tuple(Buffer(id=f"b{i}", size=2, lifetime=(0, 1)) for i in range(3))
    problem = Problem(version=1, buffers=buffers, pools=(Pool(id="small", capacity=5),))
    judge = Judge(problem, digest(problem))
    plan = plan_for_judge(problem, Options(), Callbacks(), judge.judge)
    assert judgement_of(problem, plan, judge).valid
    assert judged == [plan]


def test_a_layout_of_many_buffers_is_not_kept() -> None:
    def laid_out(count: int) -> Judgement:
        buffers = tuple(Buffer(id=f"b{i}", size=1, lifetime=(i, i + 1)) for i in range(count))
        problem = Problem(version=1, buffers=buffers)
        return judgement_of(problem, engine.plan(problem))

    assert laid_out(MOST_KEPT).layout is not None
    assert laid_out(MOST_KEPT + 1).layout is None


def test_a_plan_judged_beside_a_hint_is_judged_again_without(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = counted(monkeypatch)
    problem = planted(20, 1)
    plan = engine.plan(problem, QUICK)
    judge = Judge(problem, digest(problem))
    assert judge.judge(problem, plan, plan) == []
    assert judge.violations(plan) == judge.violations(plan) == []
    assert len(judged) == 2


# The byte that is reserved leaves room for one buffer below: no sum of live bytes shows that.
@pytest.mark.parametrize(("capacity", "status"), [(None, Status.OPTIMAL), (7, Status.INFEASIBLE)])
def test_what_the_judge_cannot_count_is_checked_by_a_proof(capacity: int | None, status: Status) -> None:
    pool = Pool(id="m", capacity=capacity, reserved=(Reserved(offset=4, size=1),))
    problem = Problem(pools=(pool,), buffers=tuple(Buffer(id=name, size=3, lifetime=(0, 2)) for name in "ab"))
    plan = engine.plan(problem, QUICK)
    assert (plan.status, plan.prover) == (status, "exact")
    assert checked_by(problem, plan, seconds=60.0) == "proof"


def test_reuse_costs_that_the_judge_cannot_count_are_checked_by_a_proof() -> None:
    problem = Problem(
        pools=[Pool(id="m", capacity=5)],
        buffers=[Buffer(id=name, size=2, lifetime=(at, at + 1)) for at, name in enumerate("abc")],
        reuse_costs=[ReuseCost(buffers=pair, cost=1) for pair in (("a", "b"), ("b", "c"), ("a", "c"))],
        objective=["reuse_cost", "peak"],
    )
    plan = engine.plan(problem, Options(deterministic=True))
    assert (plan.status, [term.value for term in plan.objective]) == (Status.OPTIMAL, [1, 4])
    assert checked_by(problem, plan, seconds=60.0) == "proof"


def test_what_the_judge_counts_needs_no_proof() -> None:
    problem = Problem(buffers=(Buffer(id="a", size=3, lifetime=(0, 2)),))
    plan = engine.plan(problem, QUICK)
    assert checked_by(problem, plan, seconds=0.0) == "judge"
    feasible = replace(plan, status=Status.FEASIBLE)
    assert checked_by(problem, feasible, seconds=60.0) is None
    wrong = replace(plan, placements=())
    assert checked_by(problem, wrong, seconds=60.0) is None
