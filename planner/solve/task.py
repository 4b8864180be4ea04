"""From a reduced problem and the options to what a solver is asked."""

from collections.abc import Mapping

from memstow.planner.model.objective import Kind, Term
from memstow.planner.model.options import Options
from memstow.planner.processes import machine
from memstow.planner.reduce import Reduction
from memstow.planner.solve.kept_places import Hinted, kept_places
from memstow.solvers import solver
from memstow.solvers.solver import Task, TermKind

_KINDS = {
    Kind.PEAK: TermKind.PEAK,
    Kind.POOL_PEAK: TermKind.POOL_PEAK,
    Kind.MAX_PEAK: TermKind.MAX_PEAK,
    Kind.PLACEMENT_COST: TermKind.PLACEMENT_COST,
    Kind.REUSE_COST: TermKind.REUSE_COST,
    Kind.MOVES: TermKind.MOVES,
    Kind.PREFERENCE: TermKind.PREFERENCE,
}
_IN_BYTES = {TermKind.PEAK, TermKind.POOL_PEAK, TermKind.MAX_PEAK}


# More threads than this help no solver here.
_MOST_WORKERS = 8


def _workers(options: Options) -> int:
    """Threads; what a deterministic run finds must not depend on how many there are, so it has one."""
    if options.deterministic:
        return 1
    return min(machine.processors(), _MOST_WORKERS) if options.workers is None else options.workers


def task_of(reduction: Reduction, bounds: Mapping[Term, int], options: Options) -> tuple[Task, list[int]]:
    """The task with these terms and lower bounds, and by term what one unit of its value there is worth."""
    pool_of = {pool.id: i for i, pool in enumerate(reduction.problem.pools)}
    terms = [
        solver.Term(_KINDS[term.kind], -1 if term.pool is None else pool_of[term.pool]) for term in bounds
    ]
    scales = [reduction.unit if term.kind in _IN_BYTES else 1 for term in terms]
    hint = options.hint
    hinted = kept_places(reduction, hint) if hint is not None else Hinted()
    task = Task(
        instance=reduction.instance,
        terms=tuple(terms),
        lower_bounds=tuple(-(-bound // scale) for bound, scale in zip(bounds.values(), scales, strict=True)),
        hint=reduction.layout(hint.placements) if hint is not None else None,
        gap=options.gap,
        seed=options.seed,
        workers=_workers(options),
        deterministic=options.deterministic,
        memory=options.memory_limit,
        kept=hinted.places,
        hinted=hinted.buffers,
    )
    return task, scales
