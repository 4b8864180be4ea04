"""What it would take for a plan to exist: capacities, and single constraints that could go.

Every answer is of the engine and inherits its honesty: what it proves is exact, what it does not prove within
the time is a range, or is said to be undecided.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from memstow.planner.explain.removals import Removal, removals
from memstow.planner.model.objective import peak_of
from memstow.planner.model.options import Options
from memstow.planner.model.plan import PLANNED, Plan, Status
from memstow.planner.model.problem import Pool, Problem
from memstow.planner.solve import engine

# Of the time: to find out whether the problem fits as it is, and then to look at its capacities.
_FIT_SHARE = 0.25
_POOLS_SHARE = 0.6
# What a constraint gets at the least, in seconds: of thousands, rather some decided than all begun.
_LEAST_SHARE = 0.25
# Below this nothing is begun: an answer would not come.
_LEAST_SECONDS = 0.005


@dataclass(frozen=True, slots=True)
class Need:
    """The smallest capacity of one pool, all others as given."""

    pool: str
    capacity: int  # as given
    bound: int | None  # no plan exists with less; None: no capacity would do
    enough: int | None  # a plan exists with so much; None: none was found

    @property
    def least(self) -> int | None:
        """The smallest capacity, where it is known."""
        return self.enough if self.enough == self.bound else None


@dataclass(frozen=True, slots=True)
class Release:
    """A constraint, and whether a plan exists without it; None: not decided in time."""

    removal: Removal
    helps: bool | None


@dataclass(frozen=True, slots=True)
class Needs:
    """What it would take."""

    plan: Plan  # of the problem as it is, asked for any plan that fits
    pools: tuple[Need, ...]
    releases: tuple[Release, ...] = ()  # empty unless nothing fits as it is
    untried: int = 0  # constraints for which there was no time


def needs(problem: Problem, time_limit: float = 10.0) -> Needs:
    """What it would take, as far as it can be told within the time."""
    return _Asking(problem, time_limit).needs()


class _Asking:
    """One call: what is asked of the engine, and the time that is left."""

    def __init__(self, problem: Problem, time_limit: float) -> None:
        self._end = time.monotonic() + time_limit
        self._problem = replace(problem, objective=())

    def needs(self) -> Needs:
        plan = self._solve(self._problem, self._left() * _FIT_SHARE)
        candidates = self._candidates(plan)
        pools = tuple(self._of_pools(plan, _POOLS_SHARE if candidates else 1.0))
        releases = tuple(self._releases(candidates))
        return Needs(plan, pools, releases, len(candidates) - len(releases))

    def _candidates(self, plan: Plan) -> list[Removal]:
        """What may be too much, where something is."""
        if plan.status is not Status.INFEASIBLE:
            return []
        return list(removals(self._problem, plan.explanation.buffers if plan.explanation is not None else ()))

    def _of_pools(self, plan: Plan, share_of_time: float) -> Iterator[Need]:
        bounded = [(i, p, p.capacity) for i, p in enumerate(self._problem.pools) if p.capacity is not None]
        until = self._end - self._left() * (1 - share_of_time)
        for done, (index, pool, capacity) in enumerate(bounded):
            share = (until - time.monotonic()) / (len(bounded) - done)
            yield self._need(plan, index, pool, capacity, share)

    def _need(self, plan: Plan, index: int, pool: Pool, capacity: int, seconds: float) -> Need:
        others = self._problem.pools
        open_ended = (*others[:index], replace(pool, capacity=None), *others[index + 1 :])
        problem = replace(self._problem, pools=open_ended, objective=(str(peak_of(pool.id)),))
        # A capacity below the end of what is reserved makes no sense.
        least = max((r.offset + r.size for r in pool.reserved), default=0)
        if plan.status is Status.INFEASIBLE:
            # More capacity never makes a plan impossible: it takes at least a byte more than there is.
            least = max(least, capacity + 1)
        found = self._solve(problem, seconds)
        if found.status is Status.INFEASIBLE:
            return Need(pool.id, capacity, None, None)
        if found.status in PLANNED:
            (term,) = found.objective
            return Need(
                pool.id, capacity, max(least, term.bound), max(least, _end_in(problem, found, pool.id))
            )
        # What fits as it is shows that the given capacity is enough.
        return Need(pool.id, capacity, least, capacity if plan.status in PLANNED else None)

    def _releases(self, candidates: list[Removal]) -> Iterator[Release]:
        for done, removal in enumerate(candidates):
            if self._left() < _LEAST_SECONDS:
                return
            share = max(self._left() / (len(candidates) - done), _LEAST_SHARE)
            found = self._solve(removal.without(), share)
            helps = None if found.status is Status.UNKNOWN else found.status in PLANNED
            yield Release(removal, helps)

    def _left(self) -> float:
        return max(self._end - time.monotonic(), 0.0)

    def _solve(self, problem: Problem, seconds: float) -> Plan:
        seconds = min(seconds, self._left())
        if seconds < _LEAST_SECONDS:
            return Plan(status=Status.UNKNOWN)
        options = Options(time_limit=seconds)
        return engine.plan(problem, options)


def _end_in(problem: Problem, plan: Plan, pool: str) -> int:
    """Where the last buffer of the pool ends; one without a size must be inside the pool as well."""
    size_of = {buffer.id: buffer.size for buffer in problem.buffers}
    return max((p.offset + size_of[p.buffer] for p in plan.placements if p.pool == pool), default=0)


def as_data(found: Needs) -> dict[str, Any]:
    """What it would take, as plain data."""
    return {
        "status": "fits" if found.plan.status in PLANNED else found.plan.status.value,
        "explanation": found.plan.explanation.message if found.plan.explanation is not None else None,
        "pools": [
            {
                "pool": need.pool,
                "capacity": need.capacity,
                "least": need.least,
                "bound": need.bound,
                "enough": need.enough,
            }
            for need in found.pools
        ],
        "releases": [
            {
                "kind": release.removal.kind,
                "path": release.removal.path,
                "message": release.removal.message,
                "helps": release.helps,
            }
            for release in found.releases
        ],
        "untried": found.untried,
    }
