"""Native solvers of a single pool: an exact search, an improver, and bounds from small windows of time."""

from collections.abc import Callable
from typing import Final, TypeVar

from memstow.solvers import _native
from memstow.solvers.greedy import layout_from
from memstow.solvers.instance import Instance
from memstow.solvers.solver import Listeners, Outcome, Proof, Task, TermKind, Window

# Tables of conflicts grow with the square of this.
MOST_ITEMS: Final = _native.MOST_ITEMS
_Options = TypeVar("_Options", _native.ExactOptions, _native.ImproveOptions)
_HEIGHTS: Final = {TermKind.PEAK, TermKind.POOL_PEAK, TermKind.MAX_PEAK}


def reason_to_decline(task: Task) -> str | None:
    """The reason why these solvers decline a task; None if they can solve it."""
    if task.banks is not None:
        return task.banks
    if task.instance.pool_count > 1:
        return "several pools"
    if len(task.terms) > 1 or any(term.kind not in _HEIGHTS for term in task.terms):
        return "an objective other than the peak"
    return too_high(task.instance)


def too_high(instance: Instance) -> str | None:
    """The message that heights may exceed what native code can add up; None if they cannot."""
    if instance.adds_up:
        return None
    return f"heights of up to {instance.stacked:,} units: it adds up to less than 2^62"


def height_reporter(task: Task, listeners: Listeners, name: str) -> Callable[[int, _native.Placed], None]:
    """The callback of native code for lower layouts: reports those that fit, if the height counts."""
    capacity = task.instance.capacity[0]

    def on_height(height: int, placed: _native.Placed) -> None:
        if task.terms and height <= capacity:
            listeners.incumbent(name, height, layout_from(placed))

    return on_height


def _bound(task: Task) -> int:
    """The proven bound on the height."""
    return task.lower_bounds[0] if task.lower_bounds else 0


def _options(kind: type[_Options], task: Task) -> _Options:
    """The options of native code, of its search or its improver."""
    return kind(
        limit=task.instance.capacity[0],
        fit_only=not task.terms,
        bound=_bound(task),
        workers=task.workers,
        deterministic=task.deterministic,
        seed=task.seed,
    )


class Exact:
    """A search that branches on the item at the floor of a row, in native code."""

    name = "exact"
    summary = "exact search of one pool: proves optimality or that nothing fits"
    supports = (
        f"one pool, independent parts of up to {MOST_ITEMS:,} buffers or full at all times; "
        "the peak alone, no reuse costs or moves"
    )

    def declines(self, task: Task) -> str | None:
        """It handles one pool and its height, and components that are not too large."""
        reason = reason_to_decline(task)
        if reason is not None or task.instance.item_count <= MOST_ITEMS:
            return reason
        if _native.exact_reach(task.instance.native, task.start, _bound(task)).searchable:
            return None
        return f"more than {MOST_ITEMS} buffers in each independent part that decides"

    def solve(self, task: Task, budget: _native.Budget, listeners: Listeners) -> Outcome:
        """The lowest layout found, and the heights proven to be too low."""
        capacity = task.instance.capacity[0]
        result = _native.exact(
            task.instance.native,
            task.start,
            _options(_native.ExactOptions, task),
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
            _options(_native.ImproveOptions, task),
            budget,
            height_reporter(task, listeners, self.name),
        )
        fits = result.height <= capacity
        values = (result.height,) if task.terms and fits else ()
        return Outcome(layout_from(result.placed), fits, values, self.name)


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
        bounded = _native.window_bound(task.instance.native, task.lower_bounds[0], height, budget)
        if bounded.bound <= task.lower_bounds[0]:
            return nothing
        window = Window(bounded.first, bounded.last, tuple(bounded.parts))
        proof = Proof(bounded.bound, ((bounded.bound - 1, bounded.nodes),), window)
        return Outcome(None, False, (), self.name, proof=proof)
