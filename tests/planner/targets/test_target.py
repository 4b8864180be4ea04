"""A problem in the memories of a target: the pools are the target's, all else is the problem's."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from memstow.planner.graph.documents import retarget
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Buffer, Pool, Problem, Reserved, Target
from memstow.planner.reading.parse import parse_target
from memstow.planner.solve.engine import plan
from memstow.planner.targets import shipped, shipped_target
from memstow.planner.verify import verify
from tests.planner.refusal import told
from tests.waiting import PATIENCE

TARGET = Target(
    version=1,
    name="board",
    pools=(
        Pool(id="fast", capacity=64, alignment=16, base=8, cost=1),
        Pool(id="slow", capacity=256, cost=5, reserved=(Reserved(offset=0, size=32),)),
    ),
)
PROBLEM = Problem(
    version=1,
    name="p",
    pools=(Pool(id="slow"), Pool(id="fast"), Pool(id="unused")),
    buffers=(
        Buffer(id="a", size=48, lifetime=(0, 2)),
        Buffer(id="b", size=48, lifetime=(1, 3), pools=("slow", "fast")),
    ),
)


def test_the_pools_are_the_targets_and_the_rest_is_the_problems() -> None:
    moved = retarget(PROBLEM, TARGET)
    assert moved == replace(PROBLEM, pools=TARGET.pools)
    planned = plan(moved, Options(time_limit=PATIENCE))
    assert planned.status is Status.OPTIMAL
    assert verify(moved, planned) == []
    places = {place.buffer: (place.pool, place.offset) for place in planned.placements}
    # Both cost less in fast memory, which holds one of them, at an address that is a multiple of 16.
    assert sorted(places.values()) == [("fast", 8), ("slow", 32)]


def test_every_name_the_target_lacks_is_told_with_the_names_it_has() -> None:
    problem = replace(
        PROBLEM,
        buffers=(
            replace(PROBLEM.buffers[0], pool="unused"),
            replace(PROBLEM.buffers[1], pools=("slow", "unused")),
        ),
        objective=("peak:unused", "peak:slow"),
    )
    with pytest.raises(InputError) as raised:
        retarget(problem, TARGET)
    issues = raised.value.issues
    assert [(i.code, i.path) for i in issues] == [
        ("not_in_target", "$.buffers[0].pool"),
        ("not_in_target", "$.buffers[1].pools[1]"),
        ("not_in_target", "$.objective[0]"),
    ]
    for issue in issues:
        assert "'board'" in issue.message
        assert "'fast', 'slow'" in issue.message


def test_a_pin_that_the_target_has_no_room_for_is_told() -> None:
    pinned = (
        Buffer(id="high", size=48, lifetime=(0, 1), pool="fast", offset=32),
        Buffer(id="odd", size=1, lifetime=(0, 1), pool="fast", offset=7),
        Buffer(id="low", size=48, lifetime=(0, 1), pool="slow", offset=16),
    )
    problem = replace(PROBLEM, buffers=pinned)
    assert told(lambda: retarget(problem, TARGET)) == [
        ("pin_misaligned", "$.buffers[0].offset"),
        ("pin_beyond_capacity", "$.buffers[0].offset"),
        ("pin_misaligned", "$.buffers[1].offset"),
        ("pin_on_reserved", "$.buffers[2].offset"),
    ]


@pytest.mark.parametrize(
    ("raw", "codes"),
    [
        (3, {("wrong_root", "$")}),
        ({}, {("missing_field", "$.version"), ("missing_field", "$.pools")}),
        ({"version": 1, "pools": []}, {("empty", "$.pools")}),
        ({"version": 1, "pools": [{"id": "a"}, {"id": "a"}]}, {("duplicate_pool", "$.pools[1].id")}),
        (
            {
                "version": 1,
                "pools": [{"id": 3}, {"id": "a", "capacity": 4, "reserved": [{"offset": 3, "size": 2}]}],
                "size": 4,
            },
            {
                ("unknown_field", "$.size"),
                ("not_a_string", "$.pools[0].id"),
                ("reserved_beyond_capacity", "$.pools[1].reserved[0]"),
            },
        ),
    ],
)
def test_all_that_is_wrong_with_a_target_is_told_at_once(raw: Any, codes: set[tuple[str, str]]) -> None:
    assert set(told(lambda: parse_target(raw))) == codes


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_target_says_where_its_facts_are_from_and_can_be_planned_for(name: str) -> None:
    target = shipped_target(name)
    assert target.name == name
    assert target.source is not None
    ranges = sorted((p.base, p.base + p.capacity) for p in target.pools if p.base is not None and p.capacity)
    assert all(end <= begin for (_, end), (begin, _) in pairwise(ranges))
    assert all(p.base is None or p.base % p.alignment == 0 for p in target.pools)
    buffers = (Buffer(id="a", size=1000, lifetime=(0, 2)), Buffer(id="b", size=3000, lifetime=(1, 3)))
    moved = retarget(Problem(version=1, buffers=buffers), target)
    planned = plan(moved, Options(solver="greedy"))
    assert planned.placements
    assert verify(moved, planned) == []


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(InputError, match="rp2040"):
        shipped_target("../targets/rp2040")
