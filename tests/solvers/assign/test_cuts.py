"""A cut forbids what cannot be packed, and nothing else."""

from collections.abc import Iterable, Iterator
from itertools import chain, combinations
from random import Random

from memstow.planner.model.problem import Buffer, Pool
from memstow.solvers.assign.packing import Crowd, Cut, Dead, Lifter, Packer
from memstow.solvers.constraints import Relations, choices
from memstow.solvers.solver import Task
from tests.solvers.assign import make

EFFORT = 1_000_000


def lifter(task: Task) -> Lifter:
    instance = task.instance
    return Lifter(Relations(instance), choices(instance, list(instance.capacity)))


def forbids(cut: Cut, items: set[int]) -> bool:
    """Whether the cut lets these items not all be in its pool at a height below its own."""
    return items.issuperset(cut.alone) and all(len(items & set(some)) >= count for some, count in cut.classes)


def subsets(items: Iterable[int]) -> Iterator[tuple[int, ...]]:
    """All of them, each ascending."""
    chosen = list(items)
    return chain.from_iterable(combinations(chosen, count) for count in range(len(chosen) + 1))


def test_an_item_can_be_stood_in_for_by_a_larger_one_that_lives_as_long() -> None:
    sizes_and_lives = ((5, (1, 3)), (5, (1, 3)), (6, (0, 3)), (4, (1, 3)), (9, (2, 3)))
    buffers = [Buffer(id=f"b{i}", size=s, lifetime=life) for i, (s, life) in enumerate(sizes_and_lives)]
    task = make.task_of(make.instance_of((Pool(id="m", capacity=9),), buffers))
    cut = lifter(task).cut(Dead(Crowd(0, (0, 1)), 10))
    assert cut.classes == (((0, 1, 2), 2),)
    assert cut.alone == ()


def test_an_item_that_may_lie_lower_or_higher_stands_in_for_none_that_may_not() -> None:
    """A place of the one would be none of the other."""
    buffers = [Buffer(id=f"b{i}", size=5 + i // 2, lifetime=(0, 1)) for i in range(6)]
    instance = make.instance_of((Pool(id="m", capacity=20),), buffers)
    for item, (low, high) in enumerate(((2, 9), (2, 9), (1, 9), (3, 9), (2, 10), (2, 8))):
        instance.choice_low[item], instance.choice_high[item] = low, high
    cut = lifter(make.task_of(instance)).cut(Dead(Crowd(0, (0, 1)), 10))
    assert cut.classes == (((0, 1, 3, 5), 2),)


def test_items_of_conflicts_stand_for_themselves() -> None:
    pools = (Pool(id="m", capacity=9),)
    buffers = [Buffer(id=f"b{i}", size=5, lifetime=(0, 1)) for i in range(3)]
    instance = make.instance_of(pools, buffers)
    instance.conflicts.extend((0, 1))
    cut = lifter(make.task_of(instance)).cut(Dead(Crowd(0, (0, 1)), 10))
    assert cut.alone == (0, 1)
    assert cut.classes == ()


def test_stays_and_pairs_kept_apart_are_ways_out_of_a_cut() -> None:
    instance = make.instance_of(
        (Pool(id="m"),), [Buffer(id=f"b{i}", size=5, lifetime=(0, 1)) for i in range(4)]
    )
    crowd = Crowd(0, (0, 1, 2, 3), stays=((0, 2),), apart=((1, 2),))
    cut = lifter(make.task_of(instance)).cut(Dead(crowd, 10))
    assert cut.stays == ((0, 2),)
    assert cut.apart == ((1, 2),)
    assert set(cut.alone) == {1, 2, 3}


def test_whatever_a_cut_forbids_cannot_be_packed() -> None:
    cuts = wide = 0
    for seed in range(20):
        task = make.task_of(make.crowded(Random(seed)))
        item_of = list(range(task.instance.part_count))
        height = task.instance.capacity[0]
        packer = Packer(task, item_of)
        for some in combinations(range(6), 4):
            for dead in packer.pack(Crowd(0, some), height, EFFORT, make.endless()).dead:
                cut = lifter(task).cut(dead)
                cuts += 1
                for items in subsets(range(6)):
                    if forbids(cut, set(items)):
                        wide += items != dead.crowd.items
                        answer = packer.pack(Crowd(0, items), height, EFFORT, make.endless())
                        assert not answer.fits(height), (seed, cut, items)
    assert cuts > 20
    assert wide > 100
