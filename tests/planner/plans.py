"""Plans for tests: honest figures for given places, counted in the most naive way."""

from collections.abc import Mapping

from memstow.planner.model import Status
from memstow.planner.model.plan import Certificate, Live, Model, Placement, Plan, PoolUse, TermValue, gap_of
from memstow.planner.model.problem import Buffer, Pool, Problem
from tests.referee import Place, Places, cost


def honest(
    problem: Problem,
    places: Mapping[str, Place],
    *,
    bounds: Mapping[str, int] | None = None,
    certificates: Mapping[str, Certificate] | None = None,
    hint: Plan | None = None,
) -> Plan:
    """A plan with these places and true figures; bounds are zero unless given."""
    claims = []
    for term, value in zip(problem.terms(), cost(problem, dict(places), hint), strict=True):
        bound = (bounds or {}).get(term, 0)
        certificate = (certificates or {}).get(term, Model(solver="test") if bound else None)
        claims.append(
            TermValue(term=term, value=value, bound=bound, gap=gap_of(value, bound), certificate=certificate)
        )
    proven = all(claim.bound == claim.value for claim in claims)
    return Plan(
        status=Status.OPTIMAL if proven else Status.FEASIBLE,
        placements=tuple(
            Placement(buffer=name, pool=pool, offset=offset) for name, (pool, offset) in places.items()
        ),
        pools=tuple(pool_use(problem, pool, dict(places)) for pool in problem.pools),
        objective=tuple(claims),
    )


def pool_use(problem: Problem, pool: Pool, places: Places) -> PoolUse:
    """The true figures of one pool."""
    here = [
        buffer
        for buffer in problem.buffers
        if buffer.id in places and places[buffer.id][0] == pool.id and buffer.size
    ]
    ends = [places[buffer.id][1] + buffer.size for buffer in here]
    return PoolUse(
        pool=pool.id,
        capacity=pool.capacity,
        peak=max(ends, default=0),
        bound=0,
        live=_live(problem, here, places),
    )


def _live(problem: Problem, here: list[Buffer], places: Places) -> Live:
    moments = sorted({time for buffer in problem.buffers for time in _begins(buffer)}) or [0]
    occupied = [
        (
            len(
                {
                    byte
                    for buffer in here
                    if _lives_at(buffer, time)
                    for byte in range(places[buffer.id][1], places[buffer.id][1] + buffer.size)
                }
            ),
            time,
        )
        for time in moments
    ]
    most = max(count for count, _ in occupied)
    first = next(time for count, time in occupied if count == most)
    return Live(bytes=most, time=first if most else None)


def _ranges(buffer: Buffer) -> list[tuple[int, int]]:
    if buffer.lifetime is None:
        return list(buffer.lifetimes or ())
    return [] if isinstance(buffer.lifetime, str) else [buffer.lifetime]


def _begins(buffer: Buffer) -> list[int]:
    return [begin for begin, _ in _ranges(buffer)]


def _lives_at(buffer: Buffer, time: int) -> bool:
    return buffer.lifetime == "always" or any(begin <= time < end for begin, end in _ranges(buffer))
