"""The greedy portfolio: orders x placement rules, the best plan wins. It answers for any instance."""

from array import array

from memstow.solvers import _native
from memstow.solvers.instance import Layout
from memstow.solvers.solver import Listeners, Outcome, Task

# Bounds are handed over as 64-bit integers; what is above says no more than the largest of them.
_MOST = (1 << 63) - 1


class Greedy:
    """Orders x placement rules in native code."""

    name = "greedy"
    summary = "portfolio of item orders and placement rules, then moves of what stands in the way"
    supports = "everything"

    def declines(self, task: Task) -> str | None:  # noqa: ARG002
        """It honours everything."""
        return None

    def solve(self, task: Task, budget: _native.Budget, listeners: Listeners) -> Outcome:
        """The best layout of the portfolio."""

        def on_score(values: list[int] | None, name: str, placed: tuple[bytes, bytes]) -> None:
            if values:
                listeners.incumbent(f"greedy {name}", values[0], layout_from(placed))

        placed, values, name = _native.greedy(
            task.instance.native,
            [(term.kind, term.pool) for term in task.terms],
            task.hint,
            task.stays,
            task.hinted,
            [min(bound, _MOST) for bound in task.lower_bounds],
            task.seed,
            budget,
            on_score,
        )
        return Outcome(
            layout=layout_from(placed),
            fits=values is not None,
            values=tuple(values or ()),
            solver=f"greedy {name}",
        )


def layout_from(placed: tuple[bytes, bytes]) -> Layout:
    """A layout from the bytes that the native core returns."""
    pools, offsets = array("q"), array("q")
    pools.frombytes(placed[0])
    offsets.frombytes(placed[1])
    return Layout(pools, offsets)


def make(_name: str) -> Greedy:
    """The solver."""
    return Greedy()
