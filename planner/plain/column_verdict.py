"""The verdict on a plan in columns, where everything in it is as it should be."""

from array import array
from typing import Final

from memstow.planner.judge._judge import Defect, judge_plan, proven
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import LiveBytes, Plan, PoolUse, TermValue, gap_of
from memstow.planner.model.problem import LIMIT
from memstow.planner.plain import _columns
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.column_documents import PlainPlan, digest, end_of, ints_of, looks_like_json
from memstow.planner.reading.json_text import parse_json
from memstow.planner.reading.parse import parse_plan
from memstow.planner.verify.verdict import Claims, Subject, Verdict, live_in_words, use_in_words

_PLACED: Final = "every buffer has a place, and no two that conflict share a byte"
# What is left of a plan without values when its placements are taken away.
_BARE: Final = Plan(status=Status.FEASIBLE)


def read_plan(columns: Columns, data: bytes) -> PlainPlan | None:
    """The plan in native JSON or CSV; None where the ordinary reader should read it."""
    is_json = looks_like_json(data)
    read = _columns.read_plan(columns, data, is_json)
    if read is None:
        return None
    if not is_json:
        return PlainPlan(_BARE, _array(read.offsets), _array(read.members))
    try:
        raw = parse_json(read.frame)
        # Only the native format has a status.
        frame = parse_plan(raw) if isinstance(raw, dict) and "status" in raw else None
    except InputError:
        return None
    return None if frame is None else PlainPlan(frame, _array(read.offsets), _array(read.members))


def _array(raw: bytes) -> "array[int]":
    values = array("q")
    values.frombytes(raw)
    return values


def verdict_on(columns: Columns, plan: PlainPlan) -> Verdict | None:
    """The verdict on a plan of which every claim holds; None where one may not."""
    frame = plan.frame
    if columns.fit_only:
        return None
    if frame == _BARE:
        return _verdict_on_places(columns, plan)
    if frame.status not in PLANNED or frame.explanation or frame.closest or frame.schedule is not None:
        return None
    if len(frame.pools) != 1 or len(frame.objective) != 1:
        return None
    use, term = frame.pools[0], frame.objective[0]
    if not _consistent(columns, frame, use, term) or not _counted(columns, plan, use, term):
        return None
    if frame.digest is not None and frame.digest != digest(columns):
        return None
    return Verdict((), _claims(frame, use, term).settled())


def peak_of(columns: Columns, plan: PlainPlan) -> int:
    """The end of the last buffer of a plan that is right."""
    return judge_plan(*ints_of(columns), plan.offsets, end_of(columns))[1]


def _verdict_on_places(columns: Columns, plan: PlainPlan) -> Verdict | None:
    """The verdict on a plan that says nothing but where buffers are."""
    (defect, _, _), *_ = judge_plan(*ints_of(columns), plan.offsets, end_of(columns))
    if defect is not Defect.NONE:
        return None
    claims = Claims(plan.frame)
    claims.counted(Subject.PLACES, None, _PLACED, holds=True)
    return Verdict((), claims.settled())


def _consistent(columns: Columns, frame: Plan, use: PoolUse, term: TermValue) -> bool:
    """Whether the figures of the plan agree with each other and with the memory."""
    return (
        (use.pool, use.capacity, use.certificate) == (columns.pool, columns.capacity, None)
        and (term.term, term.value) == ("peak", use.peak)
        and use.bound <= term.bound <= term.value
        and term.gap == gap_of(term.value, term.bound)
        and (frame.status is Status.OPTIMAL) == (term.value == term.bound)
    )


def _counted(columns: Columns, plan: PlainPlan, use: PoolUse, term: TermValue) -> bool:
    """Whether the native judge counts the same, and finds the bound proven."""
    certificate = term.certificate
    if not isinstance(certificate, LiveBytes) or certificate.buffers or certificate.pool != columns.pool:
        return False
    if certificate.time is None or abs(certificate.time) > LIMIT:
        return False
    (defect, _, _), peak, live, moment = judge_plan(*ints_of(columns), plan.offsets, end_of(columns))
    if defect is not Defect.NONE or (peak, live, moment) != (use.peak, use.live.bytes, use.live.time):
        return False
    least = proven(*ints_of(columns), plan.members, certificate.time)
    return least is not None and least >= term.bound


def _claims(frame: Plan, use: PoolUse, term: TermValue) -> Claims:
    """The claims of the plan, in the words and in the order of the ordinary judge."""
    claims = Claims(frame)
    claims.counted(Subject.PLACES, None, _PLACED, holds=True)
    says = use_in_words(use.pool, use.capacity, use.peak)
    claims.counted(Subject.POOL, use.pool, says, holds=True)
    if use.bound:
        says = f"no plan has a peak below {use.bound:,} in {use.pool!r}"
        claims.resting(Subject.POOL_BOUND, use.pool, says, (Subject.BOUND, term.term))
    claims.counted(Subject.LIVE, use.pool, live_in_words(use.pool, use.live), holds=True)
    claims.counted(Subject.VALUE, term.term, f"{term.term} is {term.value:,}", holds=True)
    if term.bound:
        says = f"no plan has {term.term} below {term.bound:,}"
        claims.proven(Subject.BOUND, term.term, says, "live_bytes", holds=True)
    return claims
