"""Offsets at a value of the symbols: what is computed at run time, prepared once for many values.

In: a symbolic problem and its plan. Out: at each value the offset of every buffer, the peak of every pool and
the objective. Every unit begins at the least offset that is aligned and above what it must be above, so there
is nothing to search. `planner.shapes.as_c` writes the same as C.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memstow.planner.model.errors import InputError
from memstow.planner.model.objective import Kind, parse_term
from memstow.planner.model.plan import PLANNED
from memstow.planner.model.symbolic import SymbolicPlan, SymbolicProblem
from memstow.planner.reading.integers import as_integer
from memstow.planner.reading.printable import printable, shown
from memstow.planner.shapes.at_point import sizes_at, values_text
from memstow.planner.shapes.offsets import ConstantOffsets, Placed, Placer, StackedOffsets


@dataclass(frozen=True, slots=True)
class LayoutAt:
    """Where everything is at one value of the symbols."""

    sizes: Sequence[int]
    """By buffer, in the order of the problem."""
    offsets: Sequence[int]
    pools: Sequence[int]
    """By buffer: the index of its pool."""
    peaks: Sequence[int]
    """By pool, in the order of the problem."""
    objective: int
    order: int
    """The index of the order that is used here; 0 where offsets are fixed."""


class Layout:
    """A plan that is ready to be evaluated, again and again."""

    def __init__(self, problem: SymbolicProblem, plan: SymbolicPlan) -> None:
        """An InputError if the plan does not say for every buffer of the problem where it is."""
        self.problem = problem
        self.plan = plan
        self.placers = placers_of(problem, plan)
        self._objective = _Objective(problem)

    def at(self, /, **values: int) -> LayoutAt:
        """Where everything is at these values of the symbols: `layout.at(s=128)`."""
        return self.lay_out(values)

    def lay_out(self, at: Mapping[str, int]) -> LayoutAt:
        """Where everything is at these values; an InputError if one is outside of its range."""
        values = _whole(at)
        sizes = sizes_at(self.problem, values)
        best: LayoutAt | None = None
        reasons = []
        for order, placer in enumerate(self.placers):
            placed = placer.place(sizes)
            if not isinstance(placed, Placed):
                reasons.append(placed)
                continue
            value = self._objective.of(placed.peaks)
            if best is None or value < best.objective:
                best = LayoutAt(sizes, placed.offsets, placer.pool_of, placed.peaks, value, order)
        if best is None:
            message = f"the plan does not fit at {values_text(values)}: {reasons[0]}"
            raise InputError.single("does_not_fit", "at", message)
        return best

    def offsets(self, at: Mapping[str, int]) -> dict[str, int]:
        """The offsets at these values, by id of the buffer."""
        found = self.lay_out(at)
        return {buffer.id: it for buffer, it in zip(self.problem.buffers, found.offsets, strict=True)}

    def peaks(self, at: Mapping[str, int]) -> dict[str, int]:
        """The peaks at these values, by id of the pool."""
        found = self.lay_out(at)
        return {pool.id: peak for pool, peak in zip(self.problem.pools, found.peaks, strict=True)}


def _whole(at: Mapping[str, int]) -> dict[str, int]:
    """The values as integers: NumPy's are others, and True and False are none."""
    return {name: _whole_value(name, value) for name, value in at.items()}


def _whole_value(name: str, value: int) -> int:
    whole = as_integer(value)
    if whole is None:
        message = f"{shown(value)} is no value of {name!r}; give a whole number"
        raise InputError.single("not_whole", "at", message)
    return whole


def placers_of(problem: SymbolicProblem, plan: SymbolicPlan) -> tuple[Placer, ...]:
    """What places the buffers: the orders of the plan, or its constant offsets."""
    if plan.status not in PLANNED:
        message = f"there is no plan to evaluate: the status is {plan.status}"
        raise InputError.single("no_plan", "status", message)
    if plan.shapes == "fixed":
        return (ConstantOffsets(problem, plan.placements),)
    if not plan.orders:
        raise InputError.single("no_plan", "orders", "the plan has no orders")
    return tuple(StackedOffsets(problem, it, f"orders[{i}]") for i, it in enumerate(plan.orders))


class _Objective:
    """The term of the problem, as a function of the peaks."""

    def __init__(self, problem: SymbolicProblem) -> None:
        text = problem.objective[0]
        term = parse_term(text)
        pools = [pool.id for pool in problem.pools]
        known = term is not None and term.kind in (Kind.PEAK, Kind.MAX_PEAK, Kind.POOL_PEAK)
        if term is None or not known or (term.pool is not None and term.pool not in pools):
            message = f"{printable(text, 80)!r} is no peak; use peak, peak:POOL or max_peak"
            raise InputError.single("bad_objective", "objective", message)
        self.kind = term.kind
        self.pool = -1 if term.pool is None else pools.index(term.pool)

    def of(self, peaks: Sequence[int]) -> int:
        """The value for these peaks."""
        if self.kind is Kind.PEAK:
            return sum(peaks)
        return max(peaks) if self.kind is Kind.MAX_PEAK else peaks[self.pool]
