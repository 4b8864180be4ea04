"""Published planners under their own names, for comparison."""

from memstow.solvers import _native
from memstow.solvers.greedy import layout_from
from memstow.solvers.solver import Listeners, Outcome, Task

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
        return _native.classic_declines(task.instance.native, self.name)

    def solve(self, task: Task, budget: _native.Budget, listeners: Listeners) -> Outcome:
        """The planner's layout."""
        layout = layout_from(_native.classic(task.instance.native, self.name, budget))
        values = _native.score(task.instance.native, task.terms, task.native_hint, layout)
        if values:
            listeners.incumbent(self.name, values[0], layout)
        return Outcome(layout, values is not None, tuple(values or ()), self.name)


def make(name: str) -> Classic:
    """The planner of that name."""
    return Classic(name)
