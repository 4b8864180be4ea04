"""The plan of a plain problem from its offsets, once the native judge has accepted them."""

from array import array
from typing import Final

import memstow
from memstow.planner.judge._judge import Defect, judge_plan, proven
from memstow.planner.model import Status
from memstow.planner.model.errors import RefusedPlanError
from memstow.planner.model.model_class import maker_of
from memstow.planner.model.plan import Live, LiveBytes, Plan, PoolUse
from memstow.planner.model.problem import LIMIT, PEAK
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.digest import digest
from memstow.planner.plain.plan import PlainPlan
from memstow.planner.solve.term_bounds import Stamp, TermBound, term_value

_use: Final = maker_of(PoolUse, "pool", "capacity", "peak", "bound", "live", "certificate")
_live: Final = maker_of(Live, "bytes", "time")
_frame: Final = maker_of(
    Plan, "status", "pools", "objective", "solver", "prover", "work", "digest", "version", "seconds"
)


def judged_plan(
    columns: Columns,
    offsets: "array[int]",
    members: "array[int]",
    peak: int,
    bound: TermBound,
    solver: str,
    prover: str | None,
    stamp: Stamp,
    name: str | None = None,
) -> PlainPlan:
    """The plan with these offsets and this peak; RefusedPlanError if the judge finds a violation.

    `members` are the buffers that the certificate of the bound should name; `name` is the digest of the
    problem, where it is known.
    """
    live = judged(columns, offsets, peak, bound, members)
    # Where nothing is minimised the bound is that of the pool, and a plan is as good as any other.
    value = None if columns.fit_only else term_value(PEAK, peak, bound)
    certificate = bound.certificate if value is None else None
    use = _use(columns.pool, columns.capacity, peak, bound.value, live, certificate)
    status = Status.OPTIMAL if value is None or value.value == value.bound else Status.FEASIBLE
    frame = _frame(
        status,
        (use,),
        () if value is None else (value,),
        solver,
        None if value is None else prover,
        stamp.work,
        digest(columns) if name is None else name,
        memstow.__version__,
        stamp.seconds,
    )
    return PlainPlan(frame, offsets, members)


def four(columns: Columns) -> tuple[memoryview, memoryview, memoryview, memoryview]:
    """Sizes, begins, ends and alignments."""
    return columns.sizes, columns.begins, columns.ends, columns.alignments


def judged(
    columns: Columns, offsets: "array[int]", peak: int, bound: TermBound, members: "array[int]"
) -> Live:
    """The most live bytes, as the native judge has counted them; RefusedPlanError where anything is wrong."""
    columns_of_ints = four(columns)
    capacity = LIMIT if columns.capacity is None else columns.capacity
    (defect, first, second), counted, live, moment = judge_plan(*columns_of_ints, offsets, capacity)
    certificate, refused = bound.certificate, None
    if defect is not Defect.NONE:
        names = [repr(columns.name(buffer)) for buffer in (first, second) if buffer >= 0]
        refused = f"{defect.name.lower()} of {' and '.join(names)}"
    elif counted != peak:
        refused = f"the peak is {counted}, not {peak}"
    elif bound.value > peak:
        refused = f"the bound {bound.value} is above the peak {peak}"
    elif isinstance(certificate, LiveBytes) and certificate.time is not None:
        found = proven(*columns_of_ints, members, certificate.time)
        if found is None or found < bound.value:
            refused = f"the certificate does not prove {bound.value}"
    if refused is not None:
        raise RefusedPlanError(f"the plan was refused; please report it: {refused}")
    return _live(live, moment)
