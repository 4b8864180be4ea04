"""The integer program of the largest end offset, written with PuLP and solved by CBC or by HiGHS.

The formulas are in docs/model.md, in the order in which `formulation` writes them. Here are the back ends,
which import nothing of them until a solve needs it, and the tolerances of floats: what is too large for them.
"""

from functools import partial
from importlib import import_module
from itertools import islice
from math import ceil, gcd, isfinite

from memstow.solvers.constraints import Relations, highest_stack, too_many_in_banks
from memstow.solvers.instance import Layout
from memstow.solvers.lexicographic import Examiner, Limits, Report, Verdict, lexicographic
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
    return max(*dearest, sum(instance.reuse[2::3]), sum(instance.bank_costs[2::3]))


def integer_bound(bound: float) -> int | None:
    """The least integer that is not below a float bound, with its tolerance."""
    if not isfinite(bound) or abs(bound) > 1e15:
        return None
    return ceil(bound - _ABSOLUTE - _RELATIVE * abs(bound))


# Pairs times pools. What CBC does before its first node, which nothing limits, took 8 s with 4,300 and more
# than 40 s with 5,400.
_MOST_CHOICES = 4_000


def _unlimited(task: Task) -> str | None:
    """The message that a run which only counts nodes would not end; None if it does."""
    if not task.deterministic:
        return None
    instance = task.instance
    pools = len(instance.capacity)
    most = _MOST_CHOICES // pools
    pairs = sum(1 for _ in islice(Relations(instance).all_pairs(), most + 1))
    if pairs <= most:
        return None
    return (
        f"more than {most:,} pairs of buffers in conflict, the most for so many pools: only a time limit "
        "bounds the work on them; leave `deterministic` out"
    )


class IntegerProgram:
    """The integer program, solved by CBC or HiGHS, which are imported when needed."""

    def __init__(self, name: str, home: str) -> None:
        self.name = name
        self._home = home

    def declines(self, task: Task) -> str | None:
        """It declines numbers beyond the tolerances of the solvers, and work that nothing would limit."""
        return too_large(task) or too_many_in_banks(task.instance) or _unlimited(task)

    def warm(self) -> None:
        """Import PuLP and the solver."""
        import_module(self._home)

    def solve(self, task: Task, start: Layout | None, limits: Limits, report: Report) -> Verdict:
        """Solve level by level."""
        relations = Relations(task.instance)
        make = partial(import_module(self._home).make, task, relations)
        verdict = lexicographic(task, Examiner(task, relations), start, limits, report, make)
        if verdict.infeasible:
            report.infeasible()
        return verdict


def make(name: str) -> IntegerProgram:
    """The back end `cbc` or `highs`."""
    return IntegerProgram(name, f"memstow.solvers.milp.{name}")
