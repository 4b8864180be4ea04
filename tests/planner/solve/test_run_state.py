"""A bound under locks holds for the plans that keep within them, and for no other."""

from memstow.planner.model.plan import Exhausted, Model, Refuted
from memstow.planner.model.problem import Kind, Term
from memstow.planner.solve.one_run import LockedBounds, TermBound
from memstow.solvers.solver import ModelBound

PEAK, MOVES = Term(Kind.PEAK), Term(Kind.MOVES)
NONE = {PEAK: TermBound(0, None), MOVES: TermBound(0, None)}
SCALES = (4, 1)


def values_of(locked: LockedBounds, *values: int) -> tuple[list[int], str | None]:
    """The bounds of both terms for a plan of these values, in units of the core, and who proved the last."""
    better, prover = locked.improve(NONE, SCALES, values)
    return [bound.value for bound in better.values()], prover


def test_the_bound_of_a_first_term_holds_for_every_plan() -> None:
    locked = LockedBounds()
    locked.add("exact", [ModelBound(0, 3, (), 7)])
    assert values_of(locked, 3, 9) == ([12, 0], "exact")
    assert values_of(locked, 5, 0) == ([12, 0], "exact")


def test_that_of_a_later_term_holds_where_those_before_are_no_worse() -> None:
    locked = LockedBounds()
    locked.add("cpsat", [ModelBound(1, 2, (3,), 0)])
    assert values_of(locked, 3, 5) == ([0, 2], "cpsat")
    assert values_of(locked, 2, 5) == ([0, 2], "cpsat")
    assert values_of(locked, 4, 5) == ([0, 0], None)


def test_without_a_lock_on_each_term_before_it_says_nothing() -> None:
    locked = LockedBounds()
    locked.add("cpsat", [ModelBound(1, 2, (), 0)])
    assert values_of(locked, 3, 5) == ([0, 0], None)


def test_no_bound_is_above_the_value_of_the_plan_at_hand() -> None:
    locked = LockedBounds()
    locked.add("cpsat", [ModelBound(0, 6, (), 0)])
    assert values_of(locked, 5, 5) == ([0, 0], None)
    assert values_of(locked, 6, 5) == ([24, 0], "cpsat")


def test_searches_have_refuted_what_is_just_below_and_a_model_is_a_model() -> None:
    locked = LockedBounds()
    locked.add("exact", [ModelBound(0, 3, (), 7)])
    locked.add("cpsat", [ModelBound(1, 2, (3,), 0)])
    better, prover = locked.improve(NONE, SCALES, (3, 5))
    assert better[PEAK].certificate == Exhausted(solver="exact", refuted=(Refuted(height=11, nodes=7),))
    assert better[MOVES].certificate == Model(solver="cpsat")
    assert prover == "cpsat"
