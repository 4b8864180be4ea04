"""Fronts of tiny problems against all of their plans; and what holds of fronts of any problem."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from memstow.planner.front.find_front import front
from memstow.planner.front.front_request import FrontCallbacks, FrontRequest
from memstow.planner.front.problem_front import problem_points
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import Front, FrontPoint
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Buffer, Pool, Problem, Reserved, ReuseCost
from memstow.planner.solve.engine import plan
from memstow.planner.verify import verify
from tests.campaign import gate_first
from tests.planner.front.fronts import exact_front, tense_problem, values_of

ENOUGH = Options(time_limit=240.0, workers=1)
OF_ONE_POOL = (("peak", "reuse_cost"), ("reuse_cost", "peak:fast"), ("capacity:fast", "reuse_cost"))
OF_TWO_POOLS = (
    ("peak:fast", "placement_cost"),
    ("capacity:fast", "placement_cost"),
    ("placement_cost", "peak:slow"),
    ("peak:slow", "peak:fast"),
    ("capacity:fast", "capacity:slow"),
    ("max_peak", "placement_cost"),
    ("peak:fast", "peak"),
    ("preference", "capacity:slow"),
    ("peak:fast", "reuse_cost"),
)


def cases(seeds: range, pools: int) -> Iterator[tuple[int, Problem]]:
    """Tiny problems with so many pools."""
    for seed in seeds:
        problem = tense_problem(Random(seed), pools)
        yield seed, problem


def check_exact(problem: Problem, result: Front, within: float | None) -> None:
    """The front is that of all plans, and its plans are for this problem."""
    terms = result.terms
    assert (result.complete, values_of(result)) == (True, exact_front(problem, terms, within))
    for point in result.points:
        assert point.proven
        assert dict(point.bounds) == dict(point.values)
        if not any(term.startswith("capacity") for term in terms):
            assert verify(problem, point.plan) == []


def test_fronts_of_one_pool_are_exact() -> None:
    for seed, problem in cases(range(120), 1):
        within = (None, 1.5, 3.0)[seed % 3]
        check_exact(problem, front(problem, OF_ONE_POOL[seed % 3], within=within, options=ENOUGH), within)


@pytest.mark.parametrize("terms", gate_first(OF_TWO_POOLS, 3))
def test_fronts_of_two_pools_are_exact(terms: tuple[str, str]) -> None:
    place = OF_TWO_POOLS.index(terms)
    for seed, problem in cases(range(2 * place, 2 * place + 1 + place % 2), 2):
        within = (None, 1.5)[seed % 2]
        check_exact(problem, front(problem, terms, within=within, options=ENOUGH), within)


def test_what_is_said_after_little_work_is_true() -> None:
    for seed, problem in cases(range(40), 2):
        terms = OF_TWO_POOLS[seed % len(OF_TWO_POOLS)]
        options = Options(deterministic=True, work_limit=(0, 1_000, 50_000)[seed % 3])
        frontier = front(problem, terms, options=options)
        exact = exact_front(problem, terms)
        assert not frontier.complete or values_of(frontier) == exact
        for point in frontier.points:
            one, two = (point.values[term] for term in terms)
            low, least = (point.bounds[term] for term in terms)
            assert not point.proven or (one, two) in exact
            for other, value in exact:
                assert value > two or other >= low
                assert other > one or value >= least


@pytest.mark.campaign
@pytest.mark.parametrize("seed", gate_first(range(6), 2))
def test_moves_against_a_peak(seed: int) -> None:
    problem = replace(tense_problem(Random(seed), 1), reuse_costs=())
    places = [
        Placement(buffer=buffer.id, pool="fast", offset=4 * i) for i, buffer in enumerate(problem.buffers)
    ]
    pools = (replace(problem.pools[0], capacity=None, reserved=()),)
    problem = replace(problem, pools=pools)
    hint = Plan(status=Status.FEASIBLE, placements=places)
    points = front(problem, ("peak", "moves"), options=replace(ENOUGH, hint=hint))
    exact = exact_front(problem, ("peak", "moves"), hint=hint)
    assert not points.complete or values_of(points) == exact
    assert set(values_of(points)[:1]) <= set(exact[:1])


def big(count: int = 60) -> Problem:
    """A problem whose front has many points."""
    buffers = [
        Buffer(id=f"b{i}", size=256 + 64 * (i * 37 % 11), lifetime=(i % 17, i % 17 + 5)) for i in range(count)
    ]
    return Problem(pools=[Pool(id="fast", capacity=8192), Pool(id="slow", cost=2)], buffers=buffers)


TERMS = ("peak:fast", "placement_cost")


def points_of(problem: Problem, request: FrontRequest) -> list[FrontPoint]:
    """Every point that is told."""
    return list(problem_points(problem, request, FrontCallbacks()))


def test_the_ends_come_first_and_whatever_the_limit() -> None:
    options = Options(deterministic=True, work_limit=0)
    points = points_of(big(), FrontRequest(terms=TERMS, options=options))
    values = [(point.values["peak:fast"], point.values["placement_cost"]) for point in points]
    assert values[0][0] == min(value for value, _ in values)
    ends = {min(values), min(values, key=lambda value: value[1])}
    assert ends <= set(values[:3])


def test_no_more_points_than_asked_and_none_is_worse_than_another() -> None:
    options = Options(deterministic=True, work_limit=3_000_000)
    frontier = front(big(), TERMS, points=5, options=options)
    values = values_of(frontier)
    assert 2 <= len(values) <= 5
    assert values == sorted(values)
    assert [b for _, b in values] == sorted((b for _, b in values), reverse=True)
    assert len({b for _, b in values}) == len(values)
    assert len(front(big(), TERMS, points=1, options=options).points) == 1


def test_a_deterministic_front_is_the_same_each_time() -> None:
    options = Options(deterministic=True, work_limit=2_000_000, seed=3)
    one, other = (front(big(), TERMS, options=options) for _ in range(2))
    assert one == other
    assert one.seconds == 0.0


def test_what_is_known_need_not_be_found_again() -> None:
    problem = tense_problem(Random(4), 2)
    first = front(problem, TERMS, options=ENOUGH)
    assert first.complete
    request = FrontRequest(terms=TERMS, options=Options(deterministic=True, work_limit=0), start=first.points)
    points = points_of(problem, request)
    assert {tuple(point.values.values()) for point in points} >= set(values_of(first))
    assert all(point.proven for point in points if tuple(point.values.values()) in values_of(first))


def test_the_plan_of_a_capacity_is_for_that_capacity() -> None:
    problem = Problem(
        pools=[Pool(id="fast", capacity=2, reserved=[Reserved(offset=1, size=1)]), Pool(id="slow", cost=1)],
        buffers=[Buffer(id="a", size=4, lifetime=(0, 2))],
    )
    frontier = front(problem, ("capacity:fast", "placement_cost"), options=ENOUGH)
    assert values_of(frontier) == [(0, 4), (6, 0)]
    last = frontier.points[-1].plan
    larger = replace(problem, pools=(replace(problem.pools[0], capacity=6), problem.pools[1]))
    assert verify(larger, last) == []


def test_what_fits_nowhere_is_said_to() -> None:
    problem = Problem(
        pools=[Pool(id="fast", capacity=2), Pool(id="slow", capacity=3)],
        buffers=[Buffer(id="a", size=4, lifetime=(0, 2))],
    )
    frontier = front(problem, ("peak:fast", "peak:slow"), options=ENOUGH)
    assert (frontier.points, frontier.complete) == ((), True)
    assert frontier.explanation is not None


def test_a_single_plan_is_both_ends() -> None:
    problem = Problem(
        buffers=[Buffer(id="a", size=4, lifetime=(0, 2)), Buffer(id="b", size=4, lifetime=(1, 3))],
        reuse_costs=[ReuseCost(buffers=("a", "b"), cost=3)],
    )
    frontier = front(problem, options=ENOUGH)
    assert (frontier.terms, values_of(frontier), frontier.complete) == (
        ("peak", "reuse_cost"),
        [(8, 0)],
        True,
    )
    best = plan(problem)
    assert best.objective[0].value == 8


@pytest.mark.parametrize(
    ("terms", "code"),
    [
        (("peak", "placement_cost"), "no_limit"),
        (("peak:none", "placement_cost"), "unknown_pool"),
        (("peak:fast", "speed"), "unknown_term"),
        (("peak:fast", "peak:fast"), "repeated_term"),
        (("peak:fast", "capacity:fast"), "repeated_term"),
        (("peak:fast",), "two_terms"),
        ("peak:fast", "two_terms"),
        (("peak:fast", "moves"), "moves_without_hint"),
    ],
)
def test_terms_without_a_front_are_refused(terms: tuple[str, ...] | str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        front(big(4), terms, options=ENOUGH)
    assert caught.value.issues[0].code == code


def test_options_of_graphs_are_refused_for_problems() -> None:
    for wrong in ({"generators": ["stripes"]}, {"cost": "bytes"}):
        with pytest.raises(InputError) as caught:
            front(big(4), **wrong)
        assert caught.value.issues[0].code == "not_a_graph"


def test_a_problem_with_one_thing_to_minimise_has_no_front_by_default() -> None:
    with pytest.raises(InputError) as caught:
        front(Problem(buffers=[Buffer(id="a", size=4, lifetime=(0, 2))]))
    assert caught.value.issues[0].code == "one_term"
