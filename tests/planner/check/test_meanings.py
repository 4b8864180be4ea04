"""What fields mean together where one could think otherwise: by engine, judge and brute force alike."""

from dataclasses import replace
from typing import Any

import pytest

from memstow.planner.explain.needs import needs
from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import LIMIT, Problem
from memstow.planner.reading.parse import parse_problem
from memstow.planner.solve.engine import plan
from memstow.planner.verify import Code, verify
from tests.planner.plans import honest
from tests.planner.refusal import told
from tests.referee import best
from tests.waiting import PATIENCE

A, B = {"id": "a", "size": 4, "lifetime": [0, 2]}, {"id": "b", "size": 4, "lifetime": [1, 3]}
SHARED: dict[str, Any] = {"in_place": [{"input": "a", "output": "b"}]}
APART: dict[str, Any] = {"conflicts": [["a", "b"]]}


def problem(*buffers: dict[str, Any], **fields: Any) -> Problem:
    return parse_problem({"version": 1, "buffers": list(buffers), **fields})


def answered(request: Problem, hint: Plan | None = None) -> Plan:
    """The plan, which brute force agrees with."""
    planned = plan(request, Options(time_limit=PATIENCE, hint=hint))
    assert verify(request, planned, hint) == []
    values = tuple(term.value for term in planned.objective) if planned.placements else None
    assert (planned.status, values) == best(request, hint)
    return planned


def codes(request: Problem, **offsets: int) -> set[Code]:
    """What the judge has against these places."""
    pool = request.pools[0].id
    places = {name: (pool, offset) for name, offset in offsets.items()}
    return {violation.code for violation in verify(request, honest(request, places))}


def timeless(*buffers: dict[str, Any]) -> list[dict[str, Any]]:
    return [{name: value for name, value in buffer.items() if name != "lifetime"} for buffer in buffers]


@pytest.mark.parametrize("buffers", [[A, B], timeless(A, B)])
def test_in_place_lifts_a_listed_conflict_where_both_start_together(buffers: list[dict[str, Any]]) -> None:
    sample = problem(*buffers, **APART, **SHARED)
    assert answered(sample).pools[0].peak == 4
    assert codes(sample, a=2, b=2) == set()
    assert codes(sample, a=2, b=3) == {Code.IN_PLACE}
    assert codes(replace(sample, in_place=()), a=2, b=2) == {Code.OVERLAP}


def test_in_place_asks_nothing_of_a_pair_without_a_conflict() -> None:
    later = B | {"lifetime": [2, 3]}
    pins = {"pool": "p", "offset": 2}
    for buffers in ([A, later | pins], timeless(A, B | pins)):
        sample = problem(*buffers, **SHARED, pools=[{"id": "p", "capacity": 6}])
        assert answered(sample).status is Status.OPTIMAL
        assert codes(sample, a=0, b=2) == set()


def test_in_place_and_exclusive_free_a_pair_altogether() -> None:
    sample = problem(A, B, **SHARED, exclusive=[["a", "b"]])
    assert codes(sample, a=0, b=3) == set()
    assert codes(replace(sample, conflicts=(("a", "b"),)), a=0, b=3) == {Code.IN_PLACE}
    assert codes(replace(sample, conflicts=(("a", "b"),)), a=3, b=3) == set()


def test_any_plan_is_the_best_where_nothing_is_to_be_minimised() -> None:
    sample = problem(A, B, objective=[])
    answer = answered(sample)
    assert (answer.status, answer.objective) == (Status.OPTIMAL, ())
    high = {"a": ("memory", 1000), "b": ("memory", 7)}
    assert verify(sample, replace(honest(sample, high), status=Status.OPTIMAL)) == []


RESERVED = {"id": "p", "capacity": 12, "reserved": [{"offset": 8, "size": 4}, {"offset": 6, "size": 3}]}


def test_reserved_ranges_may_overlap_and_must_end_within_the_capacity() -> None:
    assert answered(problem(A, pools=[RESERVED])).pools[0].peak == 4
    short = {"version": 1, "buffers": [A], "pools": [RESERVED | {"capacity": 11}]}
    assert told(lambda: parse_problem(short)) == [("reserved_beyond_capacity", "$.pools[0].reserved[0]")]
    beyond = {"id": "p", "reserved": [{"offset": LIMIT - 1, "size": 2}]}
    request = {"version": 1, "buffers": [A], "pools": [beyond]}
    assert told(lambda: parse_problem(request)) == [("reserved_beyond_capacity", "$.pools[0].reserved[0]")]


def test_no_pool_needs_less_than_its_reserved_ranges() -> None:
    (need,) = needs(problem(A, pools=[RESERVED])).pools
    assert (need.capacity, need.least) == (12, 12)
    (need,) = needs(problem(A, B | {"size": 5}, pools=[RESERVED])).pools
    assert (need.capacity, need.least) == (12, 16)


def test_costs_are_added_up_in_the_dearest_pool_that_each_buffer_may_go_to() -> None:
    pools = [{"id": "cheap", "cost": 1}, {"id": "dear", "cost": LIMIT // 4}]
    accesses = LIMIT // 4 * 3
    large = A | {"accesses": accesses, "pools": ["cheap"]}
    small = B | {"accesses": 1}
    assert answered(problem(large, small, pools=pools)).objective[0].value == accesses + 1
    document = {"version": 1, "buffers": [large, small | {"accesses": 2}], "pools": pools}
    assert told(lambda: parse_problem(document)) == [("cost_too_large", "$.pools")]
    document = {"version": 1, "buffers": [large | {"pools": ["cheap", "dear"]}], "pools": pools}
    assert told(lambda: parse_problem(document)) == [("cost_too_large", "$.pools")]


# A buffer of size 0 beside one of 4 bytes: what would change the answer if it counted.
EMPTY: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "live with it, and pinned into it": ({"lifetime": "always", "pool": "p", "offset": 2}, {}),
    "in a reserved range": (
        {"pool": "p", "offset": 9},
        {"pools": [{"id": "p", "reserved": [{"offset": 8, "size": 4}]}]},
    ),
    "at the end of the pool": ({"pool": "p", "offset": 4}, {"pools": [{"id": "p", "capacity": 4}]}),
    "far above": ({"pool": "p", "offset": 1000}, {}),
    "accessed at a cost": (
        {"accesses": 1000, "pool": "q"},
        {"pools": [{"id": "p"}, {"id": "q", "cost": 5}], "objective": ["placement_cost", "peak"]},
    ),
    "in a conflict that is listed": ({"pool": "p", "offset": 1}, {"conflicts": [["a", "z"]]}),
    "at a reuse cost": (
        {"pool": "p", "offset": 1},
        {"reuse_costs": [{"buffers": ["a", "z"], "cost": 3}], "objective": ["reuse_cost", "peak"]},
    ),
    "tied below": ({}, {"relative": [{"buffer": "z", "base": "a", "offset": -8}]}),
    "tied, and elsewhere": (
        {"pool": "q", "offset": 64, "alignment": 64},
        {
            "pools": [{"id": "p"}, {"id": "q"}],
            "relative": [{"buffer": "a", "base": "z", "offset": 3}],
            "objective": ["peak"],
        },
    ),
}


@pytest.mark.parametrize("case", EMPTY)
def test_a_buffer_of_size_0_changes_nothing_for_the_others(case: str) -> None:
    own, fields = EMPTY[case]
    sample = problem(A, {"id": "z", "size": 0, **own}, **{"pools": [{"id": "p"}], **fields})
    answer = answered(sample)
    places = {place.buffer: place for place in answer.placements}
    assert (answer.status, places["a"].offset, places["a"].pool) == (Status.OPTIMAL, 0, "p")
    assert places["z"] == Placement(buffer="z", pool=own.get("pool", "p"), offset=own.get("offset", 0)), (
        "its own pins hold"
    )


def test_a_buffer_of_size_0_never_moves() -> None:
    hint = Plan(
        status=Status.FEASIBLE,
        placements=tuple(Placement(buffer=name, pool="memory", offset=7) for name in "az"),
    )
    answer = answered(problem(A, {"id": "z", "size": 0, "alignment": 2}, objective=["moves", "peak"]), hint)
    assert [term.value for term in answer.objective] == [0, 11]


@pytest.mark.parametrize("offset", [0, 1, 3, 4])
def test_a_buffer_of_size_0_may_be_pinned_within_a_reserved_range(offset: int) -> None:
    pool = {"id": "p", "capacity": 8, "reserved": [{"offset": 0, "size": 4}]}
    pinned = {"id": "e", "size": 0, "pool": "p", "offset": offset}
    answer = answered(problem(A, pinned, pools=[pool]))
    assert answer.placements[1] == Placement(buffer="e", pool="p", offset=offset)
