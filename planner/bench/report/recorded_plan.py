"""The plan that a run gave, from its record and its problem."""

from memstow.planner.bench.records.record import Layout
from memstow.planner.bench.records.results import Run
from memstow.planner.model import Status
from memstow.planner.model.plan import Live, Placement, Plan, PoolUse, TermValue, gap_of
from memstow.planner.model.problem import PEAK, Problem, profile, terms_of


def recorded_plan(problem: Problem, run: Run, layout: Layout) -> Plan:
    """The plan, with what the solver claims of it; records have no certificates."""
    pools = problem.pools
    placements = tuple(
        Placement(buffer=buffer.id, pool=pools[pool].id, offset=offset)
        for buffer, pool, offset in zip(problem.buffers, layout.pool, layout.offset, strict=True)
    )
    return Plan(
        status=Status(run.record.status.value),
        placements=placements,
        pools=tuple(_use(problem, run, layout, index) for index in range(len(pools))),
        objective=tuple(
            TermValue(
                term=it.term, value=it.value, bound=it.bound or 0, gap=float(gap_of(it.value, it.bound or 0))
            )
            for it in run.record.objective
        ),
        solver=run.solver,
        seconds=run.record.seconds,
    )


def _use(problem: Problem, run: Run, layout: Layout, index: int) -> PoolUse:
    pool = problem.pools[index]
    placed = zip(problem.buffers, layout.pool, layout.offset, strict=True)
    inside = [(buffer, offset) for buffer, at, offset in placed if at == index and buffer.size]
    # A record has the bound of the peak only if there is a single pool.
    bound = run.record.bound if len(problem.pools) == 1 and terms_of(problem)[:1] == (PEAK,) else None
    return PoolUse(
        pool=pool.id,
        capacity=pool.capacity,
        peak=max((offset + buffer.size for buffer, offset in inside), default=0),
        bound=bound or 0,
        live=Live(bytes=profile([buffer for buffer, _ in inside]).peak),
    )
