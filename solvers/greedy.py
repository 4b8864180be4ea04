"""The greedy portfolio: item orders x placement rules, for any instance; the best layout wins.

Published planners under their own names follow, for comparison.
"""

from array import array
from typing import Final

from memstow.solvers import _native
from memstow.solvers.instance import Layout
from memstow.solvers.solver import Listeners, Outcome, Task

# Bounds are passed as 64-bit integers; larger ones are cut off.
MOST: Final = (1 << 63) - 1


class Greedy:
    """Item orders x placement rules in native code."""

    name = "greedy"
    summary = "portfolio of item orders and placement rules, then moves of what stands in the way"
    supports = "everything but banks"

    def declines(self, task: Task) -> str | None:
        """It knows nothing of banks."""
        return task.banks

    def solve(self, task: Task, budget: _native.Budget, listeners: Listeners) -> Outcome:
        """The best layout of the portfolio."""

        def on_score(values: list[int] | None, name: str, placed: _native.Placed) -> None:
            if values:
                layout = layout_from(placed) if listeners.layouts else Layout()
                listeners.incumbent(f"greedy {name}", values[0], layout)

        options = _native.GreedyOptions(
            lower_bounds=[min(bound, MOST) for bound in task.lower_bounds], seed=task.seed
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


_SUMMARIES = {
    "first-fit": "largest first, each at the lowest free offset",
    "tflm": "TensorFlow Lite Micro: GreedyMemoryPlanner",
    "cadence-position": "ExecuTorch Cadence: PositionBasedGreedyWithHierarchy",
    "cadence-gap": "ExecuTorch Cadence: GreedyWithHeuristic",
    "usmp-size": "TVM USMP: greedy_by_size",
    "usmp-conflicts": "TVM USMP: greedy_by_conflicts",
    "storage-tokens": "TVM PlanMemory: shared storages, buffers only at their start",
    "xla-heap": "OpenXLA: GlobalDecreasingSizeBestFitHeap",
}


class Classic:
    """One published planner, in native code."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.summary = _SUMMARIES[name]
        self.supports = "what its source does; declines the rest by name"

    def declines(self, task: Task) -> str | None:
        """Constraints that the published planner does not know."""
        return task.banks or _native.classic_declines(task.instance.native, self.name)

    def solve(self, task: Task, budget: _native.Budget, listeners: Listeners) -> Outcome:
        """The planner's layout."""
        layout = layout_from(_native.classic(task.instance.native, self.name, budget))
        values = _native.score(task.instance.native, task.terms, task.native_hint, layout)
        if values:
            listeners.incumbent(self.name, values[0], layout)
        return Outcome(layout, values is not None, tuple(values or ()), self.name)
