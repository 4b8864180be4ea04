"""The ranges that the interval tree finds are those that a look at every range finds."""

from random import Random

import pytest

from memstow.planner.verify.layout import ALONE
from memstow.planner.verify.overlaps import IntervalTree


def test_a_member_of_a_group_meets_a_stranger_below_its_own_group() -> None:
    tree = IntervalTree(starts=[0, 2], ends=[10, 5], groups=[1, 2])
    tree.enter(0)
    tree.enter(1)
    assert list(tree.overlapped(3, 4, group=1, skip_group=True)) == [1]
    assert sorted(tree.overlapped(3, 4, group=ALONE, skip_group=False)) == [0, 1]


@pytest.mark.parametrize("seed", range(20))
def test_what_shares_an_integer_is_found_and_nothing_else(seed: int) -> None:
    rng = Random(seed)
    count = rng.randint(1, 12)
    starts = [rng.randint(0, 20) for _ in range(count)]
    ends = [start + rng.randint(1, 8) for start in starts]
    groups = [rng.choice((ALONE, 0, 1, 2)) for _ in range(count)]
    tree = IntervalTree(starts, ends, groups)
    there: set[int] = set()
    for _ in range(60):
        tag = rng.randrange(count)
        if tag in there:
            there.remove(tag)
            tree.leave(tag)
        else:
            there.add(tag)
            tree.enter(tag)
        assert bool(tree) == bool(there)
        start = rng.randint(0, 25)
        end = start + rng.randint(1, 6)
        group = rng.choice((ALONE, 0, 1, 2))
        skip = group != ALONE
        expected = [
            other
            for other in there
            if starts[other] < end and start < ends[other] and not (skip and groups[other] == group)
        ]
        assert sorted(tree.overlapped(start, end, group, skip)) == sorted(expected)
