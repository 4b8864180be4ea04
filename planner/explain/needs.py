"""Changes that would make a problem fit: larger capacities, a constraint less, or fewer live bytes.

What live bytes ask for is counted; every other result comes from the engine: a proven one is exact, without a
proof in time it is a range or undecided. Exclusive pairs, in-place pairs and several lifetimes allow more
plans, so removing one never helps. Capacities are raised instead of removed.
"""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from memstow.planner.explain.shortfall import Demand, Shortfall, Work, with_changes
from memstow.planner.explain.shortfall import as_data as shortfall_data
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Buffer, Pool, Problem, peak_of, with_groups
from memstow.planner.solve import engine

Kind = Literal[
    "reserved",
    "pool_alignment",
    "offset",
    "pool",
    "pools",
    "alignment",
    "conflict",
    "relative",
    "within_bank",
    "banks",
    "bank_conflict",
]


@dataclass(frozen=True, slots=True)
class Removal:
    """A constraint that can be removed, and its path in the problem."""

    kind: Kind
    path: str
    message: str
    without: Callable[[], Problem]
    """Makes the problem without it, when needed: there may be as many removals as buffers."""


def removals(problem: Problem, among: Collection[str] = ()) -> Iterator[Removal]:
    """The removals that concern some of these buffers, or all removals where none are given.

    A proof that these buffers do not fit holds as long as nothing about them changes.
    """
    concerned = with_groups(problem, among) if among else {buffer.id for buffer in problem.buffers}
    yield from _of_pools(problem)
    for index, buffer in enumerate(problem.buffers):
        if buffer.id in concerned:
            yield from _of_buffer(problem, index, buffer)
    for index, pair in enumerate(problem.conflicts):
        if concerned.intersection(pair):
            message = f"{pair[0]!r} and {pair[1]!r} conflict"
            yield Removal(
                "conflict", f"$.conflicts[{index}]", message, partial(_without_conflict, problem, index)
            )
    for index, tie in enumerate(problem.relative):
        if tie.buffer in concerned or tie.base in concerned:
            message = f"{tie.buffer!r} is {tie.offset:,} from {tie.base!r}"
            yield Removal("relative", f"$.relative[{index}]", message, partial(_without_tie, problem, index))

    for index, entry in enumerate(problem.bank_conflicts):
        if entry.cost is None and len(concerned.intersection(entry.buffers)) > 1:
            some = ", ".join(map(repr, entry.buffers[:8])) + (" ..." if len(entry.buffers) > 8 else "")
            others = problem.bank_conflicts[:index] + problem.bank_conflicts[index + 1 :]
            change = partial(replace, problem, bank_conflicts=others)
            message = f"no two of {some} may touch one bank"
            yield Removal("bank_conflict", f"$.bank_conflicts[{index}]", message, change)


def _of_pools(problem: Problem) -> Iterator[Removal]:
    for index, pool in enumerate(problem.pools):
        path = f"$.pools[{index}]"
        for at, reserved in enumerate(pool.reserved):
            freed = replace(pool, reserved=pool.reserved[:at] + pool.reserved[at + 1 :])
            message = f"{reserved.size:,} bytes at {reserved.offset:,} of pool {pool.id!r} are reserved"
            change = partial(_with_pool, problem, index, freed)
            yield Removal("reserved", f"{path}.reserved[{at}]", message, change)
        if pool.alignment > 1:
            message = f"everything in pool {pool.id!r} is aligned to {pool.alignment:,}"
            change = partial(_with_pool, problem, index, replace(pool, alignment=1))
            yield Removal("pool_alignment", f"{path}.alignment", message, change)


def _of_buffer(problem: Problem, index: int, buffer: Buffer) -> Iterator[Removal]:
    path, name = f"$.buffers[{index}]", repr(buffer.id)

    def removal(kind: Kind, field: str, message: str, free: Buffer) -> Removal:
        return Removal(kind, f"{path}.{field}", message, partial(_with_buffer, problem, index, free))

    if buffer.offset is not None:
        message = f"{name} is pinned to offset {buffer.offset:,}"
        yield removal("offset", "offset", message, replace(buffer, offset=None))
    if buffer.pool is not None and len(problem.pools) > 1:
        free = replace(buffer, pool=None, offset=None)
        yield removal("pool", "pool", f"{name} is pinned to pool {buffer.pool!r}", free)
    elif buffer.pools is not None and len(buffer.pools) < len(problem.pools):
        allowed = ", ".join(map(repr, buffer.pools))
        yield removal("pools", "pools", f"{name} may go to {allowed} only", replace(buffer, pools=None))
    if buffer.alignment > 1:
        message = f"{name} is aligned to {buffer.alignment:,}"
        yield removal("alignment", "alignment", message, replace(buffer, alignment=1))
    if buffer.within_bank:
        free = replace(buffer, within_bank=None)
        yield removal("within_bank", "within_bank", f"{name} must be within one bank", free)
    if buffer.banks is not None:
        among = ", ".join(map(str, buffer.banks[:8])) + (" ..." if len(buffer.banks) > 8 else "")
        message = f"{name} may only be in the banks {among}"
        yield removal("banks", "banks", message, replace(buffer, banks=None))


def _with_pool(problem: Problem, index: int, pool: Pool) -> Problem:
    pools = problem.pools
    return replace(problem, pools=(*pools[:index], pool, *pools[index + 1 :]))


def _with_buffer(problem: Problem, index: int, buffer: Buffer) -> Problem:
    buffers = problem.buffers
    return replace(problem, buffers=(*buffers[:index], buffer, *buffers[index + 1 :]))


def _without_conflict(problem: Problem, index: int) -> Problem:
    return replace(problem, conflicts=problem.conflicts[:index] + problem.conflicts[index + 1 :])


def _without_tie(problem: Problem, index: int) -> Problem:
    return replace(problem, relative=problem.relative[:index] + problem.relative[index + 1 :])


# Shares of the time: for solving the problem as it is, and then for its capacities.
_FIT_SHARE = 0.25
_POOLS_SHARE = 0.6
# Least seconds for a constraint: of thousands, some should be decided rather than all be begun.
_LEAST_SHARE = 0.25
# Of the time that is left then, for a plan with the changes that live bytes ask for.
_CONFIRM_SHARE = 0.2
# Seconds for each buffer that it may take to count them; with less time they are not.
_COUNT_SECONDS = 3e-5
# With less time than this nothing is begun.
_LEAST_SECONDS = 0.005


@dataclass(frozen=True, slots=True)
class Need:
    """The smallest capacity of one pool while the others stay as they are."""

    pool: str
    capacity: int  # of the problem
    bound: int | None  # no plan exists with less; None: no capacity would do
    enough: int | None  # a plan exists with this much; None: none was found

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
    """Capacities and removals that would make the problem fit."""

    plan: Plan  # of the problem as it is, without an objective
    pools: tuple[Need, ...]
    releases: tuple[Release, ...] = ()  # empty unless nothing fits as it is
    untried: int = 0  # constraints that there was no time for
    shortfalls: tuple[Shortfall, ...] | None = ()
    """Pools whose live bytes are more than their capacity; None: there was no time to count them."""
    confirmed: Literal["shrunk", "left_out"] | None = None
    """How the buffers of all shortfalls were changed in a plan; None: none was found."""


def needs(problem: Problem, time_limit: float = 10.0) -> Needs:
    """The needs of the problem, as far as they are found within the time."""
    return _NeedsSearch(problem, time_limit).needs()


class _NeedsSearch:
    """One call of `needs`: runs of the engine within the time limit."""

    def __init__(self, problem: Problem, time_limit: float) -> None:
        self._end = time.monotonic() + time_limit
        self._problem = replace(problem, objective=())

    def needs(self) -> Needs:
        plan = self._solve(self._problem, self._seconds_left() * _FIT_SHARE)
        candidates = self._candidates(plan)
        shortfalls = () if plan.status in PLANNED else self._shortfalls()
        pools = tuple(self._pool_needs(plan, _POOLS_SHARE if candidates or shortfalls else 1.0))
        confirmed = self._confirmed(shortfalls) if shortfalls else None
        releases = tuple(self._releases(candidates))
        return Needs(plan, pools, releases, len(candidates) - len(releases), shortfalls, confirmed)

    def _shortfalls(self) -> tuple[Shortfall, ...] | None:
        bounded = [(pool.id, pool.capacity) for pool in self._problem.pools if pool.capacity is not None]
        work = Work(until=self._end)
        shortfalls = []
        for pool, capacity in bounded:
            if self._seconds_left() < _COUNT_SECONDS * len(self._problem.buffers):
                return None
            shortfall = Demand(self._problem, pool).shortfall(capacity, work)
            if shortfall is not None:
                shortfalls.append(shortfall)
        return tuple(shortfalls)

    def _confirmed(self, shortfalls: Sequence[Shortfall]) -> Literal["shrunk", "left_out"] | None:
        if any(len(shortfall.changes) < shortfall.count for shortfall in shortfalls):
            return None
        seconds = self._seconds_left() * _CONFIRM_SHARE / 2
        if self._solve(with_changes(self._problem, shortfalls), seconds).status in PLANNED:
            return "shrunk"
        without = with_changes(self._problem, shortfalls, leave_out=True)
        return "left_out" if self._solve(without, seconds).status in PLANNED else None

    def _candidates(self, plan: Plan) -> list[Removal]:
        """Constraints to remove where nothing fits."""
        if plan.status is not Status.INFEASIBLE:
            return []
        return list(removals(self._problem, plan.explanation.buffers if plan.explanation is not None else ()))

    def _pool_needs(self, plan: Plan, share_of_time: float) -> Iterator[Need]:
        bounded = [(i, p, p.capacity) for i, p in enumerate(self._problem.pools) if p.capacity is not None]
        until = self._end - self._seconds_left() * (1 - share_of_time)
        for done, (index, pool, capacity) in enumerate(bounded):
            share = (until - time.monotonic()) / (len(bounded) - done)
            yield self._pool_need(plan, index, pool, capacity, share)

    def _pool_need(self, plan: Plan, index: int, pool: Pool, capacity: int, seconds: float) -> Need:
        others = self._problem.pools
        open_ended = (*others[:index], replace(pool, capacity=None), *others[index + 1 :])
        problem = replace(self._problem, pools=open_ended, objective=(str(peak_of(pool.id)),))
        # A capacity below the end of a reserved range is not valid.
        least = max((r.offset + r.size for r in pool.reserved), default=0)
        if plan.status is Status.INFEASIBLE:
            # More capacity never makes a plan impossible, so at least one byte more is needed.
            least = max(least, capacity + 1)
        result = self._solve(problem, seconds)
        if result.status is Status.INFEASIBLE:
            return Need(pool.id, capacity, None, None)
        if result.status in PLANNED:
            (term,) = result.objective
            # A buffer of size 0 must be inside the pool as well.
            size_of = {buffer.id: buffer.size for buffer in problem.buffers}
            ends = (p.offset + size_of[p.buffer] for p in result.placements if p.pool == pool.id)
            return Need(pool.id, capacity, max(least, term.bound), max((least, *ends)))
        # A plan of the problem as it is shows that its capacity is enough.
        return Need(pool.id, capacity, least, capacity if plan.status in PLANNED else None)

    def _releases(self, candidates: list[Removal]) -> Iterator[Release]:
        for done, removal in enumerate(candidates):
            if self._seconds_left() < _LEAST_SECONDS:
                return
            share = max(self._seconds_left() / (len(candidates) - done), _LEAST_SHARE)
            result = self._solve(removal.without(), share)
            helps = None if result.status is Status.UNKNOWN else result.status in PLANNED
            yield Release(removal, helps)

    def _seconds_left(self) -> float:
        return max(self._end - time.monotonic(), 0.0)

    def _solve(self, problem: Problem, seconds: float) -> Plan:
        seconds = min(seconds, self._seconds_left())
        if seconds < _LEAST_SECONDS:
            return Plan(status=Status.UNKNOWN)
        options = Options(time_limit=seconds)
        return engine.plan(problem, options)


def as_data(result: Needs) -> dict[str, object]:
    """The needs as JSON."""
    return {
        "status": "fits" if result.plan.status in PLANNED else result.plan.status.value,
        "explanation": result.plan.explanation.message if result.plan.explanation is not None else None,
        "pools": [
            {
                "pool": need.pool,
                "capacity": need.capacity,
                "least": need.least,
                "bound": need.bound,
                "enough": need.enough,
            }
            for need in result.pools
        ],
        "releases": [
            {
                "kind": release.removal.kind,
                "path": release.removal.path,
                "message": release.removal.message,
                "helps": release.helps,
            }
            for release in result.releases
        ],
        "untried": result.untried,
        "shortfalls": None
        if result.shortfalls is None
        else [shortfall_data(shortfall) for shortfall in result.shortfalls],
        "confirmed": result.confirmed,
    }
