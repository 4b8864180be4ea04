"""The exact search: layouts of one pool down a ladder of heights, with proofs by searches that ran dry."""

from memstow.solvers import _native
from memstow.solvers.greedy import layout_from
from memstow.solvers.one_pool import declined, telling_heights
from memstow.solvers.solver import Listeners, Outcome, Proof, Task

# Tables of who conflicts with whom grow with the square of this; as in the native core.
MOST_ITEMS = 4096


def largest_part(task: Task) -> tuple[int, bool]:
    """How many items its largest independent part has, and whether one that decides is always full."""
    largest, _, level = _native.exact_reach(task.instance.native, None, 0)
    return largest, level


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
        reason = declined(task)
        if reason is None and task.instance.item_count > MOST_ITEMS:
            bound = task.lower_bounds[0] if task.lower_bounds else 0
            _, searchable, _ = _native.exact_reach(task.instance.native, task.start, bound)
            if not searchable:
                reason = f"more than {MOST_ITEMS} buffers in each independent part that decides"
        return reason

    def solve(self, task: Task, budget: _native.Budget, listeners: Listeners) -> Outcome:
        """The lowest layout it finds, and the heights that it has shown to be too low."""
        capacity = task.instance.capacity[0]
        placed, height, bound, refuted, dead = _native.exact(
            task.instance.native,
            task.start,
            not task.terms,
            task.lower_bounds[0] if task.lower_bounds else 0,
            capacity,
            task.workers,
            task.deterministic,
            task.seed,
            budget,
            telling_heights(task, listeners, self.name),
            lambda value: listeners.bound(self.name, value),
        )
        if dead is not None:
            among = dead or range(task.instance.item_count)
            items, _ = _native.dead_set(task.instance.native, among, capacity, budget)
            return Outcome(None, False, (), self.name, misfit=tuple(items))
        layout = layout_from(placed) if placed is not None else None
        return Outcome(
            layout,
            fits=layout is not None and height <= capacity,
            values=(height,) if task.terms else (),
            solver=self.name,
            proof=Proof(bound, tuple(refuted)) if task.terms else None,
        )


def make(_name: str) -> Exact:
    """The solver."""
    return Exact()
