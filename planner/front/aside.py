"""The least peak of one of several pools.

Where all that may be elsewhere fits there, what must be in the pool is a problem of one pool, which is
searched in this process; the rest only has to fit.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from memstow.planner.model import PLANNED, Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Buffer, Problem, allowed_pools

# Steps for each buffer: what is in no pool that counts only has to fit.
_STEPS: Final = 1_000

Solve = Callable[[Problem, Options], Plan]


def least_peak_plan(problem: Problem, pool: str, options: Options, solve: Solve) -> Plan:
    """The plan with the least peak of the pool, as far as it is found."""
    aimed = replace(problem, objective=(f"peak:{pool}",))
    half = _half(options)
    found = _pool_after_pool(problem, pool, half, solve)
    if found is None:
        # Greedy takes the first pool that has room.
        found = solve(_part(aimed, problem.buffers, [*_others(problem, pool), pool]), half)
    if found.status not in PLANNED:
        return found
    # Buffers that leave the peak as it is may still be in the pool that they prefer.
    plan = solve(aimed, replace(_quick(problem, options), hint=found))
    if plan.status not in PLANNED or plan.objective[0].value > _peak(found, pool):
        return found
    return replace(plan, work=found.work + plan.work)


def _pool_after_pool(problem: Problem, pool: str, options: Options, solve: Solve) -> Plan | None:
    """The plan in which only what must be is in the pool; None where it is not found like this."""
    if problem.relative:
        return None
    must = [it for it in problem.buffers if set(allowed_pools(problem, it)) == {pool}]
    first = solve(_part(problem, must, [pool]), options)
    if first.status is not Status.OPTIMAL:
        return None
    names = {it.id for it in must}
    others = [it for it in problem.buffers if it.id not in names]
    rest = solve(_part(problem, others, _others(problem, pool)), _quick(problem, options))
    if rest.status not in PLANNED:
        return None
    uses = {it.pool: it for it in (*first.pools, *rest.pools)}
    return replace(
        first,
        placements=(*first.placements, *rest.placements),
        pools=tuple(uses[it.id] for it in problem.pools),
        work=first.work + rest.work,
    )


def _half(options: Options) -> Options:
    """What each of two searches may take."""
    work = None if options.work_limit is None else options.work_limit // 2
    return replace(options, time_limit=options.time_limit / 2, work_limit=work)


def _quick(problem: Problem, options: Options) -> Options:
    return replace(options, solver="greedy", work_limit=_STEPS * (1 + len(problem.buffers)))


def _others(problem: Problem, pool: str) -> list[str]:
    return [it.id for it in problem.pools if it.id != pool]


def _peak(plan: Plan, pool: str) -> int:
    return next(it.peak for it in plan.pools if it.pool == pool)


def _part(problem: Problem, buffers: Sequence[Buffer], pools: Sequence[str]) -> Problem:
    """The problem of these buffers in these pools, which they prefer in this order."""
    names = {it.id for it in buffers}
    return replace(
        problem,
        pools=tuple(it for it in problem.pools if it.id in pools),
        buffers=tuple(
            replace(it, pools=tuple(name for name in pools if name in allowed_pools(problem, it)))
            for it in buffers
        ),
        in_place=tuple(it for it in problem.in_place if names >= {it.input, it.output}),
        objective=problem.objective if len(pools) == len(problem.pools) else ("peak",),
    )
