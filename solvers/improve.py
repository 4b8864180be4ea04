"""The improver: lowers the peak of one pool from a known layout, however many buffers there are."""

from memstow.solvers import _native
from memstow.solvers.greedy import layout_from
from memstow.solvers.one_pool import height_reporter, reason_to_decline
from memstow.solvers.solver import Listeners, Outcome, Task


class Improve:
    """Skyline dives with searched keys, and ejection at a target height, in native code."""

    name = "improve"
    summary = "local search from the best layout known; proves nothing, helps where there are many buffers"
    supports = "one pool of any number of buffers, the peak alone; every constraint but reuse costs and moves"

    def declines(self, task: Task) -> str | None:
        """It handles one pool and its height."""
        return reason_to_decline(task)

    def solve(self, task: Task, budget: _native.Budget, listeners: Listeners) -> Outcome:
        """A layout no higher than the one it starts from."""
        if task.start is None or min(task.start.offset, default=0) < 0:
            return Outcome(None, False, (), self.name)
        capacity = task.instance.capacity[0]
        result = _native.improve(
            task.instance.native,
            task.start,
            _native.ImproveOptions(
                limit=capacity,
                fit_only=not task.terms,
                bound=task.lower_bounds[0] if task.lower_bounds else 0,
                workers=task.workers,
                deterministic=task.deterministic,
                seed=task.seed,
            ),
            budget,
            height_reporter(task, listeners, self.name),
        )
        fits = result.height <= capacity
        values = (result.height,) if task.terms and fits else ()
        return Outcome(layout_from(result.placed), fits, values, self.name)


def make(_name: str) -> Improve:
    """The solver."""
    return Improve()
