"""What the integer program says of the master: a bound that holds, and a solution of what is linear in it."""

import time
from dataclasses import replace
from random import Random

import pytest

pytest.importorskip("ortools", reason="the [cpsat] extra is not installed")

from memstow.planner.model.options import Options
from memstow.planner.model.problem import Buffer, Pool, Problem, terms_of
from memstow.planner.reduce import Reduction, reduce
from memstow.planner.solve.bounds import Bounds
from memstow.planner.solve.engine import plan
from memstow.planner.solve.problem_plans import task_of
from memstow.solvers import _native
from memstow.solvers.assign.cheap_layouts import Rows
from memstow.solvers.assign.master import Master
from memstow.solvers.assign.proposals import Relaxing
from memstow.solvers.constraints import Relations
from tests.graphs import live_bytes_of
from tests.planner.solve.test_agreement import mixed
from tests.referee import best
from tests.solvers.assign.make import endless


def asked(problem: Problem) -> tuple[Master, int] | None:
    """The master of the problem asked for its first term, and what a unit of that is worth."""
    reduction = reduce(problem)
    if not isinstance(reduction, Reduction) or not reduction.instance.item_count:
        return None
    bounds = Bounds(reduction)
    task, scales = task_of(reduction, {t: bounds.of_term(t).value for t in terms_of(problem)}, Options())
    master = Master(task, Relations(task.instance), None)
    master.ask(0, ())
    return master, scales[0]


def test_the_bound_is_never_above_the_best_plan() -> None:
    output = 0
    for seed in range(80):
        problem, hint = mixed(seed)
        if hint is not None or not problem.terms():
            continue
        vector, result = best(problem)[1], asked(problem)
        if vector is None or result is None:
            continue
        master, scale = result
        before = str(master.cp.proto)
        bound = Relaxing(master.cp, 20.0).result().bound
        assert str(master.cp.proto) == before
        assert bound is None or bound * scale <= vector[0], seed
        output += bound is not None and bound * scale == vector[0]
    assert output > 20


def test_beams_bound_costs_by_the_least_that_the_rows_allow() -> None:
    output = 0
    for seed in range(120):
        problem, hint = mixed(seed)
        if hint is not None or "placement_cost" not in map(str, problem.terms()):
            continue
        problem = replace(problem, objective=("placement_cost",))
        vector, result = best(problem)[1], asked(problem)
        if vector is None or result is None:
            continue
        master, scale = result
        rows = Rows(master)
        dearest = sum(max(cost for cost, _ in ways) for ways in rows.ways)
        bounds, least, complete = _native.CostBounds(rows.ways, rows.cells, rows.order), 0, False
        for width in (1, 3, 100_000):
            shown = bounds.widen(width, dearest + 1, endless())
            assert shown is not None
            before, (least, complete) = least, shown
            assert before <= least
            assert least * scale <= vector[0], seed
        assert complete
        output += least * scale == vector[0]
    assert output > 20


def test_knapsacks_are_bounded_by_what_integers_allow() -> None:
    """Three of 5 in a pool of 9: the linear relaxation alone would take 9/5 of them."""
    pools = (Pool(id="fast", capacity=9), Pool(id="slow", cost=1))
    buffers = tuple(Buffer(id=f"b{i}", size=5, lifetime=(i, i + 3)) for i in range(3))
    result = asked(Problem(version=1, pools=pools, buffers=buffers, objective=("placement_cost",)))
    assert result is not None
    master, scale = result
    answer = Relaxing(master.cp, 20.0).result()
    assert answer.bound is not None
    assert answer.bound * scale == 10
    assert answer.values is not None
    master.follow(answer.values)
    assert len(master.cp.proto.solution_hint.vars) == len(answer.values)


def test_what_would_take_long_to_hand_over_is_not_begun() -> None:
    rng = Random(1)
    pools = (Pool(id="fast", capacity=900), Pool(id="slow", cost=1))
    buffers = tuple(
        Buffer(id=f"b{i}", size=rng.randint(1, 9), lifetime=(begin := rng.randint(0, 400), begin + 300))
        for i in range(1000)
    )
    result = asked(Problem(version=1, pools=pools, buffers=buffers))
    assert result is not None
    assert Relaxing(result[0].cp, 20.0).result().bound is None


def test_one_that_is_stopped_ends_and_tells_no_more_than_it_has_proven() -> None:
    """Unstopped these take minutes, and may take an hour."""
    output = 0
    for seed, seconds in ((0, 0.0), (1, 0.1), (2, 1.0)):
        problem = filled(Random(seed), 300)
        result = asked(problem)
        assert result is not None
        master, scale = result
        stopped = Relaxing(master.cp, 3600.0)
        time.sleep(seconds)
        stopped.stop()
        assert stopped.done
        bound = stopped.result().bound
        if bound is not None:
            assert bound * scale <= plan(problem, Options(solver="greedy")).objective[0].value
            output += 1
    assert output


def filled(rng: Random, count: int) -> Problem:
    """Two pools that have room for a third each of what lives at once, and a dear one."""
    lives = [(begin := rng.randrange(count), begin + rng.randint(1, count // 5)) for _ in range(count)]
    sizes = [rng.randint(1, 63) for _ in lives]
    buffers = tuple(
        Buffer(id=f"b{i}", size=sizes[i], lifetime=lives[i], accesses=rng.randint(1, 199))
        for i in range(count)
    )
    live = max(live_bytes_of(Problem(version=1, buffers=buffers), count))
    pools = (
        Pool(id="fast", capacity=live // 3, cost=1),
        Pool(id="middle", capacity=live // 3, cost=3),
        Pool(id="slow", cost=10),
    )
    return Problem(version=1, pools=pools, buffers=buffers)
