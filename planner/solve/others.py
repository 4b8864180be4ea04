"""Other runs of the same problem, of whose plans and bounds a run hears while it goes on.

Searches for the peak of one pool take them in on the way. Other solvers hear of nothing: their runs share
only their end.
"""

import threading
from typing import TYPE_CHECKING, Final

from memstow.planner.model.plan import Plan
from memstow.solvers import core
from memstow.solvers.instance import Instance, Layout
from memstow.solvers.one_pool import reason_to_decline
from memstow.solvers.solver import Task

if TYPE_CHECKING:
    from memstow.planner.reduce import Reduction


ANOTHER_RUN: Final = "another run"
"""Named as the solver of a layout that a run was told of."""


class Others:
    """What the other runs have found, told from any thread. The plans are verified."""

    def __init__(self, rank: int) -> None:
        self.exchange = core.Exchange(rank)
        """What native searches look at."""
        self._lock = threading.Lock()
        self._plan: Plan | None = None
        self._bound: int | None = None
        self._reduction: Reduction | None = None
        self._scale = 1

    def tell(self, plan: Plan | None, bound: int | None) -> None:
        """Another run has found this plan, or proven this bound of the first term."""
        with self._lock:
            self._plan, self._bound = plan or self._plan, bound if bound is not None else self._bound
            self._pass_on()

    def join(self, reduction: "Reduction", task: Task, scale: int) -> core.Exchange | None:
        """A run of this task begins, where a unit of the first term is worth so much.

        None if its solvers hear of nothing.
        """
        if not task.terms or task.deterministic or reason_to_decline(task) is not None:
            return None
        with self._lock:
            self._reduction, self._scale = reduction, scale
            self._pass_on()
        return self.exchange

    def _pass_on(self) -> None:
        """Hand on what was told, once it is known which arrays it is about."""
        reduction = self._reduction
        if reduction is None:
            return
        plan, bound = self._plan, self._bound
        self._plan = self._bound = None
        if bound is not None:
            self.exchange.raise_bound(-(-bound // self._scale))
        if plan is None or not plan.placements:
            return
        layout = reduction.layout(plan.placements)
        # A plan may have buffers where the arrays of this run have no place: off the grid of its unit.
        if min(layout.offset, default=-1) >= 0:
            height = height_of(reduction.instance, layout)
            self.exchange.offer(reduction.instance.native, layout, height)


def height_of(instance: Instance, layout: Layout) -> int:
    """Where the layout of one pool ends."""
    return core.pool_peaks(instance, layout)[0]
