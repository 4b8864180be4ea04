"""The exact search: lower and lower layouts of one pool, and proofs by complete searches."""

from memstow.solvers import _native
from memstow.solvers.greedy import layout_from
from memstow.solvers.one_pool import height_reporter, reason_to_decline
from memstow.solvers.solver import Listeners, Outcome, Proof, Task

# Tables of conflicts grow with the square of this.
MOST_ITEMS = _native.MOST_ITEMS


def largest_part(task: Task) -> tuple[int, bool]:
    """The items of the largest component, and whether a component that decides is full at all times."""
    reach = _native.exact_reach(task.instance.native, None, 0)
    return reach.largest, reach.level


class Exact:
    """A search that branches on the item at the floor of a row, in native code."""

    name = "exact"
    summary = "exact search of one pool: proves optimality or that nothing fits"
    supports = (
        "one pool, independent parts of up to 4,096 buffers or full at all times; "
        "the peak alone, no reuse costs or moves"
    )

    def declines(self, task: Task) -> str | None:
        """It handles one pool and its height, and components that are not too large."""
        reason = reason_to_decline(task)
        if reason is None and task.instance.item_count > MOST_ITEMS:
            bound = task.lower_bounds[0] if task.lower_bounds else 0
            if not _native.exact_reach(task.instance.native, task.start, bound).searchable:
                reason = f"more than {MOST_ITEMS} buffers in each independent part that decides"
        return reason

    def solve(self, task: Task, budget: _native.Budget, listeners: Listeners) -> Outcome:
        """The lowest layout found, and the heights proven to be too low."""
        capacity = task.instance.capacity[0]
        result = _native.exact(
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
        if result.status is _native.ExactStatus.INFEASIBLE:
            among = result.dead or range(task.instance.item_count)
            dead = _native.dead_set(task.instance.native, among, capacity, budget)
            return Outcome(None, False, (), self.name, misfit=tuple(dead.items))
        placed = result.placed
        refuted = tuple((search.height, search.nodes) for search in result.refuted)
        return Outcome(
            layout_from(placed) if placed is not None else None,
            fits=placed is not None and result.height <= capacity,
            values=(result.height,) if task.terms else (),
            solver=self.name,
            proof=Proof(result.bound, refuted) if task.terms else None,
        )


def make(_name: str) -> Exact:
    """The solver."""
    return Exact()
