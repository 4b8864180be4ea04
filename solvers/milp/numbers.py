"""What floats can be trusted with: which tasks are too large for them, and what a bound in floats proves."""

from math import ceil, gcd, isfinite

from memstow.solvers.models.places import highest_stack
from memstow.solvers.solver import SUMMED, Task, most_summed, summed

# With feasibility to about 1e-9 of a big-M, errors stay well below one unit up to here.
_MOST_HEIGHT = 1 << 26
_MOST_COST = 1 << 26
_ABSOLUTE = 1e-3
_RELATIVE = 1e-8


def too_large(task: Task) -> str | None:
    """Why the numbers of a task are beyond what tolerances allow; None: they are not."""
    instance = task.instance
    # Capacities limit where anything can be; an unbounded pool is as high as everything stacked.
    stack = highest_stack(task)
    height = max((min(capacity, stack) for capacity in instance.capacity), default=0)
    if height > _MOST_HEIGHT:
        return f"heights of {height:,} units: its tolerances are safe up to {_MOST_HEIGHT:,}"
    dearest = (most_summed(instance, kind) // (gcd(*summed(instance, kind)) or 1) for kind in SUMMED)
    costs = max(*dearest, sum(instance.reuse[2::3]))
    if costs > _MOST_COST:
        return f"costs that add up to {costs:,}: its tolerances are safe up to {_MOST_COST:,}"
    return None


def proven(bound: float) -> int | None:
    """The least integer value that a bound in floats leaves possible."""
    if not isfinite(bound) or abs(bound) > 1e15:
        return None
    return ceil(bound - _ABSOLUTE - _RELATIVE * abs(bound))
