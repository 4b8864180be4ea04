"""The plan at a value is an ordinary plan, which the judge of ordinary plans accepts in all it says."""

from dataclasses import replace
from random import Random

import pytest

import memstow
from memstow.planner.formulas.sizes import problem_at
from memstow.planner.generate.features import SYMBOLIC_FEATURES
from memstow.planner.generate.symbolic import symbolic
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Pool
from memstow.planner.model.symbolic import (
    Order,
    OrderedPlacement,
    Shapes,
    Symbol,
    SymbolicBuffer,
    SymbolicPlan,
    SymbolicProblem,
)
from memstow.planner.shapes.symbolic_layout import Layout, plan_at
from tests.campaign import gate_first
from tests.planner.shapes.stacks import fits, fixed_plan, random_point, random_problem, stacked_plan

S = (Symbol(id="s", min=0, max=100),)


@pytest.mark.parametrize("seed", gate_first(range(250), 80))
def test_the_judge_accepts_all_that_it_says(seed: int) -> None:
    rng = Random(seed)
    problem = random_problem(rng)
    plan = stacked_plan(problem, rng, rng.choice((1, 2)))
    try:
        layout = None if plan is None else Layout(problem, plan)
    except InputError:
        return
    if plan is None or layout is None:
        return
    for _ in range(4):
        at = random_point(problem, rng)
        if not fits(layout, at):
            continue
        planned = plan_at(problem, plan, at)
        verdict = memstow.judge(problem_at(problem, at), planned)
        assert verdict.violations == ()
        assert not verdict.unchecked
        assert planned.digest == memstow.digest(problem_at(problem, at))
        assert {placement.buffer: placement.offset for placement in planned.placements} == layout.offsets(at)
        assert {use.pool: use.peak for use in planned.pools} == layout.peaks(at)
        assert planned.objective[0].value == layout.lay_out(at).objective
        assert planned.solver == "stack"


@pytest.mark.parametrize("seed", gate_first(range(60), 20))
def test_plans_of_the_planner_are_ordinary_plans_at_every_value(seed: int) -> None:
    problem = symbolic(7, seed=seed, family="random", symbols=1 + seed % 2, features=SYMBOLIC_FEATURES)
    kinds: tuple[Shapes, ...] = ("order", "pieces", "fixed")
    try:
        plan = memstow.plan_symbolic(
            problem, memstow.Options(deterministic=True, work_limit=100_000), shapes=kinds[seed % 3]
        )
    except memstow.DeclinedError:
        return
    if plan.status not in PLANNED:
        return
    rng = Random(seed)
    for at in [*(point.at for point in plan.points), *(random_point(problem, rng) for _ in range(6))]:
        planned = plan_at(problem, plan, at)
        assert memstow.judge(problem_at(problem, at), planned).violations == ()
    for point in plan.points:
        assert Layout(problem, plan).lay_out(point.at).objective == point.peak


def test_fixed_offsets_are_a_plan_at_every_value() -> None:
    problem = SymbolicProblem(
        symbols=S,
        buffers=[SymbolicBuffer(id="x", size="s*s"), SymbolicBuffer(id="y", size="3*s", lifetime="always")],
    )
    for value in (0, 1, 50, 100):
        planned = plan_at(problem, fixed_plan(problem), {"s": value})
        assert memstow.verify(problem_at(problem, {"s": value}), planned) == []


def test_it_says_that_it_is_optimal_where_the_live_bytes_say_so() -> None:
    problem = SymbolicProblem(
        symbols=S,
        buffers=[
            SymbolicBuffer(id="x", size="s", lifetime=(0, 2)),
            SymbolicBuffer(id="y", size="2*s", lifetime=(1, 3)),
        ],
    )
    planned = plan_at(problem, stack("x", "y"), {"s": 7})
    assert (planned.status, planned.prover) == (Status.OPTIMAL, "live bytes")
    assert (planned.objective[0].value, planned.objective[0].bound) == (21, 21)
    empty = plan_at(problem, stack("x", "y"), {"s": 0})
    assert (empty.status, empty.prover, empty.objective[0].value) == (Status.OPTIMAL, None, 0)


def stack(*names: str) -> SymbolicPlan:
    """Each above the one before."""
    placements = [
        OrderedPlacement(buffer=name, pool="memory", above=names[max(i - 1, 0) : i])
        for i, name in enumerate(names)
    ]
    return SymbolicPlan(status=Status.FEASIBLE, shapes="order", orders=[Order(placements=placements)])


def test_a_plan_that_is_not_valid_at_a_value_is_refused_there() -> None:
    problem = SymbolicProblem(
        symbols=S,
        buffers=[
            SymbolicBuffer(id="x", size="s", lifetime=(0, 2)),
            SymbolicBuffer(id="y", size="s - s", lifetime=(1, 3)),
            SymbolicBuffer(id="z", size="s", lifetime=(1, 3)),
        ],
    )
    above = [("x", []), ("y", ["x"]), ("z", [])]
    plan = SymbolicPlan(
        status=Status.FEASIBLE,
        shapes="order",
        orders=[
            Order(placements=[OrderedPlacement(buffer=b, pool="memory", above=entry) for b, entry in above])
        ],
    )
    assert plan_at(problem, plan, {"s": 0}).status is Status.OPTIMAL
    with pytest.raises(InputError, match=r"not valid at s=1: .*'x'.*'z'"):
        plan_at(problem, plan, {"s": 1})


def test_a_buffer_of_size_0_is_in_its_pool_even_where_it_is_full() -> None:
    problem = SymbolicProblem(
        symbols=S,
        pools=[Pool(id="memory", capacity=100, base=8)],
        buffers=[
            SymbolicBuffer(id="x", size="s", lifetime=(0, 2)),
            SymbolicBuffer(id="y", size="100 - s", lifetime=(1, 3), alignment=64),
        ],
    )
    planned = plan_at(problem, stack("x", "y"), {"s": 100})
    assert [placement.offset for placement in planned.placements] == [0, 56]
    assert memstow.verify(problem_at(problem, {"s": 100}), planned) == []


def test_there_is_no_plan_at_a_value_without_one_at_all() -> None:
    problem = SymbolicProblem(symbols=S, buffers=[SymbolicBuffer(id="x", size="s")])
    plan = replace(stack("x"), status=Status.INFEASIBLE, orders=())
    with pytest.raises(InputError, match="the status is infeasible"):
        plan_at(problem, plan, {"s": 1})
