"""Round values for axes."""

import pytest

from memstow.planner.show.formatting import round_addresses, round_times, time_text


@pytest.mark.parametrize(
    ("begin", "end", "most", "expected"),
    [
        (0, 445, 10, [0, 50, 100, 150, 200, 250, 300, 350, 400]),
        (0, 445, 9, [0, 50, 100, 150, 200, 250, 300, 350, 400]),
        (0, 445, 8, [0, 100, 200, 300, 400]),
        (0, 6, 7, [0, 1, 2, 3, 4, 5, 6]),
        (0, 6, 6, [0, 2, 4, 6]),
        (-7, 12, 5, [-5, 0, 5, 10]),
        (5, 6, 9, [5, 6]),
        (10**18, 10**18 + 7, 4, [10**18, 10**18 + 2, 10**18 + 4, 10**18 + 6]),
        (-(10**40), 10**40, 3, [-(10**40), 0, 10**40]),
        (11, 14, 1, [11]),
    ],
)
def test_times_are_round_and_as_many_as_there_is_room_for(
    begin: int, end: int, most: int, expected: list[int]
) -> None:
    assert list(round_times(begin, end, most)) == expected


@pytest.mark.parametrize(
    ("top", "most", "expected"),
    [
        (12, 8, [0, 2, 4, 6, 8, 10, 12]),
        (5, 8, [0, 1, 2, 3, 4, 5]),
        (882 << 10, 4, [0, 256 << 10, 512 << 10, 768 << 10]),
        (1 << 62, 4, [0, 1 << 60, 2 << 60, 3 << 60, 1 << 62]),
    ],
)
def test_addresses_are_multiples_of_a_power_of_two(top: int, most: int, expected: list[int]) -> None:
    assert list(round_addresses(top, most)) == expected


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (0, "0"),
        (-1234567, "-1,234,567"),
        (10**19, "10,000,000,000,000,000,000"),
        (10**20, "1e20"),
        (-123456 * 10**40, "-1.234e45"),
        (12 * 10**3000, "1.2e3001"),
    ],
)
def test_times_are_written_in_full_while_that_can_be_read(time: int, text: str) -> None:
    assert time_text(time) == text
