"""The values of a plan: its peaks, its costs, and when most bytes are in use."""

from collections.abc import Iterable

from memstow.planner.model.objective import Kind, Term
from memstow.planner.model.plan import Live, Placement, Plan
from memstow.planner.model.problem import Problem, access_count, place_of
from memstow.planner.reduce import Reduction
from memstow.solvers import core
from memstow.solvers.instance import Layout


class PlanValues:
    """The values of one layout and its placements, in bytes of the problem."""

    def __init__(
        self,
        reduction: Reduction,
        layout: Layout,
        placements: tuple[Placement, ...],
        hint: Plan | None,
    ) -> None:
        self._problem = reduction.problem
        self._placements = placements
        self._hint = hint
        instance = reduction.instance
        self.peaks = [peak * reduction.unit for peak in core.pool_peaks(instance, layout)]
        self.live = [
            Live(bytes=most.bytes * reduction.unit, time=reduction.moment(most.time))
            for most in core.most_occupied(instance, layout)
        ]

    def of(self, term: Term) -> int:
        """The value of a term of the objective."""
        match term.kind:
            case Kind.PEAK:
                return sum(self.peaks)
            case Kind.MAX_PEAK:
                return max(self.peaks)
            case Kind.POOL_PEAK:
                return next(
                    peak
                    for pool, peak in zip(self._problem.pools, self.peaks, strict=True)
                    if pool.id == term.pool
                )
            case Kind.PLACEMENT_COST:
                return placement_cost(self._problem, self._placements)
            case Kind.PREFERENCE:
                return preference(self._problem, self._placements)
            case Kind.REUSE_COST:
                return reuse_cost(self._problem, self._placements)
            case Kind.MOVES:
                return moves(self._problem, self._placements, self._hint)


def peaks(problem: Problem, placements: Iterable[Placement]) -> dict[str, int]:
    """The largest end offset in each pool that is used."""
    size_of = {buffer.id: buffer.size for buffer in problem.buffers}
    highest: dict[str, int] = {}
    for place in placements:
        if size := size_of[place.buffer]:
            highest[place.pool] = max(highest.get(place.pool, 0), place.offset + size)
    return highest


def placement_cost(problem: Problem, placements: Iterable[Placement]) -> int:
    """Accesses x cost of the pool, over all buffers."""
    cost_of = {pool.id: pool.cost for pool in problem.pools}
    if not any(cost_of.values()):
        return 0
    return sum(
        access_count(buffer) * cost_of[place.pool]
        for buffer, place in zip(problem.buffers, placements, strict=True)
    )


def preference(problem: Problem, placements: Iterable[Placement]) -> int:
    """Bytes x place of the pool among those their buffer may go to, over all buffers."""
    return sum(
        buffer.size * place_of(problem, buffer, place.pool)
        for buffer, place in zip(problem.buffers, placements, strict=True)
    )


def reuse_cost(problem: Problem, placements: Iterable[Placement]) -> int:
    """The costs of all pairs that overlap in memory."""
    if not problem.reuse_costs:
        return 0
    place_of = {p.buffer: p for p in placements}
    size_of = {buffer.id: buffer.size for buffer in problem.buffers}
    total = 0
    for entry in problem.reuse_costs:
        one, two = entry.buffers
        a, b = place_of[one], place_of[two]
        begin, end = max(a.offset, b.offset), min(a.offset + size_of[one], b.offset + size_of[two])
        if a.pool == b.pool and begin < end:
            total += entry.cost
    return total


def moves(problem: Problem, placements: Iterable[Placement], hint: Plan | None) -> int:
    """Buffers that are at another place than in the hint; those of size 0 do not count."""
    if hint is None:
        return 0
    was = {p.buffer: p for p in hint.placements}
    return sum(
        1
        for buffer, place in zip(problem.buffers, placements, strict=True)
        if buffer.size and buffer.id in was and was[buffer.id] != place
    )
