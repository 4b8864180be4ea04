"""A problem with symbols as the service plans it: better plans are told on the way."""

import threading
import time
from typing import TYPE_CHECKING, Final

from memstow.api.operations.encoding import options_from_text, shapes_in, symbolic_from
from memstow.api.operations.envelope import LONGEST_NAME
from memstow.api.operations.request_types import SolveResult, SolveSymbolicRequest
from memstow.planner.formats.native import read_symbolic_plan, write_symbolic_plan
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Options
from memstow.planner.model.printable import printable
from memstow.planner.model.symbolic import PointPeak, SymbolicDocument, SymbolicPlan
from memstow.planner.shapes.plan_symbolic import plan_symbolic
from memstow.planner.shapes.point_plans import better
from memstow.planner.verify import judge
from memstow.records import replace

if TYPE_CHECKING:
    from memstow.api.operations.solve import OnUpdate

# Of a long search: this long for a first plan, which is at most one in so many of its seconds.
_FIRST_SECONDS: Final = 1.0
_FIRST_PART: Final = 15.0
_PROVEN: Final = (Status.OPTIMAL, Status.INFEASIBLE)


def solve_symbolic(
    request: SolveSymbolicRequest, on_update: "OnUpdate", cancel: threading.Event
) -> SolveResult:
    """Plan with the whole time limit; never worse than the plan of an earlier attempt at the same job."""
    problem = symbolic_from(request.problem)
    options = options_from_text(request.options, None)
    shapes = shapes_in(request.options)
    # A deterministic run must not depend on how far an earlier one came.
    best = None if options.deterministic else _known(problem, request.known_plan)
    if best is not None and best.status in _PROVEN:
        return result_of(best)

    def on_better(plan: SymbolicPlan) -> None:
        nonlocal best
        if plan.status in PLANNED and (best is None or better(problem, plan, best)):
            best = plan
            on_update(result_of(plan))

    def planned(options: Options) -> SymbolicPlan:
        return plan_symbolic(
            problem,
            options,
            shapes=shapes.shapes,
            pieces=shapes.pieces,
            on_event=on_update,
            on_better=on_better,
            cancel=cancel,
        )

    begin = time.monotonic()
    first = None
    if best is None and not options.deterministic and options.time_limit > _FIRST_SECONDS * _FIRST_PART:
        # A long search looks at the points for long before it has a plan: one that can be used comes first.
        first = planned(replace(options, time_limit=_FIRST_SECONDS))
        if first.status in _PROVEN or cancel.is_set():
            return result_of(first)
        on_better(first)
        options = replace(options, time_limit=options.time_limit - (time.monotonic() - begin))
    plan = planned(options)
    if best is not None and better(problem, best, plan):
        plan = best
    if first is not None:
        plan = replace(plan, seconds=round(time.monotonic() - begin, 6))
    return result_of(plan)


def result_of(plan: SymbolicPlan) -> SolveResult:
    """A plan as its bytes, with the figures that the job table has of it: of its first point."""
    first = plan.points[0] if plan.points else None
    return SolveResult(
        plan=write_symbolic_plan(plan),
        status=plan.status.value,
        value=None if first is None else first.peak,
        bound=None if first is None else _bound(plan, first),
        peak=None,
        solver=None if plan.solver is None else printable(plan.solver, LONGEST_NAME),
    )


def _bound(plan: SymbolicPlan, point: PointPeak) -> int | None:
    """What no plan is below: where operators may run in another order, what holds for all."""
    return point.least if plan.status is Status.OPTIMAL else point.bound or point.least


def result_in(body: bytes) -> SolveResult:
    """The same of a plan from the store."""
    return result_of(read_symbolic_plan(body))


def _known(document: SymbolicDocument, body: bytes | None) -> SymbolicPlan | None:
    """The plan of an earlier attempt, if the judge accepts it."""
    if body is None:
        return None
    try:
        plan = read_symbolic_plan(body)
    except InputError:
        return None
    return None if judge(document, plan).violations else plan
