"""The judge is near linear: on exact tilings, on deep allowed overlaps, and on plans that are all wrong."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise
from random import Random

import pytest

from memstow.planner.model import Status
from memstow.planner.model.plan import Live, LiveBytes, Placement, Plan, PoolUse, TermValue
from memstow.planner.model.problem import Buffer, Problem, Relative
from memstow.planner.verify import Code, verify
from memstow.planner.verify.verdict import LISTED

Rectangle = tuple[int, int, int, int]


def tiling(rng: Random, lanes: int, pieces: int) -> Iterator[Rectangle]:
    """(begin, end, offset, size) that fill lanes x horizon without a gap."""
    offset, horizon = 0, 64 * pieces
    for _ in range(lanes):
        size = rng.randint(1, 4096)
        cuts = [0, *sorted(rng.sample(range(1, horizon), pieces - 1)), horizon]
        for begin, end in pairwise(cuts):
            yield begin, end, offset, size
        offset += size


def planned(rectangles: list[Rectangle]) -> tuple[Problem, Plan]:
    """A problem and the plan that has each buffer where its rectangle is, proven by those live at 0."""
    height = max(offset + size for _, _, offset, size in rectangles)
    problem = Problem(
        version=1,
        buffers=tuple(
            Buffer(id=f"b{i}", size=size, lifetime=(begin, end))
            for i, (begin, end, _, size) in enumerate(rectangles)
        ),
    )
    first = tuple(f"b{i}" for i, (begin, *_) in enumerate(rectangles) if begin == 0)
    certificate = LiveBytes(pool="memory", time=0, buffers=first)
    return problem, Plan(
        status=Status.OPTIMAL,
        placements=tuple(
            Placement(buffer=f"b{i}", pool="memory", offset=offset)
            for i, (_, _, offset, _) in enumerate(rectangles)
        ),
        pools=(
            PoolUse(pool="memory", capacity=None, peak=height, bound=height, live=Live(bytes=height, time=0)),
        ),
        objective=(TermValue(term="peak", value=height, bound=height, gap=0.0, certificate=certificate),),
    )


def shuffled_tiling(lanes: int, pieces: int) -> list[Rectangle]:
    rng = Random(1)
    rectangles = list(tiling(rng, lanes, pieces))
    rng.shuffle(rectangles)
    return rectangles


@pytest.mark.parametrize(("lanes", "pieces"), [(1, 2000), (20, 500), (5000, 2), (200, 100)])
def test_an_exact_tiling_is_optimal(lanes: int, pieces: int) -> None:
    problem, plan = planned(shuffled_tiling(lanes, pieces))
    assert verify(problem, plan) == []


def test_one_byte_too_low_in_an_exact_tiling_is_noticed() -> None:
    rectangles = shuffled_tiling(50, 100)
    at = next(i for i, rectangle in enumerate(rectangles) if rectangle[2] > 0)
    problem, plan = planned(rectangles)
    placement = plan.placements[at]
    wrong = Placement(buffer=placement.buffer, pool=placement.pool, offset=placement.offset - 1)
    placements = (*plan.placements[:at], wrong, *plan.placements[at + 1 :])
    violations = verify(problem, replace(plan, placements=placements))
    overlaps = [violation for violation in violations if violation.code is Code.OVERLAP]
    assert overlaps
    assert all(placement.buffer in overlap.buffers for overlap in overlaps)


@pytest.mark.campaign
def test_100_000_buffers_take_seconds() -> None:
    problem, plan = planned(shuffled_tiling(400, 250))
    assert verify(problem, plan) == []


def test_a_plan_that_puts_everything_on_one_byte_is_refused_quickly() -> None:
    count = 20_000
    rectangles = [(0, 10, 0, 4)] * count
    problem, plan = planned(rectangles)
    violations = verify(problem, plan)
    overlaps = [violation for violation in violations if violation.code is Code.OVERLAP]
    assert len(overlaps) == LISTED + 1
    assert "search ended" in overlaps[-1].message


def test_a_large_rigid_group_that_overlaps_itself_takes_no_longer() -> None:
    count = 10_000
    buffers = [Buffer(id=f"b{i}", size=1 + i, lifetime=(i % 7, 20 + i % 5)) for i in range(count)]
    relative = tuple(Relative(buffer=f"b{i}", base="b0", offset=0) for i in range(1, count))
    outsider = Buffer(id="out", size=4, lifetime="always")
    problem = Problem(version=1, buffers=(*buffers, outsider), relative=relative, objective=())
    for offset, expected in ((count, set()), (count - 1, {Code.OVERLAP})):
        plan = Plan(
            status=Status.OPTIMAL,
            placements=(
                *(Placement(buffer=buffer.id, pool="memory", offset=0) for buffer in buffers),
                Placement(buffer="out", pool="memory", offset=offset),
            ),
            pools=(
                PoolUse(
                    pool="memory",
                    capacity=None,
                    peak=max(count, offset + 4),
                    bound=0,
                    live=Live(bytes=count + 3, time=2) if expected else Live(bytes=count + 4, time=3),
                ),
            ),
        )
        assert {issue.code for issue in verify(problem, plan)} == expected


def test_deep_exclusive_overlaps_do_not_slow_the_rest_down() -> None:
    """A hundred branches of one switch share their bytes while thousands of buffers come and go."""
    branches = [f"x{i}" for i in range(100)]
    rectangles = shuffled_tiling(20, 500)
    problem, plan = planned(rectangles)
    height = plan.pools[0].peak
    problem = Problem(
        version=1,
        buffers=(*problem.buffers, *(Buffer(id=name, size=8, lifetime="always") for name in branches)),
        exclusive=tuple(combinations(branches, 2)),
        objective=(),
    )
    placements = (
        *plan.placements,
        *(Placement(buffer=name, pool="memory", offset=height) for name in branches),
    )
    use = PoolUse(pool="memory", capacity=None, peak=height + 8, bound=0, live=Live(bytes=height + 8, time=0))
    assert verify(problem, Plan(status=Status.OPTIMAL, placements=placements, pools=(use,))) == []
