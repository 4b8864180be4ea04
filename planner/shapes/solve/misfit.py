"""Why a plan does not hold at every value, and up to where it does."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Explanation
from memstow.planner.model.symbolic import Symbol, SymbolicPlan, SymbolicProblem
from memstow.planner.shapes.at_point import values_text
from memstow.planner.shapes.layout import Layout
from memstow.planner.shapes.solve.points import PointPlan
from memstow.planner.verify.symbolic_verdict import judge_symbolic


def largest_values(problem: SymbolicProblem) -> dict[str, int]:
    """The largest value of each symbol."""
    return {symbol.id: symbol.max - (symbol.max - symbol.min) % symbol.step for symbol in problem.symbols}


def why_not(
    problem: SymbolicProblem,
    plan: SymbolicPlan,
    points: Sequence[PointPlan],
    no_place: Explanation | None = None,
) -> Explanation | None:
    """None where it holds everywhere after all: sizes need not be largest together.

    `no_place`: why some buffer has no place at its largest, even alone.
    """
    violations = judge_symbolic(problem, plan).violations
    if not violations:
        return None
    reach = _reach(problem, plan)
    for point in points:
        if point.nothing is not None:
            message = f"at {values_text(point.at)} {point.nothing.message}; {reach}"
            return replace(point.nothing, message=message)
    if no_place is not None:
        return replace(no_place, message=f"{no_place.message}; {reach}")
    message = f"the best order found does not hold at every value: {violations[0].message}; {reach}"
    return Explanation(code="does_not_hold", message=message, pool=violations[0].pool)


def _reach(problem: SymbolicProblem, plan: SymbolicPlan) -> str:
    """Of each symbol, the largest value at which the plan fits while the others are at their largest."""
    layout = Layout(problem, plan)
    top = largest_values(problem)
    said: list[str] = []
    for symbol in problem.symbols:
        largest = _largest(layout, symbol, top)
        others = {name: value for name, value in top.items() if name != symbol.id}
        beside = f" where {values_text(others)}" if others else ""
        if largest is None:
            said.append(f"at no value of {symbol.id}{beside}")
        else:
            said.append(f"up to {symbol.id}={largest:,}{beside}")
    return "the best order found fits " + "; ".join(said)


def _largest(layout: Layout, symbol: Symbol, top: Mapping[str, int]) -> int | None:
    """The last value before the first that does not fit, where fitting ends once."""

    def fits(step: int) -> bool:
        try:
            layout.lay_out({**top, symbol.id: symbol.min + step * symbol.step})
        except InputError:
            return False
        return True

    if not fits(0):
        return None
    low, high = 0, (symbol.max - symbol.min) // symbol.step
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return symbol.min + low * symbol.step
