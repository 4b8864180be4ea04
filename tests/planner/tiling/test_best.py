"""The best tile and the front are those of all tiles and all orders of loops, by naive simulation."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest

from memstow.planner.model.tiling import TilingOptions, TilingTerm
from memstow.planner.tiling.tile import tile
from memstow.planner.verify.tilings import verify_tiling
from tests.planner.tiling.layers import Naive, random_graph

Walked = tuple[int, int, int]

# What is best first, and the same of (bytes moved, bytes of buffers, steps).
OBJECTIVES: Final[list[tuple[tuple[TilingTerm, ...], Callable[[Walked], Walked]]]] = [
    (("bytes", "tiles"), lambda it: (it[0], it[2], it[1])),
    (("tiles", "bytes"), lambda it: (it[2], it[0], it[1])),
    (("l1",), lambda it: (it[1], it[0], it[2])),
]


@pytest.mark.parametrize("seed", range(160))
def test_the_best_tile_and_the_front_are_those_of_all_tiles(seed: int) -> None:
    rng = random.Random(seed)
    graph = random_graph(rng)
    options = TilingOptions(
        double_buffer=rng.random() < 0.5, im2col=rng.choice((0, 1, 2, "tile")), front=True, capacity=1 << 40
    )
    every = list(Naive(graph, options).all())
    front = tile(graph, "op", options).front
    assert front is not None
    assert [(it.l1, it.bytes) for it in front] == front_of_points([(l1, moved) for moved, l1, _ in every])
    needed = sorted({l1 for _, l1, _ in every})
    for capacity in {needed[0], *rng.sample(needed, min(4, len(needed)))}:
        limited = replace(options, capacity=capacity, front=False)
        fitting = [it for it in every if it[1] <= capacity]
        for objective, chosen in OBJECTIVES:
            found = tile(graph, "op", replace(limited, objective=objective))
            assert found.chosen is not None
            assert (found.complete, found.replayed) == (True, True)
            best = found.chosen.bytes, found.chosen.l1, found.chosen.tiles
            assert best == min(fitting, key=chosen)
            assert found.bound == min(moved for moved, _, _ in fitting)
            assert verify_tiling(graph, found).wrong == ()
    assert needed[0] == tile(graph, "op", replace(options, capacity=needed[0] - 1)).needs


def front_of_points(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    front: list[tuple[int, int]] = []
    for l1, moved in sorted(set(points)):
        if not front or moved < front[-1][1]:
            front.append((l1, moved))
    return front
