"""Colours."""

import pytest

from memstow.planner.show.drawing import LEVELS, RAMP, grade, ink_on, shade


def _light(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_lives_are_graded_by_orders_of_magnitude() -> None:
    last = len(RAMP) - 1
    assert [grade(length, 1, 4096) for length in (1, 2, 3, 64, 4095, 4096)] == [0, 0, 0, 4, last, last]
    assert grade(10**3000, 1, 10**4000) == 0
    assert grade(10**3999, 1, 10**4000) == 7
    assert grade(7, 7, 7) == grade(1, 1, 1)


def test_a_longer_life_is_never_lighter() -> None:
    lights = [_light(colour) for colour in RAMP]
    assert lights == sorted(lights, reverse=True)


@pytest.mark.parametrize("colour", RAMP)
def test_names_can_be_read_on_every_colour(colour: str) -> None:
    one, other = sorted((_light(colour), _light(ink_on(colour))))
    assert (other + 0.05) / (one + 0.05) > 4.4


@pytest.mark.parametrize("colour", RAMP)
def test_fuller_spots_are_darker_up_to_the_colour_itself(colour: str) -> None:
    lights = [_light(shade(colour, level)) for level in range(1, LEVELS + 1)]
    assert lights == sorted(set(lights), reverse=True)
    assert shade(colour, LEVELS) == colour
