"""A turn ends with the value or the bound that brings the plan within the gap, whichever comes last."""

from memstow.planner.solve.gap_reached import NearEnough


def test_a_bound_that_is_near_enough_ends_the_turn() -> None:
    ends: list[str] = []
    near = NearEnough(0.1, lambda: ends.append("end"), 100, 50)
    near.hear_bound(89)
    assert not ends
    near.hear_bound(90)
    assert ends == ["end"]


def test_a_value_that_is_near_enough_ends_the_turn() -> None:
    ends: list[str] = []
    near = NearEnough(0.1, lambda: ends.append("end"), None, 90)
    near.hear_bound(91)
    assert not ends, "there is no plan yet"
    near.hear_value(102)
    assert not ends
    near.hear_value(101)
    assert ends == ["end"]
