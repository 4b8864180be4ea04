"""What a run and each of its stages may use, of time and of work."""

from typing import Final

from memstow.planner.model.options import Options
from memstow.planner.model.problem import Buffer, Problem
from memstow.planner.solve.portfolio import Stage
from memstow.solvers.core import Budget

# The steps of a deterministic run: about the default time limit's worth. Where it was measured it took 8 to
# 11 s of a processor: minimalloc D and J, perfect tilings of 500, random lives of 5,000.
DEFAULT_WORK: Final = 1_300_000_000
# Building, naming and judging a plan takes about so long for each buffer; the search ends earlier by it.
_SECONDS_PER_BUFFER: Final = 10e-6
# The judge looks at each pool that each buffer may go to.
_SECONDS_PER_CHOICE: Final = 0.5e-6

# Letting buffers go to pools they prefer, at the end, takes up to so long (`solvers.prefer`).
_SECONDS_TO_PREFER: Final = 0.05
_SHARE_TO_PREFER: Final = 0.1


def budget_of(options: Options, problem: Problem) -> Budget:
    """Of the search of a whole run."""
    if options.deterministic:
        return Budget(-1.0, DEFAULT_WORK if options.work_limit is None else options.work_limit)
    limit = -1 if options.work_limit is None else options.work_limit
    rest = _SECONDS_PER_BUFFER * len(problem.buffers)
    if len(problem.pools) > 1:
        rest += min(_SECONDS_TO_PREFER, options.time_limit * _SHARE_TO_PREFER)
        rest += _SECONDS_PER_CHOICE * sum(_choices(problem, buffer) for buffer in problem.buffers)
    return Budget(max(options.time_limit - rest, 0.0), limit)


def _choices(problem: Problem, buffer: Buffer) -> int:
    return len(problem.pools if buffer.pools is None else buffer.pools)


def share_of(budget: Budget, stage: Stage) -> Budget:
    """What the stage may use, of what is left; it can be cancelled on its own."""
    seconds, work = budget.seconds_left, budget.work_left
    limits = [work if stage.share >= 1.0 else int(work * stage.share)] if work is not None else []
    if stage.most_work is not None:
        limits.append(stage.most_work)
    return Budget(
        -1.0 if seconds is None else seconds * stage.share,
        min(limits, default=-1),
        budget,
    )
