"""Tolerances of floats: what is too large for them, or for proofs, and integer bounds from float bounds."""

from math import ceil, gcd, isfinite

from memstow.solvers.models.places import highest_stack
from memstow.solvers.solver import SUM_TERMS, Task, choice_weights, largest_sum

# With feasibility to about 1e-9 of a big-M, errors stay well below one unit up to here.
_MOST_HEIGHT = 1 << 26
_MOST_COST = 1 << 26
# Both solvers have cut off optima of later terms with peaks of 2^21 in stacks of 2^23, though errors should
# be far below a unit there. Up to here, none of thousands of comparisons has shown a false proof.
_MOST_PROVEN = 1 << 19
_ABSOLUTE = 1e-3
_RELATIVE = 1e-8


def too_large(task: Task) -> str | None:
    """The message that the numbers of a task exceed what tolerances allow; None if they do not."""
    height, costs = _height(task), _costs(task)
    if height > _MOST_HEIGHT:
        return f"heights of {height:,} units: its tolerances are safe up to {_MOST_HEIGHT:,}"
    if costs > _MOST_COST:
        return f"costs that add up to {costs:,}: its tolerances are safe up to {_MOST_COST:,}"
    return None


def can_prove(task: Task) -> bool:
    """Whether the numbers are so small that what the solvers say of bounds is believed."""
    return max(_height(task), _costs(task)) <= _MOST_PROVEN


def _height(task: Task) -> int:
    # An unbounded pool is at most as high as all items on top of each other.
    stack = highest_stack(task)
    return max((min(capacity, stack) for capacity in task.instance.capacity), default=0)


def _costs(task: Task) -> int:
    instance = task.instance
    dearest = (
        largest_sum(instance, kind) // (gcd(*choice_weights(instance, kind)) or 1) for kind in SUM_TERMS
    )
    return max(*dearest, sum(instance.reuse[2::3]))


def integer_bound(bound: float) -> int | None:
    """The least integer that is not below a float bound, with its tolerance."""
    if not isfinite(bound) or abs(bound) > 1e15:
        return None
    return ceil(bound - _ABSOLUTE - _RELATIVE * abs(bound))
