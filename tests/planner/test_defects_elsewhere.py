"""Defects that other planners have had, kept out."""

import subprocess
import sys
from dataclasses import replace
from random import Random

import pytest

from memstow.planner.check import find_issues
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Buffer, Pool, Problem, Relative, Reserved
from memstow.planner.reduce import Reduction, reduce
from memstow.planner.solve.bounds import Bounds
from memstow.planner.solve.engine import plan
from memstow.planner.verify import verify
from tests.planner.plans import honest
from tests.problems import random_problem
from tests.referee import best, breaks, judge


@pytest.mark.parametrize(
    ("pinned", "code"),
    [
        (Buffer(id="p", size=48, lifetime=(0, 1), pool="m", offset=32), "pin_beyond_capacity"),
        (Buffer(id="p", size=8, lifetime=(0, 1), alignment=16, pool="m", offset=8), "pin_misaligned"),
        (Buffer(id="p", size=8, lifetime=(0, 1), pool="m", pools=("n",), offset=0), "pin_not_allowed"),
        (Buffer(id="p", size=24, lifetime=(0, 1), pool="m", offset=32), "pin_on_reserved"),
    ],
)
def test_a_pin_skips_no_check(pinned: Buffer, code: str) -> None:
    pools = (Pool(id="m", capacity=64, reserved=(Reserved(offset=48, size=8),)), Pool(id="n"))
    problem = Problem(version=1, pools=pools, buffers=(pinned,))
    with pytest.raises(InputError) as raised:
        plan(problem)
    assert code in {issue.code for issue in raised.value.issues}
    # Without the pin, a plan that puts it there all the same is refused.
    free = replace(problem, buffers=(replace(pinned, pool=None, offset=None),))
    assert verify(free, honest(free, {"p": ("m", pinned.offset or 0)}))


def test_pins_of_two_that_conflict_are_told_before_any_search() -> None:
    one = Buffer(id="a", size=8, lifetime=(0, 2), pool="memory", offset=0)
    with pytest.raises(InputError, match=r"buffers\[1\].*pins_clash"):
        plan(Problem(version=1, buffers=(one, replace(one, id="b", lifetime=(1, 3), offset=4))))


@pytest.mark.parametrize("distance", [-24, 0, 4, 20])
def test_a_dependent_larger_than_its_base_stays_in_the_pool_and_out_of_others(distance: int) -> None:
    buffers = (
        Buffer(id="base", size=8, lifetime=(0, 2)),
        Buffer(id="wide", size=32, lifetime=(1, 3)),
        Buffer(id="other", size=16, lifetime=(0, 3)),
    )
    tie = (Relative(buffer="wide", base="base", offset=distance),)
    free = Problem(version=1, buffers=buffers, relative=tie)
    planned = plan(free)
    assert planned.status is Status.OPTIMAL
    least = planned.objective[0].value
    assert (least,) == best(free)[1]
    places = {place.buffer: (place.pool, place.offset) for place in planned.placements}
    assert not breaks(free, places)
    tight = replace(free, pools=(Pool(id="memory", capacity=least - 1),))
    assert plan(tight).status is Status.INFEASIBLE


IN_ANY_ORDER = """
import sys
from dataclasses import replace
from random import Random
from pydantic import TypeAdapter
from memstow.planner.solve.engine import plan
from memstow.planner.generate.network import network
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Pool
from tests.problems import random_problem
write = TypeAdapter(Plan).dump_json
for seed in range(12):
    problem = random_problem(Random(seed))
    found = plan(problem, Options(deterministic=True, work_limit=20_000_000))
    sys.stdout.write(write(found).decode() + "\\n")
pools = (Pool(id="a", capacity=400_000, cost=1), Pool(id="b", capacity=900_000, cost=2), Pool(id="c", cost=9))
problem = replace(network(50, 5), pools=pools, objective=("placement_cost", "max_peak"))
first = plan(problem, Options(deterministic=True, solver="greedy", work_limit=300_000))
again = replace(problem, objective=("moves", "peak"), pools=(*pools[:2], Pool(id="d")))
moved = plan(again, Options(deterministic=True, solver="greedy", work_limit=300_000, hint=first))
sys.stdout.write(write(first).decode() + write(moved).decode())
"""


def test_results_do_not_depend_on_the_order_of_hashes() -> None:
    pytest.importorskip("ortools", reason="the [cpsat] extra is not installed")
    answers = {
        subprocess.run(
            [sys.executable, "-c", IN_ANY_ORDER],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": str(seed), "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in (0, 1, 77)
    }
    (answer,) = answers
    assert answer.count(b'"status":"') == 14


def test_nested_sub_programs_are_counted_once() -> None:
    # A loop body of 8 bytes is called at two moments, and in it, at the second, a branch of 4 or 6 bytes.
    buffers = (
        Buffer(id="state", size=16, lifetime=(0, 10)),
        Buffer(id="body", size=8, lifetimes=((1, 4), (5, 9))),
        Buffer(id="then", size=4, lifetimes=((2, 3), (6, 8))),
        Buffer(id="else", size=6, lifetimes=((2, 3), (6, 8))),
    )
    problem = Problem(version=1, buffers=buffers, exclusive=(("then", "else"),))
    planned = plan(problem)
    assert (planned.status, planned.objective[0].value) == (Status.OPTIMAL, 16 + 8 + 6)
    assert best(problem) == (Status.OPTIMAL, (30,))
    live = planned.pools[0].live
    assert live.bytes == 30
    reduction = reduce(problem)
    assert isinstance(reduction, Reduction)
    assert Bounds(reduction).of_pool(0).value == 30


def test_no_size_is_rounded_away() -> None:
    beyond_floats = (1 << 53) + 1
    huge = Problem(
        version=1,
        buffers=(
            Buffer(id="a", size=beyond_floats, lifetime=(0, 2)),
            Buffer(id="b", size=beyond_floats + 1, lifetime=(1, 3)),
            Buffer(id="c", size=1, lifetime=(0, 3)),
        ),
    )
    for solver in ("greedy", "exact", "improve"):
        planned = plan(huge, Options(solver=solver))
        assert planned.objective[0].value == 2 * beyond_floats + 2
        assert verify(huge, planned) == []
    # Sizes that are no multiples of the alignment end where they end, and no sooner.
    odd = Problem(
        version=1,
        pools=(Pool(id="p", capacity=129, alignment=64),),
        buffers=(Buffer(id="a", size=65, lifetime=(0, 2)), Buffer(id="b", size=1, lifetime=(1, 3))),
    )
    (use,) = plan(odd).pools
    assert (use.peak,) == best(odd)[1]
    for capacity in range(60, 129):
        tight = replace(odd, pools=(replace(odd.pools[0], capacity=capacity),))
        assert plan(tight).status is best(tight)[0], capacity


def snug(seed: int) -> Problem | None:
    """A tiny problem whose one pool is just as large as its best plan needs."""
    problem = replace(random_problem(Random(seed)), objective=("peak",))
    truth = judge(problem)
    if truth.vector is None or len(problem.pools) > 1:
        return None
    pool = problem.pools[0]
    reserved = max((r.offset + r.size for r in pool.reserved), default=0)
    tight = replace(problem, pools=(replace(pool, capacity=max(truth.vector[0], reserved)),), objective=())
    return tight if not find_issues(tight) else None


@pytest.mark.parametrize("solver", ["auto", "greedy", "exact", "improve"])
def test_a_budget_that_runs_out_is_never_called_infeasible(solver: str) -> None:
    tried = 0
    for seed in range(120):
        problem = snug(seed)
        if problem is None or judge(problem).status is not Status.OPTIMAL:
            continue
        tried += 1
        for work in (0, 1, 7, 50):
            planned = plan(problem, Options(solver=solver, deterministic=True, work_limit=work))
            assert planned.status is not Status.INFEASIBLE, (seed, work)
        planned = plan(problem, Options(solver=solver, time_limit=0.0))
        assert planned.status is not Status.INFEASIBLE, seed
    assert tried > 20
