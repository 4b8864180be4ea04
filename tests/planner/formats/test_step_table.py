"""Step tables: each event of the step in its order, with the places of the plan, and nothing else."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

import memstow
from memstow.planner.formats import write_plan
from memstow.planner.model import Status
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Buffer, InPlace, Pool, Problem, Reserved
from tests.planner.refusal import refusal, told

STEP = Problem(
    buffers=(
        Buffer(id="late", size=1000, lifetime=(5, 9), alignment=512),
        Buffer(id="first", size=512, lifetime=(0, 5), alignment=1024),
        Buffer(id="empty", size=0, lifetime=(0, 9), alignment=1),
        Buffer(id="second", size=24, lifetime=(2, 7), alignment=512),
    )
)
PLACES = (
    Placement(buffer="late", pool="memory", offset=0),
    Placement(buffer="first", pool="memory", offset=0),
    Placement(buffer="empty", pool="memory", offset=0),
    Placement(buffer="second", pool="memory", offset=1024),
)
PLAN = Plan(status=Status.FEASIBLE, placements=PLACES)


def test_events_are_in_their_order_and_frees_before_allocations_at_the_same_time() -> None:
    text = write_plan(STEP, PLAN, "replay").decode()
    assert text.splitlines() == [
        "memstow-replay 1 512 1536 6",
        "+ 512 0",
        "+ 512 1024",
        "- 0",
        "+ 1024 0",
        "- 1",
        "- 2",
    ]
    assert text.endswith("\n")


def test_a_pool_without_a_base_may_have_an_alignment_a_capacity_and_reserved_ranges() -> None:
    pool = Pool(id="hbm", capacity=4096, alignment=2, reserved=(Reserved(offset=0, size=6),))
    problem = Problem(pools=(pool,), buffers=(Buffer(id="a", size=3, lifetime=(0, 1)),))
    plan = memstow.plan(problem)
    assert write_plan(problem, plan, "replay") == b"memstow-replay 1 2 10 2\n+ 4 6\n- 0\n"


def test_a_step_without_allocations_has_a_table() -> None:
    plan = Plan(status=Status.OPTIMAL, placements=())
    assert write_plan(Problem(buffers=()), plan, "replay") == b"memstow-replay 1 1 0 0\n"


def test_each_stream_has_a_table_and_what_allocates_the_most_is_the_first() -> None:
    pools = [Pool(id=name) for name in ("stream 0", "stream 9", "stream 0, pool 1.2", "stream 4")]
    buffers = (
        Buffer(id="a", size=4, lifetime=(1, 3), pool="stream 0"),
        Buffer(id="b", size=3, lifetime=(2, 9), pool="stream 9"),
        Buffer(id="c", size=9, lifetime=(2, 3), pool="stream 0, pool 1.2"),
        Buffer(id="d", size=5, lifetime=(3, 4), pool="stream 9"),
        Buffer(id="e", size=4, lifetime=(4, 5), pool="stream 4"),
        Buffer(id="f", size=0, lifetime=(5, 6), pool="stream 4"),
    )
    problem = Problem(pools=tuple(pools), buffers=buffers)
    assert write_plan(problem, memstow.plan(problem), "replay").decode().splitlines() == [
        "memstow-replay 1 1 8 4",
        "+ 3 5",
        "+ 5 0",
        "- 1",
        "- 0",
        "memstow-replay 1 1 4 2",
        "+ 4 0",
        "- 0",
        "memstow-replay 1 1 4 2",
        "+ 4 0",
        "- 0",
    ]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"pools": (Pool(id="memory"), Pool(id="more"))}, "$.pools"),
        ({"pools": (Pool(id="memory", base=0),)}, "$.pools[0].base"),
        ({"exclusive": (("late", "second"),)}, "$.exclusive"),
        ({"in_place": (InPlace(input="first", output="late"),)}, "$.in_place"),
        ({"buffers": (Buffer(id="a", size=1, lifetimes=((0, 1), (2, 3))),)}, "$.buffers[0].lifetimes"),
        ({"buffers": (Buffer(id="a", size=1, lifetime="always"),)}, "$.buffers[0].lifetime"),
    ],
)
def test_what_a_table_cannot_say_is_refused(changes: dict[str, Any], path: str) -> None:
    assert told(lambda: write_plan(replace(STEP, **changes), PLAN, "replay")) == [("not_expressible", path)]


def test_a_plan_that_is_not_valid_is_refused() -> None:
    moved = replace(PLAN, placements=(*PLACES[:3], Placement(buffer="second", pool="memory", offset=0)))
    assert {issue.code for issue in refusal(lambda: write_plan(STEP, moved, "replay"))} == {"overlap"}
    nothing = Plan(status=Status.INFEASIBLE)
    assert [issue.code for issue in refusal(lambda: write_plan(STEP, nothing, "replay"))] == ["no_plan"]


@pytest.mark.parametrize("seed", range(20))
def test_a_table_runs_as_the_problem_says(seed: int) -> None:
    random = Random(seed)
    buffers = []
    for number in range(30):
        begin = random.randrange(40)
        life = (begin, begin + 1 + random.randrange(10))
        buffers.append(Buffer(id=f"b{number}", size=random.randrange(1, 100), lifetime=life, alignment=4))
    problem = Problem(buffers=tuple(buffers))
    plan = memstow.plan(problem)
    heading, *lines = write_plan(problem, plan, "replay").decode().splitlines()
    assert [int(word) for word in heading.split()[1:]][0::3] == [1, len(lines)]
    offset_of = {place.buffer: place.offset for place in plan.placements}
    made: list[tuple[int, int]] = []
    live: dict[int, tuple[int, int]] = {}
    for line in lines:
        mark, *numbers = line.split()
        if mark == "-":
            del live[int(numbers[0])]
            continue
        size, offset = map(int, numbers)
        assert all(offset + size <= other or end <= offset for other, end in live.values())
        live[len(made)] = (offset, offset + size)
        made.append((size, offset))
    assert not live
    expected = [(-(-buffer.size // 4) * 4, offset_of[buffer.id]) for buffer in buffers]
    assert sorted(made) == sorted(expected)
