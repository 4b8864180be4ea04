"""From places to items and back: only what an item could really follow is taken."""

from memstow.planner.model.plan import Placement
from memstow.planner.reading.parse import parse_problem
from memstow.planner.reduce import Reduction, reduce

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
    found = reduce(TIED)
    assert isinstance(found, Reduction)
    assert found.unit == 4
    return found


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
