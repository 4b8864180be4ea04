"""From what a run has found and proven to the plan that is handed out, judged."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import memstow
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import RefusedPlanError
from memstow.planner.model.objective import Term
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Explanation, Least, Overflow, Plan, PoolUse, Status, TermValue, gap_of
from memstow.planner.model.problem import Problem
from memstow.planner.reduce import Reduction
from memstow.planner.solve.bounds import Bounds, PoolBound, TermBound
from memstow.planner.solve.objective_values import Worth
from memstow.planner.verify import Violation
from memstow.solvers import core
from memstow.solvers.instance import Layout

Judge = Callable[[Problem, Plan, Plan | None], list[Violation]]
"""What is wrong with a plan: `planner.verify.recount`, or who asks that and remembers."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What every plan says of its run."""

    seconds: float
    work: int


def infeasible(problem: Problem, explanation: Explanation, prover: str, stamp: Stamp) -> Plan:
    """The answer where nothing fits."""
    blank = _blank(Status.INFEASIBLE, stamp)
    return _named(problem, replace(blank, explanation=explanation, prover=prover))


def unknown(reduction: Reduction, attempt: Layout | None, stamp: Stamp) -> Plan:
    """The answer where nothing that fits was found, and no proof that nothing does."""
    blank = _named(reduction.problem, _blank(Status.UNKNOWN, stamp))
    if attempt is None:
        return blank
    peaks = core.pool_peaks(reduction.instance, attempt)
    closest = tuple(
        Overflow(pool=pool.id, peak=peak * reduction.unit, capacity=pool.capacity)
        for pool, peak in zip(reduction.problem.pools, peaks, strict=True)
        if pool.capacity is not None and peak * reduction.unit > pool.capacity
    )
    return replace(blank, closest=closest)


def judged(
    reduction: Reduction,
    bounds: Bounds,
    terms: dict[Term, TermBound],
    solver: str,
    layout: Layout,
    options: Options,
    prover: str | None,
    stamp: Stamp,
    judge: Judge,
) -> Plan:
    """The plan of a layout that fits, accepted by the judge."""
    problem = reduction.problem
    placements = reduction.placements(layout)
    worth = Worth(reduction, layout, placements, options.hint)
    objective = tuple(_term_value(term, worth.value(term), bound) for term, bound in terms.items())
    proven = all(entry.value == entry.bound for entry in objective)
    pool_bounds = [
        _pool_bound(bounds.of_pool(i), _said_of_pool(problem, pool.id, terms))
        for i, pool in enumerate(problem.pools)
    ]
    pools = tuple(
        PoolUse(
            pool=pool.id,
            capacity=pool.capacity,
            peak=worth.peaks[i],
            bound=bound.value,
            live=worth.live[i],
            certificate=bound.certificate,
        )
        for i, (pool, bound) in enumerate(zip(problem.pools, pool_bounds, strict=True))
    )
    plan = replace(
        _blank(Status.OPTIMAL if proven else Status.FEASIBLE, stamp),
        placements=placements,
        pools=pools,
        objective=objective,
        solver=solver,
        prover=prover if any(entry.bound for entry in objective) else None,
    )
    violations = judge(problem, plan, options.hint)
    if violations:
        raise RefusedPlanError(
            f"the plan of {solver} was refused; please report it: "
            + "; ".join(f"{v.code}: {v.message}" for v in violations[:5])
        )
    return _named(problem, plan)


def _named(problem: Problem, plan: Plan) -> Plan:
    return replace(plan, digest=digest(problem))


def _blank(status: Status, stamp: Stamp) -> Plan:
    return Plan(
        status=status,
        version=memstow.__version__,
        seconds=stamp.seconds,
        work=stamp.work,
    )


def _pool_bound(found: PoolBound, said: int) -> PoolBound:
    """The better of what was found of a pool and what the objective says of it, which has the proof there."""
    return PoolBound(said, None) if said >= found.value else found


def _said_of_pool(problem: Problem, pool: str, terms: dict[Term, TermBound]) -> int:
    """What is proven of a pool's peak as the first term; those of later terms hold given it alone."""
    first = next(iter(terms), None)
    return terms[first].value if first is not None and first.is_peak_of(pool, len(problem.pools)) else 0


def _term_value(term: Term, value: int, bound: TermBound) -> TermValue:
    certificate = bound.certificate
    if certificate is None and value == bound.value:
        certificate = Least()
    return TermValue(
        term=str(term),
        value=value,
        bound=bound.value,
        gap=gap_of(value, bound.value),
        certificate=certificate,
    )
