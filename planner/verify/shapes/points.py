"""What a plan says of the points: peaks, least peaks, and the largest ratio of the two."""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from memstow.planner.model.plan import Status
from memstow.planner.model.symbolic import MOST_POINTS, PointPeak, SymbolicPlan
from memstow.planner.verify.findings import Code, Findings
from memstow.planner.verify.shapes.sizes import Sizes
from memstow.planner.verify.shapes.space import Space, Values
from memstow.planner.verify.verdict import Claims, Subject

LIVE_BYTES: Final = "live bytes"


class Laid(Protocol):
    """A plan that has an objective for any sizes."""

    def value(self, sizes: Sequence[int]) -> int: ...


def is_bare(plan: SymbolicPlan) -> bool:
    """Whether the plan says where things are and nothing else: it claims nothing."""
    return plan.status is Status.FEASIBLE and not plan.points and plan.worst is None and plan.bound is None


def check_points(
    plan: SymbolicPlan,
    peak_and_least: Callable[[Sequence[int]], tuple[int, int]],
    sizes: Sizes,
    space: Space,
    findings: Findings,
    claims: Claims,
) -> None:
    """Compare all that is said of the points with what the judge counts there.

    `peak_and_least`: with these sizes, the objective of the plan, and what any layout needs.
    """
    before = findings.total
    points = _read(plan, space, findings)
    counted: list[tuple[PointPeak, int]] = []
    for point, values in points:
        where = space.say(values)
        peak, bound = peak_and_least(sizes.at(values))
        claims.counted(Subject.PEAK_AT, where, f"the peak at {where} is {point.peak:,}", point.peak == peak)
        if point.peak != peak:
            findings.add(Code.PEAK, "the peak at {} is {}, not {}", where, peak, point.peak)
        _check_least(plan, point, peak, bound, where, findings, claims)
        counted.append((point, bound))
    if findings.total == before:
        _check_worst(plan, counted, findings, claims)


def _read(plan: SymbolicPlan, space: Space, findings: Findings) -> list[tuple[PointPeak, Values]]:
    """The points of the plan, which must be those of the problem."""
    expected = dict.fromkeys(space.points)
    found: dict[Values, PointPeak] = {}
    for point in plan.points[: MOST_POINTS + 1]:
        values = space.read(point.at)
        if isinstance(values, str):
            findings.add(Code.POINT, "a point {}", values)
        elif values in found:
            findings.add(Code.POINT, "{} is there twice", space.say(values))
        elif expected and values not in expected:
            findings.add(Code.POINT, "{} is not among the points of the problem", space.say(values))
        else:
            found[values] = point
    if len(plan.points) > MOST_POINTS:
        findings.add(Code.POINT, "there are {} points: more than {}", len(plan.points), MOST_POINTS)
    for values in expected:
        if values not in found:
            findings.add(Code.POINT, "the plan does not say what it needs at {}", space.say(values))
    return [(point, values) for values, point in found.items()]


def _check_least(
    plan: SymbolicPlan,
    point: PointPeak,
    peak: int,
    bound: int,
    where: str,
    findings: Findings,
    claims: Claims,
) -> None:
    holds = point.least <= peak
    if not holds:
        text = "the least peak at {} cannot be {}: the plan needs {}"
        findings.add(Code.LEAST, text, where, point.least, peak)
    says = f"no layout made for {where} alone has a peak below {point.least:,}"
    if point.least <= bound:
        claims.proven(Subject.LEAST_AT, where, says, LIVE_BYTES, holds)
    else:
        claims.claimed(Subject.LEAST_AT, where, says, plan.prover, holds)


def _check_worst(
    plan: SymbolicPlan, counted: Sequence[tuple[PointPeak, int]], findings: Findings, claims: Claims
) -> None:
    """`counted`: each point with what the judge can prove of its least peak. All peaks are right."""
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
        _check_bound(plan, plan.bound, worst, counted, findings, claims)
    _check_status(plan, findings)


def _largest_ratio(pairs: Sequence[tuple[int, int]]) -> float | None:
    """None where a ratio has no value. Division of whole numbers is rounded once, so it keeps their order."""
    if not pairs or any(least == 0 < peak for peak, least in pairs):
        return None
    return max(peak / least if least else 1.0 for peak, least in pairs)


def _check_bound(
    plan: SymbolicPlan,
    bound: float,
    worst: float,
    counted: Sequence[tuple[PointPeak, int]],
    findings: Findings,
    claims: Claims,
) -> None:
    holds = bound <= worst
    if not holds:
        text = "the bound {} of the largest ratio is above the ratio {}"
        findings.add(Code.BOUND, text, bound, worst)
    says = f"no plan of this kind has a largest ratio below {bound} to these least peaks"
    # What is proven of the least peak at any point is proven of each plan there.
    if bound <= max(live / point.least if point.least else 1.0 for point, live in counted):
        claims.proven(Subject.BOUND, Subject.WORST.value, says, LIVE_BYTES, holds)
    else:
        claims.claimed(Subject.BOUND, Subject.WORST.value, says, plan.prover, holds)


def _check_status(plan: SymbolicPlan, findings: Findings) -> None:
    if plan.status is Status.OPTIMAL and (plan.worst is None or plan.worst != plan.bound):
        text = "the status is optimal, and the bound of the largest ratio is not the ratio"
        findings.add(Code.STATUS, text)
