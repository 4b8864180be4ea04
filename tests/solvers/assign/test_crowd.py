"""What a proposal says of a pool is what the packing is asked."""

from array import array
from dataclasses import replace

from memstow.planner.model.problem import Buffer, Pool
from memstow.solvers.assign.packing import Crowd, instance_of, narrow
from tests.solvers.assign import make

POOLS = (Pool(id="fast", capacity=16), Pool(id="slow", capacity=64))
BUFFERS = tuple(Buffer(id=name, size=4, lifetime=(0, 2)) for name in "abc")


def test_a_crowd_has_its_pool_and_no_other_to_go_to() -> None:
    part = instance_of(make.instance_of(POOLS, BUFFERS), Crowd(1, (0, 2)))
    assert part.item_count == 2
    assert list(part.choice_pool) == [1, 1]
    assert list(part.choice_start) == [0, 1, 2]


def test_what_stays_has_one_offset() -> None:
    part = instance_of(make.instance_of(POOLS, BUFFERS), Crowd(0, (0, 1), stays=((1, 8),)))
    assert (part.choice_low[1], part.choice_high[1]) == (8, 8)
    assert part.choice_low[0] < part.choice_high[0]


def test_a_pair_that_is_kept_apart_conflicts_and_may_no_longer_share_its_start() -> None:
    whole = replace(
        make.instance_of(POOLS, BUFFERS), exempt=array("q", [0, 1, 1, 0, 2, 0]), reuse=array("q", [0, 1, 5])
    )
    part = instance_of(whole, Crowd(0, (0, 1, 2), apart=((0, 1),)))
    assert list(part.conflicts) == [0, 1]
    assert list(part.exempt) == [0, 2, 0]
    assert not part.reuse


def test_some_of_a_crowd_keep_what_is_said_among_them() -> None:
    crowd = Crowd(0, (0, 1, 2), stays=((0, 4), (2, 8)), apart=((0, 1), (0, 2)))
    assert crowd.among((2, 0), [0, 1, 2]) == Crowd(0, (0, 2), stays=((0, 4), (2, 8)), apart=((0, 2),))


def test_items_are_narrowed_to_the_pools_given_and_others_keep_their_choices() -> None:
    whole = make.instance_of(POOLS, BUFFERS)
    part = narrow(whole, [1, -1, 0, -1])
    pools = [list(part.choice_pool[part.choice_start[i] : part.choice_start[i + 1]]) for i in range(4)]
    assert pools == [[1], [0, 1], [0], [0, 1]]
    assert part.part_size == whole.part_size
