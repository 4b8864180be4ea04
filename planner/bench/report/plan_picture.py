"""The memory picture of an instance: a plan, drawn from the problem and the recorded places."""

from memstow.planner.bench.records.record import Layout
from memstow.planner.bench.records.results import Run
from memstow.planner.model.live_profile import profile
from memstow.planner.model.objective import PEAK, terms_of
from memstow.planner.model.plan import Live, Placement, Plan, PoolUse, Status
from memstow.planner.model.problem import Problem
from memstow.planner.show.svg_picture import svg


def memory_picture(problem: Problem, run: Run, layout: Layout) -> str:
    """The SVG of the plan that the run gave."""
    pools = problem.pools
    placements = tuple(
        Placement(buffer=buffer.id, pool=pools[pool].id, offset=offset)
        for buffer, pool, offset in zip(problem.buffers, layout.pool, layout.offset, strict=True)
    )
    plan = Plan(
        status=Status(run.record.status.value),
        placements=placements,
        pools=tuple(_use(problem, run, layout, index) for index in range(len(pools))),
    )
    return svg(problem, plan)


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
