"""From arrays to a problem, and from its places to a plan: only for callers who want more than offsets."""

from array import array
from collections.abc import Sequence
from itertools import cycle

from memstow.planner.model.options import Options
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import LIMIT, Buffer, Pool, Problem, terms_of
from memstow.planner.reduce import Reduction, reduce
from memstow.planner.solve.answer import Answers
from memstow.planner.solve.bounds import Bounds
from memstow.planner.solve.engine import plan
from memstow.planner.solve.run_state import RunState, task_of
from memstow.planner.solve.term_bounds import Stamp
from memstow.planner.verify import recount


def problem_of(
    sizes: "array[int]",
    begins: "array[int]",
    ends: "array[int]",
    alignments: "array[int]",
    capacity: int,
    pools: Sequence[Pool] | None = None,
) -> Problem:
    """The problem of valid columns; a buffer's id is its number."""
    rows = zip(sizes, begins, ends, cycle(alignments), strict=False)
    buffers = tuple(
        Buffer(id=str(number), size=int(size), lifetime=(int(begin), int(end)), alignment=int(alignment))
        for number, (size, begin, end, alignment) in enumerate(rows)
    )
    if pools is not None:
        return Problem(buffers=buffers, pools=tuple(pools))
    one = Pool(id="memory", capacity=None if capacity == LIMIT else capacity)
    return Problem(buffers=buffers, pools=(one,))


def search(problem: Problem, time_limit: float, deterministic: bool) -> Plan:
    """The engine's plan; without time the greedy one, which is the same every time."""
    if time_limit <= 0.0 and not deterministic:
        return plan(problem, Options(solver="greedy", deterministic=True))
    if deterministic:
        return plan(problem, Options(deterministic=True))
    return plan(problem, Options(time_limit=time_limit))


def plan_of_offsets(problem: Problem, offsets: "array[int]") -> Plan:
    """The plan with these offsets; without offsets the engine says why there is none."""
    reduction = reduce(problem)
    if not offsets or not isinstance(reduction, Reduction):
        return search(problem, 0.0, deterministic=False)
    options = Options(deterministic=True)
    pool = problem.pools[0].id
    places = zip(problem.buffers, offsets, strict=True)
    placements = tuple(Placement(buffer=it.id, pool=pool, offset=int(offset)) for it, offset in places)
    bounds = Bounds(reduction)
    terms = {term: bounds.of_term(term) for term in terms_of(problem)}
    _, scales = task_of(reduction, {term: bound.value for term, bound in terms.items()}, options)
    answers = Answers(problem, options, recount, lambda: Stamp(seconds=0.0, work=0))
    return answers.accept(
        reduction, bounds, RunState(terms, scales), reduction.layout(placements), "greedy", terms
    )
