"""Places buffers where something depends on banks: one after the other, then some of them anew.

Solvers that know nothing of banks decline such tasks (`depends_on_banks`), with the same words.
"""

from typing import Final

from memstow.solvers import _native
from memstow.solvers.greedy import layout_from
from memstow.solvers.instance import Layout
from memstow.solvers.solver import Listeners, Outcome, Task

# Bounds are passed as 64-bit integers; larger ones are cut off.
_MOST: Final = (1 << 63) - 1


class Banks:
    """Greedy placement by what the terms grow, and a local search, in native code."""

    name = "banks"
    summary = "banks: greedy placement by the growth of the terms, then a local search"
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
            return Outcome(None, False, (), self.name)
        return Outcome(layout_from(result.placed), True, tuple(values), self.name)


def make(_name: str) -> Banks:
    """The solver."""
    return Banks()
