"""What CBC's log proves, and what its word "optimal" does not."""

import pytest

pytest.importorskip("pulp", reason="the [milp] extra is not installed")

from memstow.solvers.milp.cbc import listen
from memstow.solvers.milp.formulation import Values
from memstow.solvers.milp.program import RunReport


class Heard(RunReport):
    def __init__(self) -> None:
        self.bounds: list[float] = []

    def solution(self, values: Values) -> None:
        raise AssertionError(values)

    def bound(self, value: float) -> None:
        self.bounds.append(value)


AT_A_GAP = """\
Cbc0010I After 0 nodes, 1 on tree, 395 best solution, best possible 214 (0.33 seconds)
Cbc0038I Mini branch and bound could not fix, best possible 390
Cbc0011I Exiting as integer gap of 1 less than 0.99 or 2%

Result - Optimal solution found (within gap tolerance)

Objective value:                215.00000000
Lower bound:                    214.000
Enumerated nodes:               34
"""


def test_a_stop_at_a_gap_is_known_and_only_its_own_bounds_count() -> None:
    heard = Heard()
    log = listen(AT_A_GAP.splitlines(), heard)
    assert (log.near, log.nodes) == (True, 34)
    assert heard.bounds == [pytest.approx(214), 214.0]
    assert all(bound <= 214 for bound in heard.bounds)


def test_a_search_that_is_done_is_not_a_stop_at_a_gap() -> None:
    log = listen(["Result - Optimal solution found", "Enumerated nodes:    3"], Heard())
    assert (log.near, log.nodes) == (False, 3)


def test_what_is_printed_with_eight_digits_is_rounded_down_by_as_much() -> None:
    """123,456,785 is printed as 1.2345679e+08, five more than there is."""
    heard = Heard()
    listen(["Cbc0010I After 9 nodes, 1 on tree, 2e+08 best solution, best possible 1.2345679e+08"], heard)
    assert heard.bounds[0] <= 123_456_785
