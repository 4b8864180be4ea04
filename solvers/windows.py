"""Lower bounds from small windows of time: only proofs, no layouts."""

from memstow.solvers import _native
from memstow.solvers.one_pool import reason_to_decline
from memstow.solvers.solver import Listeners, Outcome, Proof, Task, Window


class Windows:
    """Searches windows around the fullest moments of one pool, in native code."""

    name = "windows"
    summary = "bounds from small windows of time around the fullest moments"
    supports = "one pool, the peak alone"

    def declines(self, task: Task) -> str | None:
        """It knows one pool and its height, which there must be something to gain on."""
        if not task.terms or task.start is None:
            return "no peak to bound"
        return reason_to_decline(task)

    def solve(self, task: Task, budget: _native.Budget, listeners: Listeners) -> Outcome:  # noqa: ARG002
        """A bound above the one known, or nothing."""
        start = task.start
        nothing = Outcome(None, False, (), self.name)
        if start is None or min(start.offset, default=-1) < 0:
            return nothing
        height = _native.pool_peaks(task.instance.native, start)[0]
        found = _native.window_bound(task.instance.native, task.lower_bounds[0], height, budget)
        if found.bound <= task.lower_bounds[0]:
            return nothing
        window = Window(found.first, found.last, tuple(found.parts))
        proof = Proof(found.bound, ((found.bound - 1, found.nodes),), window)
        return Outcome(None, False, (), self.name, proof=proof)
