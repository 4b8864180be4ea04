"""Fixed offsets of a problem with symbols in columns: the same run as of objects, without objects."""

import threading
from array import array
from collections.abc import Mapping
from typing import Final

from memstow.planner.formulas.sizes import sizes_at, with_largest_sizes
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.symbolic import Point, SymbolicPlan, points_of
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.column_documents import PlainPlan, problem_of, terms_of
from memstow.planner.plain.symbolic_documents import (
    Offsets,
    SymbolicColumns,
    digest,
    symbolic_plan_of,
    symbolic_problem_of,
)
from memstow.planner.plain.symbolic_verdict import verdict_on_offsets
from memstow.planner.shapes.point_plans import LiveBytes, plans_at_points, scale_of, without_capacities
from memstow.planner.shapes.symbolic_run import (
    MOST_RESERVED,
    WHOLE,
    PlanRequest,
    accepted,
    no_offsets,
    plan_problem,
    stamped,
    with_values,
)
from memstow.planner.solve.column_plans import plan_columns
from memstow.planner.solve.engine import plan as plan_objects
from memstow.planner.solve.portfolio import Allowance
from memstow.records import collector_at_rest, replace
from memstow.solvers.shapes import LiveEvents

# By buffer, what comes after the search: the peaks, the digest and the judge.
_SECONDS_AFTER: Final = 2.5e-6
# Where some may share bytes.
_SECONDS_OF_SHARING: Final = 2.5e-6


def plan_offsets(
    symbolic: SymbolicColumns, options: Options, cancel: threading.Event | None = None
) -> Offsets | SymbolicPlan:
    """The plan of fixed offsets, which was accepted; where there is none, the answer of the objects."""
    columns, frame = symbolic.columns, symbolic.frame
    allowance = Allowance(replace(options, time_limit=options.time_limit - _reserved(columns, options)))
    with collector_at_rest():
        points = plans_at_points(_ColumnsAtPoints(symbolic), allowance, cancel)
    scale = scale_of(points, frame.aim)
    solved = plan_columns(symbolic.put_largest(), allowance.share(WHOLE), None, cancel, judges=False)
    if isinstance(solved, Plan) and solved.status in PLANNED:
        # What arrays cannot add up is planned again: so few problems are like that.
        left = max(allowance.seconds_left, 0.0)
        problem, again = symbolic_problem_of(symbolic), replace(options, time_limit=left)
        return plan_problem(problem, again, PlanRequest("fixed", cancel=cancel))
    if isinstance(solved, Plan):
        allowance.spend(solved.work)
        if solved.status is Status.UNKNOWN and solved.explanation is None:
            # There is nothing to judge.
            nothing = SymbolicPlan(status=Status.UNKNOWN, shapes="fixed")
            return stamped(nothing, allowance, digest(symbolic))
        problem = symbolic_problem_of(symbolic)
        draft = no_offsets(problem, with_largest_sizes(problem), solved, points)
        return accepted(problem, stamped(draft, allowance, digest(symbolic)))
    allowance.spend(solved.frame.work)
    with collector_at_rest():
        peaks = [
            sum(symbolic.put(sizes_at(frame, point.at)).peaks(solved.offsets, solved.homes))
            for point in points
        ]
        draft = SymbolicPlan(status=Status.FEASIBLE, shapes="fixed", solver=solved.frame.solver)
        plan = with_values(draft, points, scale, peaks, proven=False)
        offsets = Offsets(stamped(plan, allowance, digest(symbolic)), solved.offsets, solved.homes)
        _accept(symbolic, offsets)
    return offsets


def _accept(symbolic: SymbolicColumns, plan: Offsets) -> None:
    """Raise RefusedPlanError unless the judge accepts the plan."""
    verdict = verdict_on_offsets(symbolic, plan)
    if verdict is None or verdict.violations:
        # The judge of objects has the words for what is wrong, and the last one.
        accepted(symbolic_problem_of(symbolic), symbolic_plan_of(symbolic, plan))


def _reserved(columns: Columns, options: Options) -> float:
    """Seconds for what comes after the search."""
    shared = len(columns.exclusive) + len(columns.in_place) + len(columns.ties)
    each = _SECONDS_AFTER + (_SECONDS_OF_SHARING if shared else 0.0)
    return min(each * len(columns), MOST_RESERVED * options.time_limit)


class _ColumnsAtPoints:
    """See `AtPoints`."""

    def __init__(self, symbolic: SymbolicColumns) -> None:
        self._symbolic = symbolic

    @property
    def count(self) -> int:
        """How many buffers there are."""
        return len(self._symbolic.columns)

    def points(self) -> tuple[Point, ...]:
        """Where a plan must be good."""
        return points_of(self._symbolic.frame)

    def live_bytes(self) -> LiveBytes:
        """What bounds the objective at any point."""
        columns = self._symbolic.columns
        begins: array[int] | memoryview = columns.begins
        ends: array[int] | memoryview = columns.ends
        loose = {*columns.exclusive, *columns.in_place, *columns.ties[::3], *columns.ties[1::3]}
        indices = array("q", range(len(columns)))
        if loose:
            indices = array("q", (index for index in indices if index not in loose))
            begins, ends = (array("q", map(times.__getitem__, indices)) for times in (begins, ends))
        events = LiveEvents(indices, begins, ends)
        return LiveBytes(events, terms_of(columns)[0], len(self._symbolic.frame.pools))

    def sizes_at(self, at: Mapping[str, int]) -> memoryview:
        """By buffer."""
        return self._at(at).sizes

    def plan_at(self, at: Mapping[str, int], options: Options, cancel: threading.Event | None) -> Plan:
        """The plan of the ordinary problem there."""
        columns = self._at(at)
        if not any(columns.sizes):
            return plan_objects(problem_of(columns), options, cancel=cancel)
        solved = plan_columns(columns, options, None, cancel)
        return solved.frame if isinstance(solved, PlainPlan) else solved

    def loose_plan_at(self, at: Mapping[str, int], options: Options, cancel: threading.Event | None) -> Plan:
        """The same with pools that are as large as needed."""
        return plan_objects(without_capacities(problem_of(self._at(at))), options, cancel=cancel)

    def _at(self, at: Mapping[str, int]) -> Columns:
        return self._symbolic.put(sizes_at(self._symbolic.frame, at))
