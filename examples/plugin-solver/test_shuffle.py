"""Against brute force on tiny problems; `pytest` runs it."""

from memstow_shuffle import Shuffle

from memstow.testing import check_solver


def test_plans_are_valid_and_as_the_solver_claims() -> None:
    assert check_solver(Shuffle, features=("alignments", "zero"), finds_optimum=True)


def test_capacities_are_kept() -> None:
    assert check_solver(Shuffle, features=("capacities",))
