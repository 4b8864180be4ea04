"""The best tile and the front are those of all tiles and all orders of loops, by naive simulation."""

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Final

import pytest

from memstow.planner.model.graph import Graph, size_of
from memstow.planner.model.problem import Pool
from memstow.planner.model.tiling import Loop, Tiling, TilingOptions, TilingTerm
from memstow.planner.tiling.tile import tile
from memstow.planner.verify.tiling_verdict import verify_tiling
from tests.campaign import gate_first
from tests.planner.tiling.layers import Naive, Walked, random_graph

Key = tuple[int, ...]
# What is best first, and the same of a naive walk.
OBJECTIVES: Final[list[tuple[tuple[TilingTerm, ...], Callable[[Walked], Key]]]] = [
    (("bytes", "tiles"), lambda tiling: (tiling.bytes, tiling.tiles, tiling.l1)),
    (("tiles", "bytes"), lambda tiling: (tiling.tiles, tiling.bytes, tiling.l1)),
    (("l1",), lambda tiling: (tiling.l1, tiling.bytes, tiling.tiles)),
]


def best_key(tiling: Tiling, terms: tuple[str, ...]) -> Key:
    assert tiling.chosen is not None
    assert (tiling.complete, tiling.replayed) == (True, True)
    return tuple(getattr(tiling.chosen, term) for term in terms)


@pytest.mark.parametrize("seed", gate_first(range(100), 12))
def test_the_best_tile_and_the_front_are_those_of_all_tiles(seed: int) -> None:
    rng = random.Random(seed)
    graph = random_graph(rng)
    options = TilingOptions(
        double_buffer=rng.random() < 0.5, im2col=rng.choice((0, 1, 2, "tile")), front=True, capacity=1 << 40
    )
    every = list(Naive(graph, options).all())
    front = tile(graph, "op", options).front
    assert front is not None
    assert all(tiling.replayed for tiling in front)
    assert [(tiling.l1, tiling.bytes) for tiling in front] == front_of_points(
        [(tiling.l1, tiling.bytes) for tiling in every]
    )
    needed = sorted({tiling.l1 for tiling in every})
    for capacity in {needed[0], *rng.sample(needed, min(4, len(needed)))}:
        limited = replace(options, capacity=capacity, front=False)
        fitting = [tiling for tiling in every if tiling.l1 <= capacity]
        for objective, key in OBJECTIVES:
            result = tile(graph, "op", replace(limited, objective=objective))
            terms = (*objective, *(name for name in ("bytes", "tiles", "l1") if name not in objective))
            assert best_key(result, terms) == min(map(key, fitting))
            assert result.bound == min(layout.bytes for layout in fitting)
            assert verify_tiling(graph, result).wrong == ()
    assert needed[0] == tile(graph, "op", replace(options, capacity=needed[0] - 1)).needs


@pytest.mark.parametrize("seed", gate_first(range(1000, 1060), 15))
def test_the_closest_to_multiples_and_the_least_from_beyond_are_found(seed: int) -> None:
    rng = random.Random(seed)
    graph = random_graph(rng)
    multiples: dict[Loop, int] = {
        "channels": rng.randint(1, 3),
        "rows": rng.randint(1, 3),
        "columns": 2,
        "inputs": rng.randint(1, 2),
    }
    home = Pool(id="home", capacity=rng.randint(0, 100))
    every = list(Naive(graph, TilingOptions()).all())
    capacity = rng.choice([tiling.l1 for tiling in every])
    fitting = [tiling for tiling in every if tiling.l1 <= capacity]
    options = TilingOptions(capacity=capacity, multiples=tuple(multiples.items()))

    result = tile(graph, "op", replace(options, objective=("alignment", "bytes")))
    far = [
        (sum(-size % by for size, by in zip(layout.sizes, multiples.values(), strict=True)), layout.bytes)
        for layout in fitting
    ]
    assert best_key(result, ("alignment", "bytes")) == min(far)

    two = replace(graph, pools=(Pool(id="near", capacity=capacity), home))
    result = tile(two, "op", replace(options, objective=("beyond", "bytes")))
    beyond = [(layout.bytes - max(at_home(two, home, layout)), layout.bytes) for layout in fitting]
    assert best_key(result, ("beyond", "bytes")) == min(beyond)


def at_home(graph: Graph, home: Pool, walked: Walked) -> list[int]:
    """The bytes moved of each choice of tensors that fit there; constants lie elsewhere."""
    tensors = [tensor for tensor in graph.tensors if tensor.kind == "data"]
    return [
        sum(walked.by_tensor[entry.id] for entry in some)
        for number in range(len(tensors) + 1)
        for some in combinations(tensors, number)
        if sum(map(size_of, some)) <= (home.capacity or 0)
    ]


def front_of_points(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    front: list[tuple[int, int]] = []
    for l1, moved in sorted(set(points)):
        if not front or moved < front[-1][1]:
            front.append((l1, moved))
    return front
