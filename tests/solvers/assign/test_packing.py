"""The packing of one pool: it finds what fits, and says how few are too many."""

from itertools import combinations
from random import Random

from memstow.planner.model.problem import Buffer, Pool
from memstow.solvers.assign.packing import Crowd, Packer
from tests.solvers.assign import make

EFFORT = 1_000_000
# A pin in the middle leaves two gaps of 4: sizes alone do not tell that 5 has no room.
POOLS = (Pool(id="m", capacity=10),)
PINNED = Buffer(id="pinned", size=2, lifetime=(0, 4), pool="m", offset=4)
WIDE = Buffer(id="wide", size=5, lifetime=(0, 4))
SMALL = Buffer(id="small", size=4, lifetime=(0, 4))


def packer(*buffers: Buffer) -> Packer:
    task = make.task_of(make.instance_of(POOLS, buffers))
    return Packer(task, list(range(task.instance.part_count)))


def test_what_fits_is_laid_out() -> None:
    answer = packer(PINNED, SMALL).pack(Crowd(0, (0, 1)), 8, EFFORT, make.endless())
    assert answer.packing is not None
    assert answer.packing.offsets == (4, 0)
    assert answer.packing.height == 6


def test_the_least_height_of_what_is_too_high_is_told() -> None:
    crowd = Crowd(0, (0, 1, 2))
    answer = packer(PINNED, SMALL, SMALL).pack(crowd, 8, EFFORT, make.endless())
    (dead,) = answer.dead
    assert dead.height == 10
    assert answer.packing is not None
    assert answer.packing.height == 10


def test_bystanders_are_no_part_of_what_does_not_fit() -> None:
    answer = packer(SMALL, WIDE, PINNED).pack(Crowd(0, (0, 1, 2)), 10, EFFORT, make.endless())
    assert answer.packing is None
    assert [dead.crowd.items for dead in answer.dead] == [(1, 2)]


def test_nobody_needs_no_room() -> None:
    answer = packer(SMALL).pack(Crowd(0, ()), 0, EFFORT, make.endless())
    assert answer.packing is not None
    assert answer.packing.height == 0


def test_of_several_sets_that_do_not_fit_each_is_told() -> None:
    early, late = (
        [Buffer(id=f"{name}{i}", size=6, lifetime=life) for i in range(2)]
        for name, life in (("early", (0, 1)), ("late", (2, 3)))
    )
    answer = packer(*early, *late).pack(Crowd(0, (0, 1, 2, 3)), 10, EFFORT, make.endless())
    assert sorted(dead.crowd.items for dead in answer.dead) == [(0, 1), (2, 3)]


def test_without_effort_a_question_stays_open() -> None:
    """No search: the first greedy passes do not reach the most that lives at once, and nobody proves it."""
    rng = Random(3)
    buffers = [
        Buffer(id=f"b{i}", size=rng.randint(1, 50), lifetime=(begin := rng.randint(0, 40), begin + 8))
        for i in range(60)
    ]
    task = make.task_of(make.instance_of((Pool(id="m"),), buffers))
    live = max(sum(b.size for b in buffers if _lives(b, t)) for t in range(50))
    spent = make.endless()
    spent.cancel()
    answer = Packer(task, list(range(61))).pack(Crowd(0, tuple(range(60))), live, EFFORT, spent)
    assert answer.packing is not None
    assert not answer.fits(live)
    assert answer.dead == ()


def _lives(buffer: Buffer, time: int) -> bool:
    return isinstance(buffer.lifetime, tuple) and buffer.lifetime[0] <= time < buffer.lifetime[1]


def test_a_dead_set_has_no_layout_and_without_any_one_of_its_items_has() -> None:
    """By a packer that has not seen it before."""
    dead_sets = 0
    for seed in range(40):
        task = make.task_of(make.crowded(Random(seed)))
        item_of = list(range(task.instance.part_count))
        crowd, height = Crowd(0, tuple(range(6))), task.instance.capacity[0]
        for dead in Packer(task, item_of).pack(crowd, height, EFFORT, make.endless()).dead:
            dead_sets += 1
            items = dead.crowd.items
            assert not Packer(task, item_of).pack(dead.crowd, height, EFFORT, make.endless()).fits(height)
            for some in combinations(items, len(items) - 1):
                rest = dead.crowd.among(some, item_of)
                assert Packer(task, item_of).pack(rest, height, EFFORT, make.endless()).fits(height), seed
    assert dead_sets > 10
