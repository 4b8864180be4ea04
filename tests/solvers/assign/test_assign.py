"""Pools and offsets together, from a problem to a judged plan: what is proven, and when it answers."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from memstow.planner.formats import read_problem
from memstow.planner.generate.random_problems import mixed
from memstow.planner.model import Status
from memstow.planner.model.options import Event, Incumbent, Options, Phase
from memstow.planner.model.plan import Model, Placement, Plan
from memstow.planner.model.problem import Buffer, Pool, Problem, ReuseCost
from memstow.planner.reduce import Reduction, reduce
from memstow.planner.solve.bounds import Bounds
from memstow.planner.solve.engine import plan
from memstow.solvers.registry import BACK_ENDS, name_with_version
from tests.waiting import PATIENCE

pytestmark = pytest.mark.skipif(
    BACK_ENDS["assign"].how_to_get() is not None, reason="the [cpsat] extra is not installed"
)
ASSIGN = Options(solver="assign", time_limit=PATIENCE)


def values(result: Plan) -> list[int]:
    return [term.value for term in result.objective]


def halved(problem: Problem) -> Problem:
    """The problem over a fast memory of half its bound and a slow one that is to be as small as can be."""
    reduction = reduce(problem)
    assert isinstance(reduction, Reduction)
    half = Bounds(reduction).of_pool(0).value // 2
    pools = (Pool(id="fast", capacity=half, alignment=16), Pool(id="slow", alignment=16))
    return replace(problem, pools=pools, objective=("peak:slow",))


def test_what_loads_do_not_tell_is_learnt_from_the_packing() -> None:
    """A pin leaves two gaps of 4 in the fast pool: one small buffer fits beside each, no wide one."""
    problem = Problem(
        version=1,
        pools=(Pool(id="fast", capacity=10), Pool(id="slow", cost=1)),
        buffers=(
            Buffer(id="pin", size=2, lifetime=(0, 3), pool="fast", offset=4),
            *(Buffer(id=f"wide{i}", size=5, lifetime=(i, i + 1), accesses=100) for i in range(3)),
            *(Buffer(id=f"small{i}", size=3, lifetime=(0, 3), accesses=10) for i in range(3)),
        ),
    )
    planned = plan(problem, ASSIGN)
    assert planned.status is Status.OPTIMAL
    assert values(planned) == [310, 9 + 8]
    assert planned.objective[0].certificate == Model(solver="assign")


def test_a_later_term_is_proven_among_the_plans_that_keep_the_earlier_ones() -> None:
    problem = mixed(40, 2, features=("pools", "capacities"), horizon=10)
    terms = ("placement_cost", "max_peak", "peak")
    planned = plan(replace(problem, objective=terms), ASSIGN)
    assert planned.status is Status.OPTIMAL
    alone = plan(replace(problem, objective=terms[:1]), ASSIGN)
    assert values(alone) == values(planned)[:1]
    other = plan(replace(problem, objective=terms[::-1]), ASSIGN)
    assert other.status is Status.OPTIMAL
    assert values(other)[0] <= values(planned)[2]


def test_what_stays_is_chosen_with_its_pool() -> None:
    """Both wish to stay at one place; the second best is to keep the larger number of buffers."""
    problem = Problem(
        version=1,
        pools=(Pool(id="fast", capacity=8), Pool(id="slow", cost=1)),
        buffers=tuple(Buffer(id=name, size=4, lifetime=(0, 2)) for name in "abc"),
        objective=("moves", "placement_cost", "peak"),
    )
    places = (("a", "fast", 2), ("b", "fast", 4), ("c", "slow", 8))
    hint = Plan(
        status=Status.FEASIBLE,
        placements=tuple(Placement(buffer=b, pool=p, offset=o) for b, p, o in places),
    )
    planned = plan(problem, replace(ASSIGN, hint=hint))
    assert planned.status is Status.OPTIMAL
    assert values(planned) == [1, 4, 20]


def test_reuse_costs_are_weighed_against_another_pool() -> None:
    problem = Problem(
        version=1,
        pools=(Pool(id="fast", capacity=4), Pool(id="slow", capacity=4, cost=1)),
        buffers=tuple(Buffer(id=f"b{i}", size=3, lifetime=(i, i + 1)) for i in range(3)),
        reuse_costs=tuple(
            ReuseCost(buffers=(f"b{i}", f"b{k}"), cost=cost)
            for i, k, cost in ((0, 1, 5), (0, 2, 3), (1, 2, 4))
        ),
        objective=("reuse_cost", "placement_cost"),
    )
    planned = plan(problem, ASSIGN)
    assert planned.status is Status.OPTIMAL
    assert values(planned) == [3, 3]


def test_networks_over_half_the_memory_they_need_are_proven(shared_data: Path) -> None:
    least = {"mobilenet_v2": 5_120_000, "resnet50": 8_192_000, "transformer": 8_192_000}
    for name, value in least.items():
        problem = halved(read_problem((shared_data / "executorch" / f"{name}.json").read_bytes()))
        planned = plan(problem)
        assert planned.status is Status.OPTIMAL
        assert values(planned) == [value], name


def test_a_network_that_greedy_does_not_settle_is_proven(shared_data: Path) -> None:
    problem = halved(read_problem((shared_data / "executorch" / "efficientnet_b0.json").read_bytes()))
    planned = plan(problem, Options(time_limit=240.0))
    assert planned.status is Status.OPTIMAL
    assert values(planned) == [9_633_792]
    assert planned.prover == "assign"


def test_conflicts_without_times_are_proven_over_two_pools(shared_data: Path) -> None:
    facts = json.loads((shared_data / "usmp" / "facts.json").read_text())
    pools = (Pool(id="fast", capacity=200_704), Pool(id="slow"))
    for name, value in (("mobilenet", 1_117_462), ("resnet", 7_200_000)):
        problem = read_problem(json.dumps(facts[name]).encode(), "usmp")
        planned = plan(replace(problem, pools=pools, objective=("peak:slow",)))
        assert planned.status is Status.OPTIMAL
        assert values(planned) == [value], name
    inception = plan(read_problem(json.dumps(facts["inception"]).encode(), "usmp"))
    assert inception.status is Status.OPTIMAL
    assert values(inception) == [facts["inception"]["memory_pressure"]]


def two_pools(count: int) -> Problem:
    """Pools that differ in cost, the dear one small: greedy does not settle it."""
    rng = Random(7)
    buffers = tuple(
        Buffer(
            id=f"b{i}",
            size=rng.randrange(1, 400) * 16,
            lifetime=(begin := rng.randrange(count), begin + rng.randrange(1, max(count // 10, 2))),
            accesses=rng.randrange(10_000),
        )
        for i in range(count)
    )
    pools = (Pool(id="fast", capacity=count * 60), Pool(id="slow", cost=1))
    return Problem(version=1, pools=pools, buffers=buffers)


def test_a_deterministic_run_gives_the_same_plan_each_time() -> None:
    options = Options(solver="assign", deterministic=True, work_limit=60_000_000)
    first, second = (plan(two_pools(60), options) for _ in range(2))
    assert first == second
    assert first.prover == name_with_version("assign")


@pytest.mark.timeout(60)
def test_a_problem_far_too_large_keeps_the_plan_of_greedy_or_a_better_one() -> None:
    events: list[Event] = []
    planned = plan(two_pools(10_000), Options(time_limit=2.0), on_event=events.append)
    assert planned.status is Status.FEASIBLE
    assert planned.objective[0].value <= min(e.value for e in events if isinstance(e, Incumbent))


def test_no_child_is_asked_where_greedy_meets_the_bound() -> None:
    events: list[Event] = []
    pools = (Pool(id="fast", capacity=8), Pool(id="slow", cost=1))
    buffers = tuple(Buffer(id=f"b{i}", size=4, lifetime=(0, 2)) for i in range(2))
    planned = plan(Problem(version=1, pools=pools, buffers=buffers), on_event=events.append)
    assert planned.status is Status.OPTIMAL
    assert not any(isinstance(event, Phase) and event.name in BACK_ENDS for event in events)


@pytest.mark.parametrize("work", [-1_000_000, -3, 0])
def test_a_step_without_work_left_is_a_step_that_finds_nothing(work: int) -> None:
    """A step before may have used more than there was: CP-SAT refuses limits below zero."""
    from ortools.sat.python import cp_model

    from memstow.solvers.cpsat_model import make_solver, run_solver
    from tests.solvers.assign.make import instance_of, task_of

    task = task_of(instance_of([Pool(id="p")], [Buffer(id="a", size=1, lifetime=(0, 1))]))
    cp = cp_model.CpModel()
    cp.minimize(cp.new_int_var(1, 9, "any"))
    assert run_solver(make_solver(task, None, work, 0.0), cp) != cp_model.MODEL_INVALID
