"""Sets of items that take room of one pool together."""

import pytest

from memstow.planner.model.problem import Buffer, Pool
from memstow.solvers.assign.master import Loads, Room
from memstow.solvers.constraints import Relations, choices
from tests.solvers.assign import make


@pytest.mark.parametrize(
    ("capacity", "only_scarce", "live"),
    [
        (7, False, [[(0, 4), (1, 3)], [(2, 5)]]),
        (7, True, []),
        (6, True, [[(0, 4), (1, 3)]]),
    ],
)
def test_what_is_live_at_once_and_what_is_listed_as_apart_are_loads_of_those_that_may_go(
    capacity: int, only_scarce: bool, live: list[list[tuple[int, int]]]
) -> None:
    """Item 3 may not go; what fits however many go there is no load where only scarce ones are wanted."""
    sizes_and_lives = ((4, (0, 2)), (3, (1, 3)), (5, (3, 5)), (6, (0, 5)))
    buffers = [Buffer(id=f"b{i}", size=s, lifetime=life) for i, (s, life) in enumerate(sizes_and_lives)]
    instance = make.instance_of((Pool(id="m", capacity=capacity),), buffers)
    instance.conflicts.extend((0, 2))
    room = Room(instance, 0, choices(instance, [capacity]), capacity)
    result = Loads(Relations(instance)).of(room, lambda item: item < 3, only_scarce=only_scarce)
    assert sorted(result) == sorted([*live, [(0, 4), (2, 5)]])
