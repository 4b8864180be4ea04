"""Where tensors go: each memory for itself, once it is known which tensors are in it."""

import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from memstow.api.plugins.executorch.tensors import Group, Place, problem_of
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import MemstowError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Pool, Problem
from memstow.planner.solve.engine import plan
from memstow.planner.verify import recount

OnPlan = Callable[[Problem, Plan], None]

_LOG: Final = logging.getLogger("memstow")


class NoPlanError(MemstowError):
    """The tensors do not fit into the memories, or no plan was found within the limits."""

    def __init__(self, found: Plan) -> None:
        self.is_proven = found.status is Status.INFEASIBLE
        super().__init__(_reason(found))


@dataclass(slots=True)
class Solver:
    """Plans within these options, and tells what it finds."""

    options: Options
    on_plan: OnPlan | None = None
    places: dict[str, Place] = field(default_factory=dict)
    peaks: dict[int, int] = field(default_factory=dict)
    """By memory that holds a tensor."""
    usual: Mapping[str, Place] = field(default_factory=dict)
    """Places by another planner, which are taken where they need no more bytes and the judge agrees."""

    def solve(self, groups: Sequence[Group], pools: Mapping[int, Pool], objective: Sequence[str]) -> None:
        """Place the groups. Those that may be in any memory are given one first, by this objective."""
        memory_of = {group.name: group.memory for group in groups}
        if any(memory is None for memory in memory_of.values()):
            found = self._plan(problem_of(groups, pools, objective), self.options)
            numbers = {pool.id: number for number, pool in pools.items()}
            self.places = {it.buffer: Place(numbers[it.pool], it.offset) for it in found.placements}
            memory_of = {name: place.memory for name, place in self.places.items()}
        for number in sorted({memory for memory in memory_of.values() if memory is not None}):
            self._solve_one([it for it in groups if memory_of[it.name] == number], number, pools[number])

    def _solve_one(self, groups: Sequence[Group], number: int, pool: Pool) -> None:
        hint = _plan_of(groups, pool, self.places)
        problem = problem_of(groups, {number: pool}, ("peak",))
        usual = {name: place for name, place in self.usual.items() if place.memory == number}
        found = self._plan(problem, replace(self.options, hint=hint), _plan_of(groups, pool, usual))
        self.places |= {it.buffer: Place(number, it.offset) for it in found.placements}
        self.peaks[number] = found.pools[0].peak
        bound = found.pools[0].bound
        known = "no plan needs less" if bound == found.pools[0].peak else f"any plan needs {bound:,}"
        _LOG.info("memory %d: %s bytes, %s", number, f"{found.pools[0].peak:,}", known)

    def _plan(self, problem: Problem, options: Options, usual: Plan | None = None) -> Plan:
        found = plan(problem, options)
        if usual is not None:
            same = replace(found, placements=usual.placements)
            # With a larger peak than the plan says it is a violation.
            found = found if recount(problem, same) else same
        if self.on_plan is not None:
            self.on_plan(problem, found)
        if found.status not in PLANNED:
            raise NoPlanError(found)
        return found


def warn_of_greedy(error: Exception, stacklevel: int) -> None:
    """Say that ExecuTorch's own algorithm plans the graph, and why; `stacklevel` counts from the caller."""
    reason = str(error) if isinstance(error, MemstowError) else f"{type(error).__name__}: {error}"
    warnings.warn(f"memstow leaves this graph to greedy: {reason}", RuntimeWarning, stacklevel=stacklevel + 1)


def _plan_of(groups: Sequence[Group], pool: Pool, places: Mapping[str, Place]) -> Plan | None:
    """What is known already, as a hint."""
    placements = [
        Placement(buffer=it.name, pool=pool.id, offset=places[it.name].offset)
        for it in groups
        if it.name in places
    ]
    return Plan(status=Status.FEASIBLE, placements=placements) if placements else None


def _reason(found: Plan) -> str:
    """Why there is no plan."""
    if found.explanation is not None:
        return f"the tensors do not fit: {found.explanation.message}"
    over = ", ".join(f"{it.peak:,} of {it.capacity:,} bytes in {it.pool}" for it in found.closest)
    return f"no plan was found within the limits; the closest needs {over or 'more memory'}"
