"""A plan from places and bounds that several runs have found: made and judged like that of one run."""

from memstow.planner.model import PLANNED
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Explanation, Placement, Plan, TermValue
from memstow.planner.model.problem import Problem, terms_of
from memstow.planner.model.records import record
from memstow.planner.reduce import reduce
from memstow.planner.solve.answer import Answers
from memstow.planner.solve.bounds import Bounds
from memstow.planner.solve.run_state import RunState, task_of
from memstow.planner.solve.term_bounds import Stamp, TermBound
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
        raise AssertionError("places were found for buffers that have none")
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
