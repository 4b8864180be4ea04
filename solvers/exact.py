"""The exact search: layouts of one pool down a ladder of heights, with proofs by searches that ran dry."""

from memstow.solvers import _native
from memstow.solvers.greedy import layout_from
from memstow.solvers.one_pool import height_reporter, reason_to_decline
from memstow.solvers.solver import Listeners, Outcome, Proof, Task

# Tables of who conflicts with whom grow with the square of this.
MOST_ITEMS = _native.MOST_ITEMS


def largest_part(task: Task) -> tuple[int, bool]:
    """How many items its largest independent part has, and whether one that decides is always full."""
    reach = _native.exact_reach(task.instance.native, None, 0)
    return reach.largest, reach.level


class Exact:
    """Branching on what stands at the floor of a row, in native code."""

    name = "exact"
    summary = "exact search of one pool: proves optimality or that nothing fits"
    supports = (
        "one pool, independent parts of up to 4,096 buffers or full at all times; "
        "the peak alone, no reuse costs or moves"
    )

    def declines(self, task: Task) -> str | None:
        """It knows one pool and its height, and parts of the problem that are not too large."""
        reason = reason_to_decline(task)
        if reason is None and task.instance.item_count > MOST_ITEMS:
            bound = task.lower_bounds[0] if task.lower_bounds else 0
            if not _native.exact_reach(task.instance.native, task.start, bound).searchable:
                reason = f"more than {MOST_ITEMS} buffers in each independent part that decides"
        return reason

    def solve(self, task: Task, budget: _native.Budget, listeners: Listeners) -> Outcome:
        """The lowest layout it finds, and the heights that it has shown to be too low."""
        capacity = task.instance.capacity[0]
        found = _native.exact(
            task.instance.native,
            task.start,
            _native.ExactOptions(
                limit=capacity,
                fit_only=not task.terms,
                bound=task.lower_bounds[0] if task.lower_bounds else 0,
                workers=task.workers,
                deterministic=task.deterministic,
                seed=task.seed,
            ),
            budget,
            height_reporter(task, listeners, self.name),
            lambda value: listeners.bound(self.name, value),
        )
        if found.status is _native.ExactStatus.INFEASIBLE:
            among = found.dead or range(task.instance.item_count)
            dead = _native.dead_set(task.instance.native, among, capacity, budget)
            return Outcome(None, False, (), self.name, misfit=tuple(dead.items))
        placed = found.placed
        refuted = tuple((search.height, search.nodes) for search in found.refuted)
        return Outcome(
            layout_from(placed) if placed is not None else None,
            fits=placed is not None and found.height <= capacity,
            values=(found.height,) if task.terms else (),
            solver=self.name,
            proof=Proof(found.bound, refuted) if task.terms else None,
        )


def make(_name: str) -> Exact:
    """The solver."""
    return Exact()
