"""A turn ends with the value or the bound that brings the plan within the gap, whichever comes last."""

from memstow.planner.solve.one_run import GapStop


def test_a_bound_that_is_near_enough_ends_the_turn() -> None:
    ends: list[str] = []
    near = GapStop(0.1, lambda: ends.append("end"), 100, 50)
    near.new_bound(89)
    assert not ends
    near.new_bound(90)
    assert ends == ["end"]


def test_a_value_that_is_near_enough_ends_the_turn() -> None:
    ends: list[str] = []
    near = GapStop(0.1, lambda: ends.append("end"), None, 90)
    near.new_bound(91)
    assert not ends, "there is no plan yet"
    near.new_value(102)
    assert not ends
    near.new_value(101)
    assert ends == ["end"]
