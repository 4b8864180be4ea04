"""Rooms never promise less than there is."""

from itertools import product
from random import Random

from memstow.planner.model.problem import Buffer, Pool, Reserved
from memstow.solvers.assign.master import Room
from memstow.solvers.constraints import choices
from tests.solvers.assign import make


def room(pool: Pool, *buffers: Buffer) -> Room:
    instance = make.instance_of((pool, Pool(id="other")), [*buffers])
    only = [[c for c in mine if c.pool == 0] for mine in choices(instance, [pool.capacity or 99, 99])[:-1]]
    return Room(instance, 0, only, pool.capacity or 99)


def test_cells_are_as_wide_as_all_that_may_be_there_is_aligned() -> None:
    pool = Pool(id="m", capacity=30, reserved=(Reserved(offset=9, size=8),))
    space = room(
        pool, Buffer(id="a", size=5, lifetime=(0, 1), alignment=8), Buffer(id="b", size=1, alignment=4)
    )
    assert space.grid == 4
    # Cells begin at 0, 4, 8, 20, 24 and 28; those at 12 and 16 have their first byte reserved.
    assert space.cells == 6
    assert [(b.below, b.taken, b.end) for b in space.barriers] == [(3, 2, 17)]
    assert (space.cells_of(5), space.loss(5)) == (2, 3)


def test_a_base_address_shifts_the_cells() -> None:
    space = room(Pool(id="m", capacity=16, base=2), Buffer(id="a", size=4, lifetime=(0, 1), alignment=4))
    assert (space.grid, space.residue, space.cells) == (4, 2, 4)


def test_no_layout_has_more_cells_than_the_room() -> None:
    tight = 0
    for seed in range(150):
        rng = Random(seed)
        reserved = (Reserved(offset=rng.randint(0, 5), size=rng.randint(1, 3)),) if rng.random() < 0.7 else ()
        pool = Pool(id="m", capacity=rng.randint(9, 12), base=rng.choice((0, 1, 2)), reserved=reserved)
        buffers = [
            Buffer(id=f"b{i}", size=rng.randint(1, 4), alignment=rng.choice((2, 4)), lifetime=(0, 1))
            for i in range(3)
        ]
        space = room(pool, *buffers)
        cells = sum(space.cells_of(b.size) for b in buffers)
        loss = max(space.loss(b.size) for b in buffers)
        for ends in _layouts(pool, buffers):
            assert cells <= space.cells, seed
            peak = max(ends)
            assert peak >= space.grid * cells + min(space.residue - loss, 0)
            for barrier in space.barriers:
                if cells > barrier.below:
                    assert peak >= space.grid * (cells + barrier.taken) + space.residue - loss
                    assert peak > barrier.end
            tight += cells == space.cells
    assert tight > 10


def _layouts(pool: Pool, buffers: list[Buffer]) -> list[list[int]]:
    """The ends of the buffers in every layout of them."""
    capacity, base = pool.capacity or 0, pool.base or 0
    taken = {x for r in pool.reserved for x in range(r.offset, r.offset + r.size)}
    places = [[s for s in range(capacity - b.size + 1) if (s + base) % b.alignment == 0] for b in buffers]
    result = []
    for starts in product(*places):
        used = [x for s, b in zip(starts, buffers, strict=True) for x in range(s, s + b.size)]
        if len(set(used)) == len(used) and not taken.intersection(used):
            result.append([s + b.size for s, b in zip(starts, buffers, strict=True)])
    return result
