"""The term `preference`: bytes times how many pools a buffer would rather be in, against brute force."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from memstow.planner.check import find_issues
from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import LIMIT, Buffer, Pool, Problem, Relative
from memstow.planner.reading.parse import parse_problem
from memstow.planner.solve.engine import plan
from memstow.planner.verify import verify
from memstow.solvers.registry import BACK_ENDS
from tests.in_process import run_back_ends_in_process
from tests.problems import TERMS, random_problem
from tests.referee import best, cost, judge

POOLS = (Pool(id="fast", capacity=8), Pool(id="mid", capacity=8), Pool(id="slow"))


def problems(count: int) -> Iterator[tuple[int, Problem]]:
    """Tiny ones with everything mixed, the preference among the terms."""
    for seed in range(count):
        rng = Random(seed)
        problem = random_problem(rng, most_buffers=4)
        terms = ["preference", *rng.sample(TERMS, rng.choice((0, 1, 2)))]
        rng.shuffle(terms)
        yield seed, replace(problem, objective=tuple(terms))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of PuLP, which runs in a child otherwise
@pytest.mark.parametrize("solver", [name for name in BACK_ENDS if name != "highs"])
def test_every_model_finds_and_proves_what_brute_force_finds(
    solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = BACK_ENDS[solver].how_to_get()
    if reason is not None:
        pytest.skip(f"{solver} needs {reason}")
    run_back_ends_in_process(monkeypatch)
    for seed, problem in problems(60):
        planned = plan(problem, Options(solver=solver, time_limit=60.0))
        status, vector = best(problem)
        assert planned.status is status, seed
        assert verify(problem, planned) == [], seed
        if vector is not None:
            assert tuple(term.value for term in planned.objective) == vector, seed


def test_greedy_and_auto_say_what_it_is_and_claim_no_more() -> None:
    for seed, problem in problems(150):
        truth = judge(problem)
        planned = plan(problem, Options(solver="greedy"))
        assert verify(problem, planned) == [], seed
        if planned.placements:
            places = {place.buffer: (place.pool, place.offset) for place in planned.placements}
            values = tuple(term.value for term in planned.objective)
            assert values == cost(problem, places), seed
            assert planned.status is not Status.OPTIMAL or values == truth.vector, seed


def test_each_pool_further_down_the_list_costs_the_bytes_once_more() -> None:
    buffers = tuple(Buffer(id=name, size=6, lifetime=(0, 1)) for name in "abc")
    planned = plan(Problem(version=1, pools=POOLS, buffers=buffers, objective=("preference",)))
    assert sorted(place.pool for place in planned.placements) == ["fast", "mid", "slow"]
    assert planned.objective[0].value == 6 + 12


def test_a_pin_and_a_list_of_its_own_say_what_a_buffer_prefers() -> None:
    buffers = (
        Buffer(id="pinned", size=3, lifetime=(0, 1), pool="slow"),
        Buffer(id="turned", size=3, lifetime=(0, 1), pools=("slow", "fast")),
        Buffer(id="empty", size=0, lifetime=(0, 1)),
    )
    planned = plan(Problem(version=1, pools=POOLS, buffers=buffers, objective=("preference",)))
    assert (planned.status, planned.objective[0].value) == (Status.OPTIMAL, 0)
    assert {place.buffer: place.pool for place in planned.placements} == {
        "pinned": "slow",
        "turned": "slow",
        "empty": "fast",
    }


def test_the_members_of_a_rigid_group_add_up_each_by_its_own_list() -> None:
    buffers = (
        Buffer(id="a", size=2, lifetime=(0, 1), pools=("fast", "slow")),
        Buffer(id="b", size=5, lifetime=(0, 1), pools=("slow", "fast")),
    )
    tied = (Relative(buffer="b", base="a", offset=2),)
    problem = Problem(version=1, pools=POOLS, buffers=buffers, relative=tied, objective=("preference",))
    planned = plan(problem)
    assert planned.objective[0].value == 2
    assert {place.pool for place in planned.placements} == {"slow"}


def test_the_judge_counts_it_and_refuses_another_value() -> None:
    buffers = (Buffer(id="a", size=6, lifetime=(0, 1)), Buffer(id="b", size=6, lifetime=(0, 1)))
    problem = Problem(version=1, pools=POOLS, buffers=buffers, objective=("preference",))
    planned = plan(problem, Options(solver="greedy"))
    (term,) = planned.objective
    assert verify(problem, planned) == []
    forged = replace(planned, objective=(replace(term, value=term.value - 1),))
    assert {violation.code.value for violation in verify(problem, forged)} >= {"value"}


def test_the_judge_does_not_stumble_over_a_pool_that_a_buffer_does_not_name() -> None:
    buffer = Buffer(id="a", size=6, lifetime=(0, 1), pools=("fast",))
    problem = Problem(version=1, pools=POOLS, buffers=(buffer,), objective=("preference",))
    planned = plan(problem)
    moved = replace(planned, placements=(Placement(buffer="a", pool="slow", offset=0),))
    assert verify(problem, moved) != []
    assert verify(problem, Plan(status=Status.FEASIBLE, placements=moved.placements)) != []


def test_a_sum_beyond_the_largest_address_is_refused_by_name() -> None:
    buffers = tuple(Buffer(id=name, size=LIMIT // 4, lifetime=(0, 1)) for name in "abc")
    problem = Problem(version=1, pools=POOLS, buffers=buffers, objective=("preference",))
    assert [(issue.code, issue.path) for issue in find_issues(problem)] == [("cost_too_large", "$.objective")]


def test_only_pools_that_a_buffer_may_go_to_count_in_how_large_it_can_be() -> None:
    largest = {"id": "a", "size": LIMIT, "lifetime": [0, 1]}
    others = [{"id": "b", "size": 8, "lifetime": [1, 2]}]
    pools = [{"id": "p"}, {"id": "q"}]
    for bound in ({"pool": "p"}, {"pools": ["p"]}):
        document = {"version": 1, "pools": pools, "buffers": [largest | bound, *others]}
        request = parse_problem(document | {"objective": ["preference", "max_peak"]})
        assert find_issues(request) == []
        assert [term.value for term in plan(request).objective] == [0, LIMIT]
