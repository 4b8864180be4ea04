"""The time and the work that a run may use."""

from typing import Final

from memstow.planner.model.options import Options
from memstow.planner.model.problem import Problem, named_pools
from memstow.solvers.core import Budget

# Steps of a deterministic run: about as much as the default time limit allows. Measured: 8 to 11 s of a
# processor for minimalloc D and J, perfect tilings of 500, random lives of 5,000.
DEFAULT_WORK: Final = 1_300_000_000
# Building and judging a plan takes about this long for each buffer, so the search ends earlier.
_SECONDS_PER_BUFFER: Final = 10e-6
# The judge checks each pool that each buffer may go to.
_SECONDS_PER_CHOICE: Final = 0.5e-6

# Moving buffers to pools they prefer, at the end, takes up to this long (`solvers.prefer`).
_SECONDS_TO_PREFER: Final = 0.05
_SHARE_TO_PREFER: Final = 0.1


def budget_of(options: Options, problem: Problem) -> Budget:
    """The budget of a whole run's search: it leaves time for building and judging the plan."""
    if options.deterministic:
        return Budget(-1.0, DEFAULT_WORK if options.work_limit is None else options.work_limit)
    limit = -1 if options.work_limit is None else options.work_limit
    rest = _SECONDS_PER_BUFFER * len(problem.buffers)
    if len(problem.pools) > 1:
        rest += min(_SECONDS_TO_PREFER, options.time_limit * _SHARE_TO_PREFER)
        rest += _SECONDS_PER_CHOICE * _choice_count(problem)
    return Budget(max(options.time_limit - rest, 0.0), limit)


def _choice_count(problem: Problem) -> int:
    """Pools that buffers may go to, counted for each buffer."""
    pool_lists = map(named_pools, problem.buffers)
    return sum(len(problem.pools if names is None else names) for names in pool_lists)
