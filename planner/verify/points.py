"""What a front says of one of its points, beside the plan: values, bounds, and that nothing is missing."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from memstow.planner.model.front import Front, FrontPoint
from memstow.planner.model.graph import GIVEN
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.verify.findings import Code, Findings, Violation
from memstow.planner.verify.layout import Layout
from memstow.planner.verify.objective_values import ObjectiveValues
from memstow.planner.verify.problem_index import ProblemIndex
from memstow.planner.verify.verdict import COUNTED, Claim, Standing, Subject, Verdict

_COST = "cost"
_BY_DEFAULT: Final = ("stripes",)
"""What may be done to a graph where nothing else was asked for."""


def judge_point(
    problem: Problem,
    front: Front,
    number: int,
    verdict: Verdict,
    hint: Plan | None,
    cost: int | None,
    order: str | None = None,
) -> Verdict:
    """The verdict on the plan of this point, from 0, and on what the front says of it.

    `problem`: what the plan is a plan of; `cost`: of its schedule, if it has one; `order`: of a graph, that
    which it asks for.
    """
    point = front.points[number]
    author = "the front" if front.memstow is None else f"memstow {front.memstow[:64]}"
    judging = _Judging(front, point, author)
    judging.shape()
    judging.values(problem, hint, cost)
    judging.bounds()
    judging.kept_order(order)
    if order is not None:
        judging.ways()
    name = f"point {number + 1:,} of the front"
    violations = tuple(Violation(Code.VALUE, f"{name}: {it}") for it in judging.wrong)
    claims = tuple(judging.claims)
    return Verdict((*verdict.violations, *violations), (*verdict.claims, *claims))


def front_errors(front: Front) -> Iterator[str]:
    """Why these are not the points of one front."""
    first, second = front.terms
    if front.asked.terms not in (None, front.terms):
        yield "the front is of other terms than were asked for"
    if front.asked.points is not None and len(front.points) > front.asked.points:
        yield "the front has more points than were asked for"
    if any(set(it.values) != {first, second} for it in front.points):
        yield f"a point has not just values of {first} and {second}"
        return
    for number, (one, other) in enumerate(pairwise(front.points), start=1):
        if one.values[first] >= other.values[first] or one.values[second] <= other.values[second]:
            yield (
                f"points {number:,} and {number + 1:,} are not of one front: the later must have more of "
                f"{first} and less of {second}"
            )
            return
    if front.complete and not all(it.proven for it in front.points):
        yield "the front is called complete, and not all of its points are called proven"


class _Judging:
    """Gathers what is wrong, and what is claimed."""

    def __init__(self, front: Front, point: FrontPoint, author: str) -> None:
        self._front = front
        self._point = point
        self._author = author
        self.wrong: list[str] = []
        self.claims: list[Claim] = []

    def shape(self) -> None:
        """The points together, and that none is missing."""
        self.wrong += front_errors(self._front)
        if self._front.complete:
            self._claim(None, "the front is complete: no plan is better than its points", bool(self.wrong))

    def values(self, problem: Problem, hint: Plan | None, cost: int | None) -> None:
        """Each value, counted in the plan."""
        findings = Findings()
        index = ProblemIndex(problem, findings)
        if findings.total:
            return
        layout = Layout(index)
        layout.read(self._point.plan.placements, findings)
        counted = ObjectiveValues(index, layout, hint)
        for term, value in self._point.values.items():
            says = f"{term} is {value:,}"
            found = cost if term == _COST else counted.value(_as_peak(term))
            if found is None:
                greatest = counted.greatest(term)
                if greatest is not None and value > greatest:
                    self.wrong.append(f"it says that {says}, and there are {greatest:,} buffers")
                self._claim(term, says, greatest is not None and value > greatest)
                continue
            if found != value:
                self.wrong.append(f"it says that {says}, and {found:,} is counted")
            standing = Standing.CHECKED if found == value else Standing.REFUTED
            self.claims.append(Claim(Subject.POINT, term, says, standing, COUNTED))

    def bounds(self) -> None:
        """Bounds, against the value and the other points."""
        point = self._point
        for term, bound in point.bounds.items():
            value, others = point.values.get(term), [it for it in point.values if it != term]
            if value is None or len(others) != 1:
                self.wrong.append(f"it has a bound of {term}, and no value")
                continue
            other, limit = others[0], point.values[others[0]]
            number = self._below(term, bound, other, limit)
            reason = None
            if bound > value:
                reason = f"its bound of {term} is above its value"
            elif number is not None:
                reason = f"point {number + 1:,} of the same front disproves its bound of {term}"
            if reason is not None:
                self.wrong.append(reason)
            if bound:
                says = f"no plan with {other} of at most {limit:,} has {term} below {bound:,}"
                self._claim(term, says, reason is not None)
        if point.proven and point.bounds != point.values:
            self.wrong.append("it is called proven, and its bounds are not its values")

    def kept_order(self, order: str | None) -> None:
        """That operators ran as they are listed, and what that needs."""
        kept = self._front.kept_order
        if kept is None:
            return
        reason = None
        if order != GIVEN:
            reason = "it is said to keep the listed order, and there is none that is to be kept"
        elif kept.free_bytes is not None and kept.free_bytes >= kept.bytes:
            reason = "another order is said to need less than the listed one, and does not"
        if reason is not None:
            self.wrong.append(reason)
        says = f"in the listed order {kept.bytes:,} bytes are live at once"
        if kept.free_bytes is not None:
            says += f", in another {kept.free_bytes:,}"
        self._claim(None, says, reason is not None)

    def ways(self) -> None:
        """That the plan does nothing to the graph that was not asked for."""
        schedule = self._point.plan.schedule
        if schedule is None:
            return
        asked = self._front.asked.generators
        allowed = _BY_DEFAULT if asked is None else asked
        for name, does, is_done in (
            ("stripes", "runs in stripes", bool(schedule.stripes)),
            ("spill", "copies tensors out and back", bool(schedule.spills)),
            ("recompute", "runs operators again", len(set(schedule.order)) < len(schedule.order)),
        ):
            if is_done and name not in allowed:
                self.wrong.append(f"its plan {does}, which was not asked for")

    def _below(self, term: str, bound: int, other: str, limit: int) -> int | None:
        """A point that has less of the term than the bound, and no more of the other."""
        for number, it in enumerate(self._front.points):
            if it.values.get(term, bound) < bound and it.values.get(other, limit + 1) <= limit:
                return number
        return None

    def _claim(self, term: str | None, says: str, refuted: bool) -> None:
        standing = Standing.REFUTED if refuted else Standing.CLAIMED
        self.claims.append(Claim(Subject.POINT, term, says, standing, self._author))


def _as_peak(term: str) -> str:
    """A capacity that is looked for is the peak in that pool."""
    head, colon, pool = term.partition(":")
    return f"peak{colon}{pool}" if head == "capacity" else term
