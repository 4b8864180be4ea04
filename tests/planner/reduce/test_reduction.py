"""From places to items and back: only what an item could really follow is taken."""

from memstow.planner.model.plan import Placement
from memstow.planner.model.problem import Problem
from memstow.planner.reading.parse import parse_problem
from memstow.planner.reduce import Reduction, reduce
from tests.calls import calls_of

TIED = parse_problem(
    {
        "version": 1,
        "pools": [{"id": "p", "alignment": 4}],
        "buffers": [
            {"id": "a", "size": 4, "lifetime": [0, 2]},
            {"id": "b", "size": 8, "lifetime": [1, 3]},
            {"id": "c", "size": 4, "lifetime": [1, 3]},
        ],
        "relative": [{"buffer": "b", "base": "a", "offset": 8}],
    }
)


def reduced() -> Reduction:
    reduction = reduce(TIED)
    assert isinstance(reduction, Reduction)
    assert reduction.unit == 4
    return reduction


def at(pool: str = "p", **offsets: int) -> tuple[Placement, ...]:
    return tuple(Placement(buffer=name, pool=pool, offset=offset) for name, offset in offsets.items())


def laid(*placements: Placement) -> list[tuple[int, int]]:
    layout = reduced().layout(placements)
    return list(zip(layout.pool, layout.offset, strict=True))


def test_an_item_is_where_its_first_buffer_is() -> None:
    assert laid(*at(a=4, b=12, c=24)) == [(0, 1), (0, 6)]


def test_a_place_between_two_units_says_nothing() -> None:
    assert laid(*at(a=4, c=25)) == [(0, 1), (-1, -1)]


def test_a_buffer_that_is_nowhere_or_in_no_pool_says_nothing() -> None:
    assert laid(*at(c=8)) == [(-1, -1), (0, 2)]
    assert laid(*at("gone", a=4, c=8)) == [(-1, -1), (-1, -1)]


def test_what_is_kept_is_counted_by_where_the_item_would_be() -> None:
    def places(*placements: Placement) -> list[tuple[int, int, int, int]]:
        return reduced().hint(placements).kept

    assert places(*at(a=4, b=12)) == [(0, 0, 1, 2)], "both would be where they were"
    assert places(*at(a=4, b=16)) == [(0, 0, 1, 1), (0, 0, 2, 1)], "one of the two at a time"
    assert places(*at(b=4)) == [], "the item would begin below zero"
    assert places(*at(c=25)) == [], "no item is there"


def _pinned(count: int, **last: object) -> Problem:
    """Buffers of one life each but for the last, and a pin, so that they are not in columns."""
    buffers = [
        {"id": f"b{i}", "size": 8 * i, "lifetime": [i, i + 2], "alignment": 8 * (1 + i % 2)}
        for i in range(1, count)
    ]
    buffers[0] |= {"pool": "memory", "offset": 0}
    return parse_problem({"version": 1, "buffers": [*buffers, {"id": "last", "size": 8, **last}]})


def test_lives_in_bulk_are_those_one_by_one() -> None:
    once, twice = (
        reduce(_pinned(9, **last), None) for last in ({"lifetime": [3, 5]}, {"lifetimes": [[3, 4], [4, 5]]})
    )
    assert isinstance(once, Reduction)
    assert isinstance(twice, Reduction)
    assert once.instance == twice.instance


def test_a_pin_does_not_make_each_life_cost_calls() -> None:
    def calls(count: int) -> int:
        problem = _pinned(count, lifetime=[3, 5])
        return calls_of(lambda: reduce(problem, None))

    # Of each buffer: the pools that it names, and whether banks, pins and the like count.
    assert calls(2000) - calls(1000) <= 4 * 1000
