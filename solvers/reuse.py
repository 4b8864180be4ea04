"""Minimises reuse costs where no buffer can change its pool, in native code."""

from typing import Final

from memstow.solvers import _native
from memstow.solvers.greedy import MOST, layout_from
from memstow.solvers.one_pool import too_high
from memstow.solvers.solver import Listeners, Outcome, Task, model_bounds

FIRST_TURN: Final = _native.FIRST_TURN


class Reuse:
    """Cores of pairs that cannot all be apart, hitting sets, and a local search, in native code."""

    name = "reuse"
    summary = "least reuse cost: local search, and proofs from pairs that cannot all be kept apart"
    supports = "pools of up to 2,000 buffers that have no choice of pool; every term but moves"

    def declines(self, task: Task) -> str | None:
        """It handles pools that no buffer can leave."""
        if task.banks is not None:
            return task.banks
        return _native.declined_by_reuse(task.instance.native, task.terms) or too_high(task.instance)

    def solve(self, task: Task, budget: _native.Budget, listeners: Listeners) -> Outcome:
        """The best layout found, and bounds on its terms."""
        complete = task.start is not None and -1 not in task.start.offset
        result = _native.minimise_reuse(
            task.instance.native,
            task.terms,
            task.start if complete else None,
            [min(bound, MOST) for bound in task.lower_bounds],
            _native.ReuseOptions(
                seed=task.seed,
                two_threads=task.workers > 1 and not task.deterministic,
                first_turn=FIRST_TURN,
            ),
            budget,
            lambda value, placed: listeners.incumbent(self.name, value, layout_from(placed)),
            lambda bound: listeners.bound(self.name, bound),
        )
        if result.misfit:
            return Outcome(None, False, (), self.name, misfit=tuple(result.misfit))
        placed, values = result.placed, result.values
        if placed is None:
            return Outcome(None, False, (), self.name)
        bounds = model_bounds(result.bounds)
        return Outcome(
            layout_from(placed),
            values is not None,
            tuple(values or ()),
            self.name,
            bounds=bounds,
            prices=tuple(result.prices),
        )
