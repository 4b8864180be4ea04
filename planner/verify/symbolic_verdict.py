"""Judges a plan of a symbolic problem: whether it lays out every value of the symbols, and what it says.

In: a symbolic problem and its plan. Out: a verdict. Formulas are read and counted by the judge's own code;
nothing is shared with `planner.shapes`, which made the plan. Of a plan of a graph the problem is that of its
schedule (`symbolic_graph_verdict`), and `Schedules` says what other orders mean for what it claims.

Capacities, reserved ranges and pins of orders are looked at with the largest sizes first: where these fit,
everything does. Then at single points, to find one that does not fit. Then at every point there is, where
these are few; else nothing is shown. Of fixed offsets, with every buffer at its largest size nothing may
overlap or reach too far. Where something does, a point is looked for at which it really does; sizes that
cannot be so large together at any point do no harm.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, product
from math import prod
from typing import Final, Protocol

from memstow.planner.model import PLANNED, Status
from memstow.planner.model.plan import Cut, Explanation, Placement, Plan, RefutedOrders
from memstow.planner.model.problem import Kind, Pool, Term, measure, parse_term
from memstow.planner.model.symbolic import (
    MOST_POINTS,
    PointPeak,
    SymbolicPlan,
    SymbolicProblem,
    digest_symbolic,
)
from memstow.planner.verify.formula_trees import Space, Values
from memstow.planner.verify.layout import Layout, ProblemIndex, check_places, pool_peaks
from memstow.planner.verify.overlaps import check_overlaps
from memstow.planner.verify.problem_verdict import COUNTED_AGAIN, NO_ORDER, check_explanation
from memstow.planner.verify.refutation import refute_claims
from memstow.planner.verify.symbolic_columns import (
    LaidOffsets,
    LaidOrders,
    ProblemColumns,
    columns_of,
    laid_offsets,
    laid_orders,
)
from memstow.planner.verify.symbolic_orders import Orders, Stack, check_apart, value_of
from memstow.planner.verify.symbolic_sizes import LiveBound, Sizes
from memstow.planner.verify.verdict import (
    COUNTED,
    Claim,
    Claims,
    Code,
    Findings,
    Standing,
    Subject,
    TooMuch,
    Verdict,
    Violation,
)
from memstow.records import record


@record
class Schedules:
    """What is known of the graph of whose schedule a plan is."""

    has_others: bool
    """The graph allows others than that of the plan, of which counting in its problem says nothing."""
    against: Callable[[Sequence[int], int, Cut | RefutedOrders], str | None]
    """With these sizes, why a certificate does not prove such a bound of every order; None where it does.

    Raises TooMuch where that is not looked at."""


@record
class Review:
    """A plan with its problem, and what has been noted of it so far."""

    problem: SymbolicProblem
    plan: SymbolicPlan
    sizes: Sizes
    space: Space
    schedules: Schedules | None
    """None where the plan is not of a graph."""
    findings: Findings
    claims: Claims

    @property
    def other_orders(self) -> bool:
        """Whether the plan is of a graph that allows other orders of its operators."""
        return self.schedules is not None and self.schedules.has_others


MOST_POINTS_LAID_OUT: Final = 4_096
MOST_STEPS: Final = 4_000_000
"""Buffers laid out, over all points and orders."""
UPPER_BOUNDS: Final = "upper bounds of the sizes"
_SHOWN: Final = 5


def _check_everywhere(review: Review, index: ProblemIndex, orders: Orders) -> None:
    """Note what does not hold at some point, or could not be shown to hold at all."""
    sizes, space, findings, claims = review.sizes, review.space, review.findings, review.claims
    bound = _Bound(index, orders, sizes)
    if bound.fits:
        _say_most(index.pools, bound.peaks, bound.how, claims)
        return
    each = len(index.buffers) * len(orders.all)
    room = MOST_STEPS // max(each, 1)
    few = space.count <= min(MOST_POINTS_LAID_OUT, room)
    peaks = [0] * len(index.pools)
    tried = chain(_some(sizes, space, room), space.all() if few else ())
    for values in tried:
        laid = sizes.at(values)
        broken = list(orders.broken(laid))
        if broken:
            for entry in broken[:_SHOWN]:
                text = "at {}: {}"
                findings.add(
                    entry.code, text, space.say(values), entry.message, buffers=entry.buffers, pool=entry.pool
                )
            _refute(claims)
            return
        peaks = [max(pair) for pair in zip(peaks, orders.peaks(laid), strict=True)]
    if few:
        _say_most(index.pools, peaks, "looking at every value", claims)
        return
    for doubt in bound.doubts:
        text = "it could not be shown for every value: with upper bounds of all sizes {}"
        findings.add(Code.NOT_SHOWN, text, doubt.message, buffers=doubt.buffers, pool=doubt.pool)
    _refute(claims)


def _some(sizes: Sizes, space: Space, room: int) -> Iterator[Values]:
    """Points where something may be largest, as many as there is time for."""
    some = dict.fromkeys(chain(space.corners(), space.points, sizes.points_of_largest()))
    yield from list(some)[: max(room, 2)]


class _Bound:
    """The heights with sizes that are never exceeded."""

    def __init__(self, index: ProblemIndex, orders: Orders, sizes: Sizes) -> None:
        largest = sizes.largest()
        laid = [(heights, heights.offsets(largest)) for heights in orders.all]
        doubts = [list(heights.broken(largest, offsets)) for heights, offsets in laid]
        at = sizes.point_of_all()
        self.how = COUNTED if at is not None else UPPER_BOUNDS
        """`COUNTED` where all sizes are that large at one point."""
        self.doubts = next((doubt[:_SHOWN] for doubt in doubts if doubt), [])
        tops = [heights.peaks(largest, offsets) for heights, offsets in laid]
        fitting = [top for top, doubt in zip(tops, doubts, strict=True) if not doubt]
        self.fits = len(fitting) == len(laid)
        self.peaks = [max(pool) for pool in zip(*tops, strict=True)]
        if not self.fits and fitting and _only_the_peak_matters(index, orders):
            # The order that is used has no higher peak than this one.
            self.fits = True
            self.peaks = min(fitting)
        if len(laid) > 1:
            self.how = UPPER_BOUNDS


def _only_the_peak_matters(index: ProblemIndex, orders: Orders) -> bool:
    """Whether an order that needs no more than one that fits does fit: both keep below what is reserved."""
    no_pin = all(pin is None for stack in orders.stacks for pin in stack.pinned)
    return no_pin and len(index.pools) == 1


def _say_most(pools: Sequence[Pool], peaks: Sequence[int], how: str, claims: Claims) -> None:
    """Claim the largest peak of each pool, and how it was found."""
    for pool, peak in zip(pools, peaks, strict=True):
        most = "" if pool.capacity is None else f" of its {pool.capacity:,}"
        says = f"{pool.id!r} needs at most {peak:,}{most} bytes at every value"
        claims.proven(Subject.EVERYWHERE, pool.id, says, how, holds=True)


def _refute(claims: Claims) -> None:
    says = "capacities, reserved ranges and pins hold at every value"
    claims.counted(Subject.EVERYWHERE, None, says, holds=False)


MOST_POINTS_OF_A_PAIR: Final = 65_536
"""Points at which two buffers are looked at together."""
_MOST_LOOKS: Final = 500_000
"""The same, over all pairs."""
_OF_SIZES: Final = frozenset({Code.OVERLAP, Code.IN_PLACE, Code.BEYOND_CAPACITY, Code.RESERVED})


class _Fixed:
    """The offsets of a plan."""

    def __init__(
        self, index: ProblemIndex, placements: tuple[Placement, ...], term: Term, findings: Findings
    ) -> None:
        self.index = index
        self.layout = Layout(index)
        self.layout.read(placements, findings)
        self._term = term

    def value(self, sizes: Sequence[int]) -> int:
        """The objective with these sizes."""
        return value_of(self.index, self._term, self.peaks(sizes))

    def peaks(self, sizes: Sequence[int]) -> list[int]:
        """The peak of each pool with these sizes."""
        return pool_peaks(len(self.index.pools), self.layout.pool, self.layout.offset, sizes)


def _check_fixed(review: Review, fixed: _Fixed) -> None:
    """Note what these offsets break at some value, or may break."""
    trial = Findings()
    check_places(fixed.index, fixed.layout, trial)
    check_overlaps(fixed.index, fixed.layout, trial)
    before = review.findings.total
    doubts = _Doubts(fixed, review.sizes, review.space)
    for violation in trial.violations():
        _note(violation, doubts, review.findings)
    holds = review.findings.total == before
    _claim_fixed(review, fixed.peaks(review.sizes.largest()) if holds else None)


def _claim_fixed(review: Review, peaks: Sequence[int] | None) -> None:
    """Claim of offsets that they hold, with these peaks where all sizes are largest; None: they do not."""
    says = "no two that conflict share a byte, and every buffer is where it may be, at every value"
    by = f"the largest sizes ({review.sizes.say_how()})"
    review.claims.proven(Subject.PLACES, None, says, by, holds=peaks is not None)
    if peaks is not None:
        how = COUNTED if review.sizes.largest_are_reached else UPPER_BOUNDS
        _say_most(review.problem.pools, peaks, how, review.claims)


def _note(violation: Violation, doubts: "_Doubts", findings: Findings) -> None:
    """Note this violation with the largest sizes as what it is: true everywhere, at a point, or perhaps."""
    names, pool = violation.buffers, violation.pool
    if violation.code not in _OF_SIZES:
        findings.add(violation.code, "{}", violation.message, buffers=names, pool=pool)
    elif not names:
        text = "with the largest sizes there are more such places, which were not looked at: {}"
        findings.add(Code.NOT_SHOWN, text, violation.message)
    else:
        settled = doubts.settle(violation)
        if isinstance(settled, tuple):
            text = "at {}, with sizes of {}, this does not hold; with the largest sizes {}"
            said = ", ".join(f"{size:,} for {name!r}" for name, size in zip(names, settled[1], strict=True))
            findings.add(violation.code, text, settled[0], said, violation.message, buffers=names, pool=pool)
        elif not settled:
            text = "it could not be shown for every value: with upper bounds of all sizes {}"
            findings.add(Code.NOT_SHOWN, text, violation.message, buffers=names, pool=pool)


class _Doubts:
    """Looks for points at which something really is wrong."""

    def __init__(self, fixed: _Fixed, sizes: Sizes, space: Space) -> None:
        self._fixed = fixed
        self._sizes = sizes
        self._space = space
        self._looks = _MOST_LOOKS

    def settle(self, violation: Violation) -> tuple[str, list[int]] | bool:
        """A point at which it is true, and the sizes there; else whether it is true at no point."""
        buffers = [self._fixed.index.buffer_index[name] for name in violation.buffers]
        points, complete = self._points_for(buffers)
        for values in points:
            sizes = [self._sizes.size_at(i, values) for i in buffers]
            if self._is_broken(violation.code, buffers, sizes):
                return self._space.say(values), sizes
        return complete

    def _points_for(self, buffers: Sequence[int]) -> tuple[Iterator[Values], bool]:
        """Points to look at, and whether there is nothing else to see at all others."""
        used = self._sizes.symbols_of(buffers)
        axes = self._space.axes
        count = prod(axes[s].count for s in used)
        likely = (self._sizes.point_of_largest(i) for i in buffers)
        some = chain(likely, self._space.corners(), self._space.points)
        if count > min(MOST_POINTS_OF_A_PAIR, self._looks):
            return some, False
        self._looks -= count
        every = product(
            *(
                range(axis.first, axis.last + 1, axis.step) if s in used else (axis.first,)
                for s, axis in enumerate(axes)
            )
        )
        return chain(some, every), True

    def _is_broken(self, code: Code, buffers: Sequence[int], sizes: Sequence[int]) -> bool:
        layout, index = self._fixed.layout, self._fixed.index
        starts = [layout.offset[i] for i in buffers]
        ends = [start + size for start, size in zip(starts, sizes, strict=True)]
        pool = layout.pool[buffers[0]]
        if code is Code.BEYOND_CAPACITY:
            return ends[0] > index.ends[pool]
        if not all(sizes):
            return False
        if code is Code.RESERVED:
            return index.reserved_within(pool, starts[0], ends[0]) is not None
        return max(starts) < min(ends)


_MOST_POINTS_FOR_A_REASON = 72
"""Where the reason is looked for."""
_MOST_SUMS = 4096


def _check_nothing(review: Review, index: ProblemIndex) -> None:
    """Judge the explanation: at the points, at the corners, and with the largest sizes."""
    plan, findings, claims = review.plan, review.findings, review.claims
    explanation = plan.explanation
    if explanation is None:
        if plan.status is Status.INFEASIBLE:
            findings.add(Code.EXPLANATION, "the plan is infeasible and does not say why")
        return
    if explanation.code == NO_ORDER:
        _check_no_order(review, explanation, index)
        return
    where = _shown_at(explanation, review.sizes, review.space)
    if where is None:
        findings.merge(_false_everywhere(explanation, index, review.space))
    if plan.status is not Status.INFEASIBLE:
        return
    says = f"nothing fits at every value ({explanation.code[:64]})"
    if review.other_orders:
        says = f"nothing fits at every value ({explanation.code[:64]}, which is counted for this order alone)"
        where = None
    if where is not None:
        claims.proven(Subject.NOTHING_FITS, None, says, f"counting at {where}", holds=True)
        return
    contradicted = not findings.total and _fits(explanation, index, is_fixed=plan.shapes == "fixed")
    claims.claimed(Subject.NOTHING_FITS, None, says, plan.prover, not (findings.total or contradicted))
    if contradicted:
        text = "the explanation does not show that nothing fits: the judge has found places for all buffers"
        findings.add(Code.EXPLANATION, text)


def _check_no_order(review: Review, explanation: Explanation, index: ProblemIndex) -> None:
    """Judge that in each order of the operators too much is live at one of the points."""
    schedules, findings, claims = review.schedules, review.findings, review.claims
    if schedules is None or len(index.pools) != 1:
        message = "the explanation is about the orders of a graph of one pool, and this is none"
        findings.add(Code.EXPLANATION, message)
        return
    if explanation.needed is None or explanation.needed <= index.ends[0]:
        text = "the explanation needs {} bytes, and the pool has {}"
        findings.add(Code.EXPLANATION, text, explanation.needed or 0, index.ends[0])
    says = f"nothing fits at some value ({NO_ORDER})"
    live = (explanation.needed or 0) - measure(index.reserved[0])
    certificate = explanation.certificate
    reason: str | None = "it names no certificate"
    if certificate is not None and not findings.total:
        try:
            for values in review.space.points:
                reason = schedules.against(review.sizes.at(values), live, certificate)
                if reason is None:
                    where = f"{certificate.kind} at {review.space.say(values)}"
                    claims.proven(Subject.NOTHING_FITS, None, says, where, holds=True)
                    return
            findings.add(Code.EXPLANATION, "the certificate shows it at none of the points: {}", reason)
        except TooMuch:
            pass
    claims.claimed(Subject.NOTHING_FITS, None, says, review.plan.prover, not findings.total)


def _shown_at(explanation: Explanation, sizes: Sizes, space: Space) -> str | None:
    """A point at which these buffers need more than there is."""
    if explanation.code not in COUNTED_AGAIN:
        return None
    every = space.all() if space.count <= _MOST_POINTS_FOR_A_REASON else ()
    points = dict.fromkeys(chain(every, space.points, space.corners(), sizes.points_of_largest()))
    for values in list(points)[:_MOST_POINTS_FOR_A_REASON]:
        claims, _ = _judged(explanation, ProblemIndex(sizes.problem_with(sizes.at(values)), Findings()))
        if claims[0].standing is Standing.CHECKED:
            return space.say(values)
    return None


def _false_everywhere(explanation: Explanation, largest: ProblemIndex, space: Space) -> Findings:
    """What is wrong with it at every value of the symbols, where it is shown at none that was looked at.

    What is so at some value is so of the largest sizes: these conflict at the same moments, need no less and
    have no other pools. Only the pools that several may go to can be fewer, and what these have together.
    """
    _, findings = _judged(explanation, largest)
    if findings.total and explanation.pool is None and space.count > _MOST_POINTS_FOR_A_REASON:
        amounts = replace(explanation, needed=None, capacity=None, reserved=None)
        _, findings = _judged(amounts, largest)
        if not findings.total and not _are_of_some_pools(explanation, largest):
            text = "no pools have as many bytes as the explanation says, or the buffers never need as many"
            findings.add(Code.EXPLANATION, text)
    return findings


def _are_of_some_pools(explanation: Explanation, largest: ProblemIndex) -> bool:
    """Whether any pools have this capacity and as much reserved, and the buffers can need that many bytes.

    Which pools the buffers may go to depends on their sizes, so that any set of pools is possible.
    """
    reserved = [measure(ranges) for ranges in largest.reserved]
    named = [largest.buffers[largest.buffer_index[name]] for name in explanation.buffers]
    coarsest = max(pool.alignment for pool in largest.pools)
    # In a single pool the gaps of alignment count.
    most = sum(buffer.size + max(buffer.alignment, coarsest) for buffer in named) + sum(reserved)
    if explanation.needed is not None and explanation.needed > most:
        return False
    sums = {(0, 0)}
    for pool in zip(largest.ends, reserved, strict=True):
        sums |= {(one[0] + pool[0], one[1] + pool[1]) for one in sums}
        if len(sums) > _MOST_SUMS:
            return True
    return any(
        explanation.capacity in (None, capacity) and explanation.reserved in (None, held)
        for capacity, held in sums
    )


def _fits(explanation: Explanation, largest: ProblemIndex, is_fixed: bool) -> bool:
    """Whether a layout of the judge's own holds all buffers at their largest: then it does at every value."""
    if not is_fixed and any(largest.reserved):
        # An order keeps free what is at the bottom alone, also of buffers of no bytes.
        return False
    everything = Explanation(code=explanation.code, message=explanation.message)
    plan = Plan(status=Status.INFEASIBLE, explanation=everything)
    claims, findings = Claims(plan), Findings()
    claims.claimed(Subject.NOTHING_FITS, None, "", None, holds=True)
    refute_claims(largest, plan, None, claims, findings)
    return findings.total > 0


def _judged(explanation: Explanation, index: ProblemIndex) -> tuple[tuple[Claim, ...], Findings]:
    plan = Plan(status=Status.INFEASIBLE, explanation=explanation)
    claims, findings = Claims(plan), Findings()
    check_explanation(index, plan, findings, claims)
    return claims.settled(), findings


LIVE_BYTES: Final = "live bytes"


class _Laid(Protocol):
    """A plan that has an objective for any sizes."""

    def value(self, sizes: Sequence[int]) -> int: ...


def _is_bare(plan: SymbolicPlan) -> bool:
    """Whether the plan says where things are and nothing else: it claims nothing."""
    return plan.status is Status.FEASIBLE and not plan.points and plan.worst is None and plan.bound is None


def _check_points(review: Review, peak_and_least: Callable[[Sequence[int]], tuple[int, int]]) -> None:
    """Compare all that is said of the points with what the judge counts there.

    `peak_and_least`: with these sizes, the objective of the plan, and what any layout needs.
    """
    space, findings, claims = review.space, review.findings, review.claims
    before = findings.total
    counted: list[tuple[PointPeak, int]] = []
    for point, values in _read(review.plan, space, findings):
        where, sizes = space.say(values), review.sizes.at(values)
        peak, bound = peak_and_least(sizes)
        claims.counted(Subject.PEAK_AT, where, f"the peak at {where} is {point.peak:,}", point.peak == peak)
        if point.peak != peak:
            findings.add(Code.PEAK, "the peak at {} is {}, not {}", where, peak, point.peak)
        by = LIVE_BYTES
        if point.bound is not None:
            shown = _shown_of_orders(review, point, point.bound, peak, sizes, where)
            if point.certificate is not None and shown > bound:
                bound, by = shown, point.certificate.kind
        _check_least(review, point, peak, bound, by, where)
        counted.append((point, bound))
    if findings.total == before:
        _check_worst(review, counted)


def _read(plan: SymbolicPlan, space: Space, findings: Findings) -> list[tuple[PointPeak, Values]]:
    """The points of the plan, which must be those of the problem."""
    expected = dict.fromkeys(space.points)
    point_at: dict[Values, PointPeak] = {}
    for point in plan.points[:MOST_POINTS]:
        values = space.read(point.at)
        if isinstance(values, str):
            findings.add(Code.POINT, "a point {}", values)
        elif values in point_at:
            findings.add(Code.POINT, "{} is there twice", space.say(values))
        elif expected and values not in expected:
            findings.add(Code.POINT, "{} is not among the points of the problem", space.say(values))
        else:
            point_at[values] = point
    if len(plan.points) > MOST_POINTS:
        findings.add(Code.POINT, "there are {} points: more than {}", len(plan.points), MOST_POINTS)
    for values in expected:
        if values not in point_at:
            findings.add(Code.POINT, "the plan does not say what it needs at {}", space.say(values))
    return [(point, values) for values, point in point_at.items()]


def _check_least(review: Review, point: PointPeak, peak: int, bound: int, by: str, where: str) -> None:
    """Judge the least peak at a point; `bound`: what is proven of it, `by` what."""
    holds = point.least <= peak
    if not holds:
        text = "the least peak at {} cannot be {}: the plan needs {}"
        review.findings.add(Code.LEAST, text, where, point.least, peak)
    says = f"no layout made for {where} alone{_in_order(review)} has a peak below {point.least:,}"
    if point.least <= bound:
        review.claims.proven(Subject.LEAST_AT, where, says, by, holds)
    else:
        review.claims.claimed(Subject.LEAST_AT, where, says, review.plan.prover, holds)


def _in_order(review: Review) -> str:
    return ", in this order of the operators," if review.other_orders else ""


def _shown_of_orders(
    review: Review, point: PointPeak, bound: int, peak: int, sizes: Sequence[int], where: str
) -> int:
    """Judge what is said of every order of the operators; what its certificate shows, if it has one."""
    schedules, findings, claims = review.schedules, review.findings, review.claims
    holds = bound <= peak
    if not holds:
        text = "the bound of all orders at {} cannot be {}: the plan needs {}"
        findings.add(Code.BOUND, text, where, bound, peak)
    says = f"no layout made for {where} alone has a peak below {bound:,}, in any order of the operators"
    if point.certificate is not None and schedules is not None:
        try:
            reason = schedules.against(sizes, bound, point.certificate)
        except TooMuch:
            pass
        else:
            if reason is not None:
                text = "the certificate does not show the bound {} of all orders at {}: {}"
                findings.add(Code.CERTIFICATE, text, bound, where, reason)
            shows = holds and reason is None
            claims.proven(Subject.BOUND, where, says, point.certificate.kind, shows)
            return bound if shows else 0
    claims.claimed(Subject.BOUND, where, says, review.plan.prover, holds)
    return 0


def _check_worst(review: Review, counted: Sequence[tuple[PointPeak, int]]) -> None:
    """`counted`: each point with what the judge can prove of its least peak. All peaks are right."""
    plan, findings, claims = review.plan, review.findings, review.claims
    if plan.worst is None and plan.bound is not None:
        findings.add(Code.BOUND, "there is a bound of the largest ratio, and no largest ratio")
    worst = _largest_ratio([(point.peak, point.least) for point, _ in counted])
    holds = plan.worst == worst
    if not holds:
        if worst is None:
            text = "there is no largest ratio: the plan needs something where the least peak is 0"
            findings.add(Code.WORST, text if counted else "a largest ratio is said, and no points")
        else:
            text = "the largest ratio of a peak to the least is {}, not {}"
            findings.add(Code.WORST, text, worst, "unsaid" if plan.worst is None else plan.worst)
    if plan.worst is not None:
        says = f"no peak is above {plan.worst} times the least at its point"
        claims.counted(Subject.WORST, None, says, holds)
    if plan.bound is not None and worst is not None and holds:
        _check_bound(review, plan.bound, worst, counted)
    if plan.status is Status.OPTIMAL and review.other_orders:
        if any(point.bound is None or point.bound < point.peak for point, _ in counted):
            text = (
                "the status is optimal, and in another order of the operators less may be needed at a point"
            )
            findings.add(Code.STATUS, text)
    elif plan.status is Status.OPTIMAL and (plan.worst is None or plan.worst != plan.bound):
        text = "the status is optimal, and the bound of the largest ratio is not the ratio"
        findings.add(Code.STATUS, text)


def _largest_ratio(pairs: Sequence[tuple[int, int]]) -> float | None:
    """None where a ratio has no value. Division of whole numbers is rounded once, so it keeps their order."""
    if not pairs or any(least == 0 < peak for peak, least in pairs):
        return None
    return max(peak / least if least else 1.0 for peak, least in pairs)


def _check_bound(
    review: Review, bound: float, worst: float, counted: Sequence[tuple[PointPeak, int]]
) -> None:
    holds = bound <= worst
    if not holds:
        text = "the bound {} of the largest ratio is above the ratio {}"
        review.findings.add(Code.BOUND, text, bound, worst)
    says = f"no plan of this kind{_in_order(review)} has a largest ratio below {bound} to these least peaks"
    # What is proven of the least peak at any point is proven of each plan there.
    if bound <= max(live / point.least if point.least else 1.0 for point, live in counted):
        review.claims.proven(Subject.BOUND, Subject.WORST.value, says, LIVE_BYTES, holds)
    else:
        review.claims.claimed(Subject.BOUND, Subject.WORST.value, says, review.plan.prover, holds)


_APART: Final = "of every two buffers that conflict one is above the other, at every value"


def judge_symbolic(problem: SymbolicProblem, plan: SymbolicPlan) -> Verdict:
    """The verdict on a plan of a symbolic problem."""
    findings, claims = Findings(), Claims(plan)
    judge_everywhere(problem, plan, None, findings, claims)
    return Verdict(tuple(findings.violations()), claims.settled())


class LaidColumns(Protocol):
    """Offsets that hold with all sizes at their largest, so at every value."""

    @property
    def peaks(self) -> Sequence[int]:
        """By pool, with all sizes at their largest."""
        ...

    def peak_and_least(self, sizes: Sequence[int]) -> tuple[int, int]:
        """The objective with smaller sizes, and the least of any layout with these."""
        ...


def judge_offsets(
    frame: SymbolicProblem, plan: SymbolicPlan, lay: Callable[[Sequence[int]], LaidColumns | None]
) -> Verdict | None:
    """The verdict on offsets in columns; None where something is wrong with them.

    `frame` has a buffer for each size that is a formula, and `plan` no placements; `lay` judges those of the
    plan with sizes of these buffers that are never exceeded.
    """
    findings, claims = Findings(), Claims(plan)
    review = _review(frame, plan, None, findings, claims)
    laid = None if review is None else lay(review.sizes.largest())
    if review is None or laid is None:
        return None
    _claim_fixed(review, laid.peaks)
    if not _is_bare(plan):
        _check_points(review, laid.peak_and_least)
    return Verdict(tuple(findings.violations()), claims.settled())


def _review(
    problem: SymbolicProblem,
    plan: SymbolicPlan,
    schedules: Schedules | None,
    findings: Findings,
    claims: Claims,
) -> Review | None:
    """The plan with what is counted of sizes; None where something is wrong with these."""
    space = Space(problem, findings)
    sizes = Sizes(problem, space, findings) if not findings.total else None
    if sizes is None or findings.total:
        return None
    says = "every size is from 0 to 2^62 at every value of the symbols"
    claims.proven(Subject.SIZES, None, says, "intervals", holds=True)
    return Review(problem, plan, sizes, space, schedules, findings, claims)


def judge_everywhere(
    problem: SymbolicProblem,
    plan: SymbolicPlan,
    schedules: Schedules | None,
    findings: Findings,
    claims: Claims,
) -> None:
    """Note what is wrong with a plan, and its claims; `schedules`: of its graph, if it is of one."""
    review = _review(problem, plan, schedules, findings, claims)
    if review is None:
        return
    sizes, columns = review.sizes, columns_of(problem)
    laid: LaidOffsets | LaidOrders | None = None
    if columns is not None and plan.status in PLANNED:
        if plan.shapes == "fixed":
            laid = laid_offsets(columns, plan.placements, sizes.largest())
        else:
            laid = laid_orders(columns, plan.orders, sizes.largest())
    if laid is None:
        _judge_all(review, columns)
    elif _is_whole(review):
        # What holds is judged without objects for each buffer.
        if isinstance(laid, LaidOffsets):
            _claim_fixed(review, laid.peaks)
        else:
            claims.counted(Subject.PLACES, None, _APART, True)
            known = len(plan.orders) == 1 and sizes.point_of_all() is not None
            _say_most(problem.pools, laid.peaks, COUNTED if known else UPPER_BOUNDS, claims)
        if not _is_bare(plan):
            _check_points(review, laid.peak_and_least)


def _judge_all(review: Review, columns: ProblemColumns | None) -> None:
    """Judge with an ordinary problem, whose sizes are the largest."""
    problem, plan, sizes, findings = review.problem, review.plan, review.sizes, review.findings
    index = ProblemIndex(sizes.problem_with(sizes.largest()), findings)
    term = parse_term(problem.objective[0])
    if term is None or term.kind not in (Kind.PEAK, Kind.MAX_PEAK, Kind.POOL_PEAK):
        text = "the problem is not valid: {!r} is no objective of a symbolic problem"
        findings.add(Code.INVALID_PROBLEM, text, problem.objective[0])
    if findings.total or term is None or not _is_whole(review):
        return
    if plan.status not in PLANNED:
        _check_nothing(review, index)
        return
    laid = (_laid_fixed if plan.shapes == "fixed" else _laid_in_orders)(review, index, term)
    if laid is not None and not _is_bare(plan):
        value, least = laid.value, (LiveBound(index, term) if columns is None else columns).at
        _check_points(review, lambda at: (value(at), least(at)))


def _is_whole(review: Review) -> bool:
    """Whether the plan is one of this problem, with the parts of its kind."""
    problem, plan, findings = review.problem, review.plan, review.findings
    if plan.digest is not None and plan.digest != digest_symbolic(problem):
        text = "the plan is for another problem: its digest is {}"
        if review.schedules is not None:
            text = (
                "the plan is for another graph, or for another order of the operators than its schedule "
                "says: its digest is {}; plan the graph again"
            )
        findings.add(Code.DIGEST, text, plan.digest[:64])
    _check_parts(plan, bool(problem.buffers), findings)
    if plan.status in PLANNED and plan.explanation is not None and not findings.total:
        findings.add(Code.EXPLANATION, "the status is {}, and there is an explanation", plan.status.value)
    return not findings.total


def _check_parts(plan: SymbolicPlan, has_buffers: bool, findings: Findings) -> None:
    """A plan has the parts of its kind; what is no plan has none."""
    if plan.status not in PLANNED:
        if plan.placements or plan.orders or plan.points or plan.worst is not None or plan.bound is not None:
            text = "the status is {}: it has no placements, orders, points or ratios"
            findings.add(Code.STATUS, text, plan.status.value)
    elif plan.shapes == "fixed":
        if plan.orders:
            findings.add(Code.SHAPES, "a plan of fixed offsets has no orders")
        if has_buffers and not plan.placements:
            findings.add(Code.STATUS, "the status is {} but no buffer has a place", plan.status.value)
    elif plan.placements:
        findings.add(Code.SHAPES, "a plan of orders has no offsets")
    elif not plan.orders or (plan.shapes == "order" and len(plan.orders) > 1):
        wanted = "one order" if plan.shapes == "order" else "some orders"
        findings.add(Code.SHAPES, "it must have {}, and has {}", wanted, len(plan.orders))


def _laid_fixed(review: Review, index: ProblemIndex, term: Term) -> _Laid | None:
    fixed = _Fixed(index, review.plan.placements, term, review.findings)
    if review.findings.total:
        return None
    _check_fixed(review, fixed)
    return fixed


def _laid_in_orders(review: Review, index: ProblemIndex, term: Term) -> _Laid | None:
    findings = review.findings
    stacks = [Stack(index, order, findings) for order in review.plan.orders]
    if not all(stack.sound for stack in stacks):
        return None
    before, largest = findings.total, review.sizes.largest()
    for stack in stacks:
        check_apart(stack, largest, findings)
    review.claims.counted(Subject.PLACES, None, _APART, findings.total == before)
    orders = Orders(index, stacks, term)
    _check_everywhere(review, index, orders)
    return orders
