"""Neighbourhoods: what they take in, and that what is chosen anew is never worse and as good as it can be."""

from dataclasses import replace
from random import Random

import pytest

pytest.importorskip("ortools", reason="the [cpsat] extra is not installed")

from memstow.planner.generate.random_problems import mixed
from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Buffer, Pool, Problem, terms_of
from memstow.planner.reduce import Reduction, reduce
from memstow.planner.solve.engine import plan
from memstow.planner.solve.problem_plans import task_of
from memstow.solvers import _native
from memstow.solvers.assign.master import Master
from memstow.solvers.assign.neighbourhoods import LayoutSearch, Neighbourhoods, can_improve
from memstow.solvers.assign.proposals import Proposals
from memstow.solvers.constraints import Relations
from memstow.solvers.greedy import layout_from
from memstow.solvers.lexicographic import Best, Examiner, Level
from memstow.solvers.solver import Task
from tests.campaign import rounds
from tests.in_process import run_back_ends_in_process
from tests.solvers.assign.make import endless
from tests.waiting import PATIENCE

FEATURES = (
    "pools",
    "capacities",
    "alignments",
    "pins",
    "relative",
    "in_place",
    "exclusive",
    "conflicts",
    "reserved",
)


class Quiet:
    """Hears of layouts and bounds, and keeps them to itself."""

    def layout(self, layout: object) -> None: ...

    def bound(self, level: int, value: int, locks: tuple[int, ...]) -> None: ...

    def infeasible(self) -> None: ...


def filled(rng: Random, count: int) -> Problem:
    """Two small pools and a dear one that has room for all: what is where decides."""
    buffers = tuple(
        Buffer(
            id=f"b{i}",
            size=rng.randint(1, 9),
            lifetime=(begin := rng.randrange(count), begin + rng.randint(1, max(count // 4, 2))),
            accesses=rng.randint(1, 99),
        )
        for i in range(count)
    )
    pools = (Pool(id="fast", capacity=12), Pool(id="middle", capacity=12, cost=3), Pool(id="slow", cost=10))
    return Problem(version=1, pools=pools, buffers=buffers)


def started(problem: Problem) -> tuple[Task, int, Best] | None:
    """Its task, what a unit of the first term is worth, and the best layout of greedy's first passes."""
    reduction = reduce(problem)
    if not isinstance(reduction, Reduction) or not reduction.instance.item_count:
        return None
    task, scales = task_of(reduction, dict.fromkeys(terms_of(problem), 0), Options())
    native = task.instance.native
    options = _native.GreedyOptions(lower_bounds=[], seed=1)
    budget = _native.Budget(-1.0, 2 * task.instance.item_count)
    result = _native.greedy(native, task.terms, None, options, budget, None)
    best = Best(Examiner(task, Relations(task.instance)), Quiet())
    if result.values is None or not best.offer(layout_from(result.placed)):
        return None
    return task, scales[0], best


def level_of(best: Best, term: int = 0) -> Level:
    """The level of a term, locked at the values of the best layout."""
    assert best.values is not None
    return Level(term, best.values[:term], best.layout, best.values, None, None, 0.0)


def test_each_item_is_in_some_neighbourhood_and_none_is_too_large() -> None:
    result = started(filled(Random(3), 200))
    assert result is not None
    neighbourhoods = Neighbourhoods(Relations(result[0].instance), 1)
    seen: set[int] = set()
    sizes = []
    while (items := neighbourhoods.next()) is not None:
        assert items == sorted(set(items))
        sizes.append(len(items))
        seen.update(items)
        neighbourhoods.learn(better=False, decided=True)
    assert seen == set(range(result[0].instance.item_count))
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] < 200


def test_where_nothing_ever_lives_there_is_no_neighbourhood() -> None:
    buffers = tuple(Buffer(id=f"b{i}", size=1, lifetime=(0, 0)) for i in range(9))
    result = started(Problem(version=1, pools=(Pool(id="fast"), Pool(id="slow", cost=1)), buffers=buffers))
    assert result is None or Neighbourhoods(Relations(result[0].instance), 1).next() is None


def test_smaller_neighbourhoods_follow_where_most_are_not_decided() -> None:
    result = started(filled(Random(3), 200))
    assert result is not None
    neighbourhoods = Neighbourhoods(Relations(result[0].instance), 1)
    sizes = []
    for _ in range(200):
        items = neighbourhoods.next()
        assert items is not None
        sizes.append(len(items))
        neighbourhoods.learn(better=True, decided=False)
    assert sizes[-1] < sizes[0]


def test_with_all_items_free_the_layout_is_the_best_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    run_back_ends_in_process(monkeypatch)
    better = 0
    for seed in range(40):
        problem = replace(mixed(10, seed, features=FEATURES, horizon=5), objective=("placement_cost",))
        result = started(problem)
        if result is None:
            continue
        task, scale, best = result
        before = best.values
        LayoutSearch(task, Relations(task.instance), level_of(best), best).run(endless())
        reference = plan(problem, Options(solver="cpsat", time_limit=PATIENCE))
        assert reference.status is Status.OPTIMAL, seed
        assert best.values is not None
        assert best.values[0] * scale == reference.objective[0].value, seed
        better += best.values != before
    assert better > 1


@pytest.mark.rounds
def test_a_lock_of_an_earlier_term_is_kept() -> None:
    """The dear pool may not grow, however much that would save."""
    for seed in range(rounds(3)):
        problem = replace(filled(Random(seed), 60), objective=("peak:slow", "placement_cost"))
        result = started(problem)
        assert result is not None
        task, _, best = result
        before = best.values
        LayoutSearch(task, Relations(task.instance), level_of(best, 1), best).run(
            _native.Budget(-1.0, 50_000_000)
        )
        assert before is not None
        assert best.values is not None
        assert best.values <= before


@pytest.mark.parametrize("term", ["reuse_cost", "moves"])
def test_costs_of_pairs_and_the_hint_are_not_kept_by_neighbourhoods(term: str) -> None:
    problem = replace(filled(Random(1), 10), objective=(term, "placement_cost"))
    reduction = reduce(problem)
    assert isinstance(reduction, Reduction)
    task, _ = task_of(reduction, dict.fromkeys(terms_of(problem), 0), Options())
    assert not can_improve(task, 1)
    assert not can_improve(task, 0)


def test_a_refined_proposal_is_the_best_of_the_master_where_all_items_are_free() -> None:
    for seed in range(10):
        result = started(filled(Random(seed), 30))
        assert result is not None
        task, _, best = result
        relations = Relations(task.instance)
        master = Master(task, relations, None)
        master.ask(0, ())
        proposals = Proposals(task, relations, master, 0, best, endless())
        first, _ = proposals.ask(1.0, proves=True)
        assert first is not None
        bound = proposals.bound
        everything_dear = [task.instance.choice_pool[end - 1] for end in task.instance.choice_start[1:]]
        poor = replace(
            first,
            crowds=tuple(
                replace(crowd, items=tuple(i for i, pool in enumerate(everything_dear) if pool == crowd.pool))
                for crowd in first.crowds
            ),
        )
        refined = proposals.refine(poor, endless())
        assert cost_of(task, refined.pools) == bound == cost_of(task, first.pools), seed


def cost_of(task: Task, pools: list[int]) -> int:
    """What it costs to have the items in these pools."""
    instance = task.instance
    return sum(
        instance.choice_cost[c]
        for item, pool in enumerate(pools)
        for c in range(instance.choice_start[item], instance.choice_start[item + 1])
        if instance.choice_pool[c] == pool
    )
