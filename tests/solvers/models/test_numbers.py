"""What a bound in floats proves: the next integer, but never one that its errors alone speak for."""

import pytest

from memstow.solvers.milp.numbers import integer_bound


@pytest.mark.parametrize(
    ("bound", "value"),
    [(5.0, 5), (5.0000001, 5), (5.0005, 5), (5.01, 6), (4.9999999, 5), (-0.0000001, 0), (1e8 + 0.9, 10**8)],
)
def test_a_bound_is_rounded_up_but_for_its_errors(bound: float, value: int) -> None:
    assert integer_bound(bound) == value


@pytest.mark.parametrize("bound", [float("inf"), float("nan"), -float("inf"), 1e16])
def test_what_no_float_holds_proves_nothing(bound: float) -> None:
    assert integer_bound(bound) is None
