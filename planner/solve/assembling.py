"""Plans put together of what is known: places of parts, bounds of other runs, offsets of arrays."""

from array import array
from collections.abc import Sequence
from itertools import cycle

from memstow.planner.model import PLANNED
from memstow.planner.model.errors import InputError, RefusedPlanError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Explanation, Placement, Plan, TermValue
from memstow.planner.model.problem import LIMIT, Buffer, Pool, Problem, terms_of
from memstow.planner.model.records import record
from memstow.planner.reduce import reduce
from memstow.planner.solve.answer import Answers
from memstow.planner.solve.bounds import Bounds
from memstow.planner.solve.engine import plan
from memstow.planner.solve.run_state import RunState, Stamp, TermBound, task_of
from memstow.planner.verify import recount


@record
class Proven:
    """A bound of the first term that a run has proven, with its reason."""

    term: TermValue
    prover: str | None


def with_bound_of(problem: Problem, options: Options, plan: Plan, known: Plan) -> Plan:
    """The plan with the bound of a known one, verified, where that is higher.

    What is proven of a problem holds for each of its plans. Later terms have bounds of what is reached in
    earlier ones, so with several terms nothing is taken over.
    """
    if plan.status not in PLANNED or not len(plan.objective) == len(known.objective) == 1:
        return plan
    mine, other = plan.objective[0], known.objective[0]
    if not mine.bound < other.bound <= mine.value:
        return plan
    stamp = Stamp(seconds=plan.seconds, work=plan.work)
    proven = Proven(other, known.prover)
    return assembled(problem, options, plan.placements, plan.solver or "", proven, stamp)


def assembled(
    problem: Problem,
    options: Options,
    placements: tuple[Placement, ...],
    solver: str,
    proven: Proven | None,
    stamp: Stamp,
) -> Plan:
    """The plan of these places, with the higher of the bound that is proven and the one found at once.

    RefusedPlanError where the judge finds a violation.
    """
    reduction = reduce(problem)
    if isinstance(reduction, Explanation):
        raise RefusedPlanError(f"these buffers have no places: {reduction.message}")
    bounds = Bounds(reduction)
    terms = {term: bounds.of_term(term) for term in terms_of(problem)}
    first = next(iter(terms), None)
    higher = first is not None and proven is not None and proven.term.bound > terms[first].value
    if first is not None and proven is not None and higher:
        terms[first] = TermBound(proven.term.bound, proven.term.certificate)
    _, scales = task_of(reduction, {term: bound.value for term, bound in terms.items()}, options)
    state = RunState(terms, scales)
    if proven is not None and higher:
        state.prover = proven.prover
    answers = Answers(problem, options, recount, lambda: stamp)
    return answers.accept(reduction, bounds, state, reduction.layout(placements), solver, terms)


def problem_of_arrays(
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


def plan_of_arrays(problem: Problem, time_limit: float, deterministic: bool) -> Plan:
    """The engine's plan; without time the greedy one, which is the same every time."""
    if time_limit <= 0.0 and not deterministic:
        return plan(problem, Options(solver="greedy", deterministic=True))
    if deterministic:
        return plan(problem, Options(deterministic=True))
    return plan(problem, Options(time_limit=time_limit))


def plan_of_offsets(problem: Problem, offsets: "array[int]") -> Plan:
    """The plan with these offsets; without offsets the engine says why there is none."""
    if not offsets:
        return plan_of_arrays(problem, 0.0, deterministic=False)
    pool = problem.pools[0].id
    places = zip(problem.buffers, offsets, strict=True)
    placements = tuple(
        Placement(buffer=buffer.id, pool=pool, offset=int(offset)) for buffer, offset in places
    )
    at_once = Stamp(seconds=0.0, work=0)
    try:
        return assembled(problem, Options(deterministic=True), placements, "greedy", None, at_once)
    except RefusedPlanError:
        # The offsets were judged when they were found, and arrays of the caller are read in place.
        message = "the arrays are no longer those that were placed; ask for the plan before they change"
        raise InputError.single("arrays_changed", "sizes", message) from None
