"""The task of solvers, from a reduced problem and the options."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from memstow.planner.model.objective import Kind, Term
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.processes import machine
from memstow.planner.reduce import Reduction
from memstow.solvers import solver
from memstow.solvers.solver import HintPlace, Task, TermKind

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
    """Threads of a run; a deterministic one has a single thread, so that nothing depends on the machine."""
    if options.deterministic:
        return 1
    return min(machine.processors(), _MOST_WORKERS) if options.workers is None else options.workers


def task_of(reduction: Reduction, bounds: Mapping[Term, int], options: Options) -> tuple[Task, list[int]]:
    """The task with these terms and lower bounds, and by term the value of one unit of it there."""
    pool_of = {pool.id: i for i, pool in enumerate(reduction.problem.pools)}
    terms = [
        solver.Term(_KINDS[term.kind], -1 if term.pool is None else pool_of[term.pool]) for term in bounds
    ]
    scales = [reduction.unit if term.kind in _IN_BYTES else 1 for term in terms]
    hint = options.hint
    places = hint_places(reduction, hint) if hint is not None else HintPlaces()
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
        hint_places=places.by_item,
        hint_buffers=places.buffers,
    )
    return task, scales


@dataclass(frozen=True, slots=True)
class HintPlaces:
    """Places of a hint by item, which the term `moves` counts from, and how many buffers it places."""

    by_item: tuple[HintPlace, ...] = ()
    buffers: int = 0


def hint_places(reduction: Reduction, hint: Plan) -> HintPlaces:
    """The places of items at which buffers stay where the hint has them."""
    problem, instance, unit = reduction.problem, reduction.instance, reduction.unit
    pool_of = {pool.id: i for i, pool in enumerate(problem.pools)}
    place_of = {place.buffer: place for place in hint.placements}
    tally: Counter[tuple[int, int, int]] = Counter()
    buffers = 0
    for item in range(instance.item_count):
        for part in range(instance.item_parts[item], instance.item_parts[item + 1]):
            place = place_of.get(problem.buffers[reduction.part_buffer[part]].id)
            if place is None:
                continue
            buffers += 1
            offset, rest = divmod(place.offset, unit)
            offset -= instance.part_delta[part]
            if place.pool in pool_of and not rest and offset >= 0:
                tally[item, pool_of[place.pool], offset] += 1
    return HintPlaces(tuple(HintPlace(*key, count) for key, count in sorted(tally.items())), buffers)
