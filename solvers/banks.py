"""Places buffers where something depends on banks: one after the other, then some of them anew.

Of a few buffers all layouts are looked through, which proves that the best one is.

Solvers that know nothing of banks decline such tasks (`Task.banks`), with the same words.
"""

from typing import Final

from memstow.solvers import _native
from memstow.solvers.greedy import layout_from
from memstow.solvers.instance import Layout
from memstow.solvers.solver import Listeners, Outcome, Task, model_bounds

# Bounds are passed as 64-bit integers; larger ones are cut off.
_MOST: Final = (1 << 63) - 1


class Banks:
    """Greedy placement by what the terms grow, a local search, and a complete one, in native code."""

    name = "banks"
    summary = "banks: greedy placement by the growth of the terms, a local search, and a complete one"
    supports = "everything"

    def declines(self, task: Task) -> str | None:  # noqa: ARG002
        """It declines nothing."""
        return None

    def solve(self, task: Task, budget: _native.Budget, listeners: Listeners) -> Outcome:
        """The best layout of the search."""

        def on_values(values: list[int] | None, placed: _native.Placed) -> None:
            if values:
                layout = layout_from(placed) if listeners.layouts else Layout()
                listeners.incumbent(self.name, values[0], layout)

        result = _native.place_in_banks(
            task.instance.native,
            task.terms,
            task.native_hint,
            lower_bounds=[min(bound, _MOST) for bound in task.lower_bounds],
            seed=task.seed,
            budget=budget,
            on_values=on_values,
        )
        values = result.values
        if values is None:
            return Outcome(None, False, (), self.name, misfit=tuple(result.misfit) or None)
        bounds = model_bounds(result.bounds)
        return Outcome(layout_from(result.placed), True, tuple(values), self.name, bounds=bounds)
