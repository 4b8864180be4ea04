"""Items end in the pools they prefer where that costs nothing."""

from array import array
from dataclasses import replace
from random import Random

from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Explanation
from memstow.planner.model.problem import Buffer, Pool, Problem, Reserved, terms_of
from memstow.planner.reduce import reduce
from memstow.planner.solve.engine import plan
from memstow.planner.solve.problem_plans import task_of
from memstow.solvers.constraints import Relations
from memstow.solvers.core import in_preferred_pools
from memstow.solvers.instance import Layout
from memstow.solvers.lexicographic import Examiner
from memstow.solvers.solver import Task, Term, TermKind
from tests.problems import random_problem
from tests.solvers.assign import make

FAST = Pool(id="fast", capacity=16, reserved=(Reserved(offset=4, size=2),))
SLOW = Pool(id="slow", cost=1)


def moved(task: Task, *places: tuple[int, int]) -> list[tuple[int, int]]:
    """Where the buffers are after the moves; a last one, of one byte at another time, is of no interest."""
    pools, offsets = zip(*places, (0, 15), strict=True)
    result = in_preferred_pools(task, Layout(array("q", pools), array("q", offsets)))
    return list(zip(result.pool, result.offset, strict=True))[:-1]


def buffer(name: str, size: int, *, alignment: int = 1) -> Buffer:
    return Buffer(id=name, size=size, lifetime=(0, 2), alignment=alignment)


def test_an_item_moves_to_the_lowest_room_in_the_pool_it_prefers() -> None:
    task = make.task_of(
        make.instance_of((FAST, SLOW), [buffer("a", 4), buffer("b", 4, alignment=8), buffer("c", 3)])
    )
    assert moved(task, (0, 0), (1, 0), (1, 8)) == [(0, 0), (0, 8), (0, 12)]


def test_room_that_is_just_enough_is_enough() -> None:
    task = make.task_of(
        make.instance_of((Pool(id="fast", capacity=16), SLOW), [buffer("a", 12), buffer("b", 4)])
    )
    assert moved(task, (0, 4), (1, 0)) == [(0, 4), (0, 0)]


def test_it_stays_where_no_room_is_left() -> None:
    task = make.task_of(make.instance_of((FAST, SLOW), [buffer("a", 10), buffer("b", 8)]))
    assert moved(task, (0, 6), (1, 0)) == [(0, 6), (1, 0)]


def test_no_pool_grows_where_peaks_count() -> None:
    task = make.task_of(make.instance_of((Pool(id="fast"), SLOW), [buffer("a", 4), buffer("b", 4)]))
    assert moved(task, (0, 0), (1, 0)) == [(0, 0), (0, 4)]
    peaks = replace(task, terms=(Term(TermKind.PEAK),))
    # The last buffer, of one byte, ends at 16.
    assert moved(peaks, (0, 0), (1, 0)) == [(0, 0), (0, 4)]
    assert moved(peaks, (0, 11), (1, 20)) == [(0, 11), (0, 0)]


def test_a_dearer_pool_is_not_preferred_where_costs_count() -> None:
    dear = (Pool(id="dear", cost=2), Pool(id="cheap", cost=1))
    task = make.task_of(make.instance_of(dear, [buffer("a", 4)]))
    assert moved(task, (1, 0)) == [(0, 0)]
    assert moved(replace(task, terms=(Term(TermKind.PLACEMENT_COST),)), (1, 0)) == [(1, 0)]


def test_one_that_may_start_where_another_does_moves_all_the_same() -> None:
    """That two may share bytes asks nothing of them."""
    instance = make.instance_of((FAST, SLOW), [buffer("a", 4), buffer("b", 4)])
    instance.exempt.extend((0, 1, 1))
    assert moved(make.task_of(instance), (1, 0), (1, 0)) == [(0, 0), (0, 6)]


def test_a_pool_whose_peak_is_no_term_may_grow() -> None:
    task = make.task_of(make.instance_of((Pool(id="fast"), SLOW), [buffer("a", 40)]))
    assert moved(replace(task, terms=(Term(TermKind.POOL_PEAK, 1),)), (1, 0)) == [(0, 0)]


def test_no_layout_becomes_wrong_or_worth_less_by_it() -> None:
    """Greedy plans of tiny problems, all features mixed, for the same with pools in turned order."""
    moves = 0
    for seed in range(400):
        problem = random_problem(Random(seed))
        planned = plan(problem, Options(solver="greedy"))
        reduction = reduce(_last_pool_first(problem))
        if isinstance(reduction, Explanation) or not planned.placements or len(problem.pools) == 1:
            continue
        task, _ = task_of(reduction, dict.fromkeys(terms_of(problem), 0), Options())
        examiner = Examiner(task, Relations(task.instance))
        before = reduction.layout(planned.placements)
        after = in_preferred_pools(task, before)
        worth, now = examiner.values(before), examiner.values(after)
        assert worth is not None
        assert now is not None, seed
        assert all(new <= old for new, old in zip(now, worth, strict=True)), seed
        moves += sum(one != other for one, other in zip(before.pool, after.pool, strict=True))
    assert moves > 20


def _last_pool_first(problem: Problem) -> Problem:
    """Buffers that may go anywhere prefer the pools in turned order."""
    names = tuple(pool.id for pool in problem.pools)[::-1]
    grouped = {name for relation in problem.relative for name in (relation.buffer, relation.base)}
    buffers = tuple(
        b if b.pools or b.pool or b.id in grouped else replace(b, pools=names) for b in problem.buffers
    )
    return replace(problem, buffers=buffers)


def test_auto_puts_buffers_into_pools_they_prefer() -> None:
    """All of it fits in slow memory at the same peak; what has room in the fast one is there."""
    pools = (Pool(id="fast", capacity=8), Pool(id="slow"))
    buffers = (
        Buffer(id="wide", size=12, lifetime=(0, 4)),
        *(Buffer(id=f"b{i}", size=4, lifetime=(i, i + 1)) for i in range(4)),
    )
    planned = plan(Problem(version=1, pools=pools, buffers=buffers, objective=("max_peak",)))
    assert planned.status is Status.OPTIMAL
    assert {place.buffer: place.pool for place in planned.placements} == {
        "wide": "slow",
        **{f"b{i}": "fast" for i in range(4)},
    }
