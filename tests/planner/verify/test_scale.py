"""The judge is near linear: on exact tilings, on deep allowed overlaps, and on plans that are all wrong."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise
from random import Random

import pytest

from memstow.planner.model import Status
from memstow.planner.model.plan import Live, LiveBytes, Placement, Plan, PoolUse, TermValue
from memstow.planner.model.problem import Buffer, Problem, Relative
from memstow.planner.verify import Code, overlaps, verify
from memstow.planner.verify.overlaps import DisjointRanges, IntervalTree
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


def test_what_is_apart_is_swept_in_native_code_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rectangles = shuffled_tiling(20, 50)
    problem, plan = planned(rectangles)
    rigid = Relative(buffer="b1", base="b0", offset=plan.placements[1].offset - plan.placements[0].offset)
    swept = 0

    class Counted(overlaps._Sweep):
        def run(self) -> overlaps.Pressure | None:
            nonlocal swept
            swept += 1
            return super().run()

    monkeypatch.setattr(overlaps, "_Sweep", Counted)
    assert verify(problem, plan) == []
    assert swept == 0
    # Members of a group may share bytes, which is for the sweep in Python to say; so are numbers too large.
    assert verify(replace(problem, relative=(rigid,)), replace(plan, objective=(), pools=())) != []
    assert swept == 1
    begin, _, _, _ = rectangles[0]
    first = replace(problem.buffers[0], lifetime=(begin, 1 << 70))
    late = replace(problem, buffers=(first, *problem.buffers[1:]))
    assert any(it.code is Code.OVERLAP for it in verify(late, plan))
    assert swept == 2


def test_one_byte_too_low_in_an_exact_tiling_is_noticed() -> None:
    rectangles = shuffled_tiling(50, 100)
    at = next(i for i, it in enumerate(rectangles) if it[2] > 0)
    problem, plan = planned(rectangles)
    it = plan.placements[at]
    wrong = Placement(buffer=it.buffer, pool=it.pool, offset=it.offset - 1)
    placements = (*plan.placements[:at], wrong, *plan.placements[at + 1 :])
    violations = verify(problem, replace(plan, placements=placements))
    overlaps = [found for found in violations if found.code is Code.OVERLAP]
    assert overlaps
    assert all(it.buffer in found.buffers for found in overlaps)


@pytest.mark.campaign
def test_100_000_buffers_take_seconds() -> None:
    problem, plan = planned(shuffled_tiling(400, 250))
    assert verify(problem, plan) == []


def test_a_plan_that_puts_everything_on_one_byte_is_refused_quickly() -> None:
    count = 20_000
    rectangles = [(0, 10, 0, 4)] * count
    problem, plan = planned(rectangles)
    violations = verify(problem, plan)
    overlaps = [found for found in violations if found.code is Code.OVERLAP]
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
                *(Placement(buffer=it.id, pool="memory", offset=0) for it in buffers),
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
        assert {found.code for found in verify(problem, plan)} == expected


def test_the_ordered_ranges_find_what_a_plain_list_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlaps, "_CHUNK", 4)  # So that chunks are split and emptied all the time.
    rng = Random(3)
    starts = [rng.randrange(60) for _ in range(100)]
    ends = [start + rng.randint(1, 4) for start in starts]
    occupied = DisjointRanges(starts, ends)
    inside: set[int] = set()
    owner: dict[int, int] = {}
    most = 0
    for _ in range(10_000):
        tag = rng.randrange(len(starts))
        cells = range(starts[tag], ends[tag])
        if tag in inside:
            assert occupied.leave(tag)
            inside.remove(tag)
            for cell in cells:
                del owner[cell]
            continue
        met = sorted({owner[cell] for cell in cells if cell in owner}, key=starts.__getitem__)
        assert list(occupied.overlapped(starts[tag], ends[tag])) == met
        assert not occupied.leave(tag)
        assert occupied.enter(tag) is not bool(met)
        if not met:
            inside.add(tag)
            owner.update(dict.fromkeys(cells, tag))
        most = max(most, len(occupied))
        assert len(occupied) == len(inside)
    assert most > 16  # several chunks


def test_the_overlay_finds_what_every_pair_shows_except_in_the_group_to_skip() -> None:
    rng = Random(4)
    count = 60
    starts = [rng.randrange(40) for _ in range(count)]
    ends = [start + rng.randint(1, 15) for start in starts]
    groups = [rng.choice((-1, -1, 0, 1, 2)) for _ in range(count)]
    tree = IntervalTree(starts, ends, groups)
    inside: set[int] = set()
    for _ in range(3000):
        tag = rng.randrange(count)
        if tag in inside:
            tree.leave(tag)
            inside.remove(tag)
        else:
            skip = groups[tag] != -1
            found = sorted(tree.overlapped(starts[tag], ends[tag], groups[tag], skip))
            assert found == sorted(
                other
                for other in inside
                if max(starts[other], starts[tag]) < min(ends[other], ends[tag])
                and not (skip and groups[other] == groups[tag])
            )
            tree.enter(tag)
            inside.add(tag)
        assert bool(tree) is bool(inside)


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
