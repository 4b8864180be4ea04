"""The greedy portfolio: item orders x placement rules, for any instance; the best layout wins."""

from array import array

from memstow.solvers import _native
from memstow.solvers.instance import Layout
from memstow.solvers.solver import Listeners, Outcome, Task

# Bounds are passed as 64-bit integers; larger ones are cut off.
_MOST = (1 << 63) - 1


class Greedy:
    """Item orders x placement rules in native code."""

    name = "greedy"
    summary = "portfolio of item orders and placement rules, then moves of what stands in the way"
    supports = "everything"

    def declines(self, task: Task) -> str | None:  # noqa: ARG002
        """It declines nothing."""
        return None

    def solve(self, task: Task, budget: _native.Budget, listeners: Listeners) -> Outcome:
        """The best layout of the portfolio."""

        def on_score(values: list[int] | None, name: str, placed: _native.Placed) -> None:
            if values:
                layout = layout_from(placed) if listeners.layouts else Layout()
                listeners.incumbent(f"greedy {name}", values[0], layout)

        options = _native.GreedyOptions(
            lower_bounds=[min(bound, _MOST) for bound in task.lower_bounds], seed=task.seed
        )
        result = _native.greedy(task.instance.native, task.terms, task.native_hint, options, budget, on_score)
        values = result.values
        return Outcome(
            layout=layout_from(result.take_placed()),
            fits=values is not None,
            values=tuple(values or ()),
            solver=f"greedy {result.name}",
        )


def layout_from(placed: _native.Placed) -> Layout:
    """The layout that the native core has returned."""
    pools, offsets = array("q"), array("q")
    pools.frombytes(placed.pools)
    offsets.frombytes(placed.offsets)
    return Layout(pools, offsets)


def make(_name: str) -> Greedy:
    """The solver."""
    return Greedy()
