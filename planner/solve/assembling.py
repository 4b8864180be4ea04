"""Plans put together of what is known: places of parts, bounds of other runs, offsets of arrays."""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle, pairwise

from memstow.planner.model import PLANNED
from memstow.planner.model.errors import InputError, RefusedPlanError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Explanation, Placement, Plan, TermValue
from memstow.planner.model.problem import ALWAYS, LIMIT, Buffer, Pool, Problem, spans, terms_of
from memstow.planner.model.records import record
from memstow.planner.reduce import reduce
from memstow.planner.solve.answer import Answers
from memstow.planner.solve.bounds import Bounds
from memstow.planner.solve.engine import plan
from memstow.planner.solve.run_state import RunState, Stamp, TermBound, task_of
from memstow.planner.verify import recount


def independent_parts(problem: Problem) -> list[list[int]]:
    """The buffers of each part, by their numbers; one part where it cannot be told apart.

    A plan of a part is one of the whole where there is one pool and its peak is all that counts.
    """
    whole = [list(range(len(problem.buffers)))]
    if len(problem.pools) != 1 or not problem.buffers:
        return whole
    terms = terms_of(problem)
    if len(terms) != 1 or not terms[0].is_peak_of(problem.pools[0].id, 1):
        return whole
    if any(buffer.lifetime == ALWAYS for buffer in problem.buffers):
        return whole
    leaders = list(range(len(problem.buffers)))

    def leader(one: int) -> int:
        while leaders[one] != one:
            leaders[one] = leaders[leaders[one]]
            one = leaders[one]
        return one

    for one, other in _joined(problem):
        leaders[leader(one)] = leader(other)
    parts: dict[int, list[int]] = {}
    for number in range(len(leaders)):
        parts.setdefault(leader(number), []).append(number)
    return list(parts.values())


def plan_of_part(plan: Plan, part: Problem) -> Plan:
    """The places that the plan has for the buffers of the part."""
    ids = {buffer.id for buffer in part.buffers}
    return replace(plan, placements=tuple(place for place in plan.placements if place.buffer in ids))


def _joined(problem: Problem) -> Iterator[tuple[int, int]]:
    """Pairs of buffers that are in one part, enough of them to connect each part."""
    number_of = {buffer.id: number for number, buffer in enumerate(problem.buffers)}
    by_time = sorted(
        (begin, end, number) for number, buffer in enumerate(problem.buffers) for begin, end in spans(buffer)
    )
    latest = (0, -1)
    for begin, end, number in by_time:
        if latest[1] >= 0 and begin < latest[0]:
            yield number, latest[1]
        if latest[1] < 0 or end > latest[0]:
            latest = (end, number)
    groups: dict[str, list[int]] = {}
    for number, buffer in enumerate(problem.buffers):
        if buffer.group is not None:
            groups.setdefault(buffer.group, []).append(number)
    for members in groups.values():
        yield from pairwise(members)
    for one, other in _pairs(problem):
        yield number_of[one], number_of[other]


def _pairs(problem: Problem) -> Iterator[tuple[str, str]]:
    for pair in (*problem.conflicts, *problem.exclusive):
        yield pair[0], pair[1]
    for relative in problem.relative:
        yield relative.buffer, relative.base
    for share in problem.in_place:
        yield share.input, share.output
    for cost in problem.reuse_costs:
        yield cost.buffers[0], cost.buffers[1]


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
