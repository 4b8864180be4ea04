"""The least height at which empty pools have the cells needed, against trying every height."""

import random

from memstow.planner.verify.peak_bounds import Cells, least_height


def by_trying(pools: list[tuple[Cells, int]], needed: int) -> int | None:
    for height in range(max((limit for _, limit in pools), default=0) + 1):
        if sum(pool.within(min(height, limit)) for pool, limit in pools) >= needed:
            return height
    return None


def test_the_least_height_is_the_first_with_enough_cells() -> None:
    choose = random.Random(7)
    for _ in range(4_000):
        pools = []
        for _ in range(choose.choice((0, 1, 1, 1, 2, 3))):
            size = choose.randint(1, 5)
            reserved = [(3, 5)] if choose.random() < 0.3 else []
            cells = Cells(size, choose.randrange(size), choose.randint(1, size), reserved)
            pools.append((cells, choose.randrange(40)))
        needed = choose.randrange(-1, 14)
        assert least_height(pools, needed) == by_trying(pools, needed), (pools, needed)
