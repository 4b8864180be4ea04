"""Judges a plan of a graph, and what a front says of one of its points beside the plan.

In: a graph and a plan. Out: a verdict. A schedule that does more than order is turned into the graph that it
stands for (`scheduled`): alternatives are taken first, then operators run again and tensors wait elsewhere,
then stripes become one operator each. Its order is replayed with liveness of the judge's own, and the places
are judged in that order. Nothing is shared with `planner.graph`, which made the plan.
"""

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Final

from memstow.planner.model.front import Front, FrontPoint
from memstow.planner.model.graph import GIVEN, Graph, index_of
from memstow.planner.model.plan import Cut, Plan, RefutedOrders, Schedule
from memstow.planner.model.problem import COST, Problem
from memstow.planner.verify.graph_replay import (
    Replay,
    problem_in_order,
    replay,
    run_of,
    structure_errors,
    with_chosen,
)
from memstow.planner.verify.layout import Layout, ObjectiveValues, ProblemIndex
from memstow.planner.verify.order_bounds import check_bounds, check_bounds_of_schedule, reason_against_orders
from memstow.planner.verify.problem_verdict import judge_problem
from memstow.planner.verify.row_operators import cost_of, cost_once, in_bytes, least_cost
from memstow.planner.verify.stripe_replay import check_stripes, striped
from memstow.planner.verify.verdict import (
    COUNTED,
    Claim,
    Claims,
    Code,
    CostTerm,
    Effort,
    Findings,
    GraphFacts,
    Refused,
    Standing,
    Subject,
    TooMuch,
    Verdict,
    Violation,
)
from memstow.records import Memo, record, replace

MOST_STEPS: Final = 10_000_000
"""What is looked at of rows, strips, readers and versions: some ten seconds."""


@record
class Scheduled:
    """What a schedule stands for."""

    graph: Graph
    """Its operators run as they are listed."""
    cost: int
    says: tuple[str, ...]
    """What was followed, in words; about stripes last."""
    rows: int


def does_more_than_order(schedule: Schedule) -> bool:
    """Whether the schedule has operators that run again, alternatives, stripes or copies."""
    repeats = len(set(schedule.order)) < len(schedule.order)
    return repeats or bool(schedule.alternatives or schedule.stripes or schedule.spills)


# A plan, its cost and a point of a front are judged one after the other, all of one schedule.
_latest: Final[Memo[Graph, tuple[Schedule, Scheduled]]] = Memo()


def scheduled(graph: Graph, schedule: Schedule, steps: int = MOST_STEPS) -> Scheduled:
    """The graph of a schedule. Raises Refused where the graph does not allow it, or it takes more steps."""
    known = _latest.get(graph)
    if known is not None and steps == MOST_STEPS and known[0] == schedule:
        return known[1]
    try:
        stands_for = _scheduled(graph, schedule, Effort(steps))
    except TooMuch:
        raise Refused(
            f"to replay the schedule takes more than {steps:,} steps; use fewer operators or rows in "
            "its stripes, or wider strips"
        ) from None
    if steps == MOST_STEPS:
        _latest.note(graph, (schedule, stands_for))
    return stands_for


def _scheduled(graph: Graph, schedule: Schedule, effort: Effort) -> Scheduled:
    chosen = with_chosen(graph, schedule.alternatives)
    run = run_of(chosen, schedule, effort)
    check_stripes(schedule.stripes, chosen.before, schedule.order)
    rolled = striped(run, schedule.stripes, effort)
    tensors = index_of(run.graph).tensors
    cost = sum(cost_of(operator, tensors) for operator in rolled.graph.operators)
    says = tuple(_says(chosen, schedule))
    return Scheduled(rolled.graph, cost, says, rolled.rows)


def _says(chosen: Graph, schedule: Schedule) -> Iterator[str]:
    if schedule.alternatives:
        count = len(schedule.alternatives)
        yield f"{count:,} {'alternative' if count == 1 else 'alternatives'} chosen"
    if again := len(schedule.order) - len(chosen.operators):
        yield f"{again:,} {'operator' if again == 1 else 'operators'} run again, on versions made before"
    if schedule.spills:
        count = len(schedule.spills)
        yield f"{count:,} {'tensor' if count == 1 else 'tensors'} copied out and back"


def schedule_cost(graph: Graph, schedule: Schedule | None) -> int:
    """The cost of all that runs. Raises Refused where the graph does not allow the schedule."""
    if schedule is None or not does_more_than_order(schedule):
        return cost_once(graph)
    return scheduled(graph, schedule).cost


def against_cost(graph: Graph, schedule: Schedule | None, cost: int) -> str | None:
    """Why the schedule does not cost that; None where it does. Raises Refused as `schedule_cost` does."""
    counted = schedule_cost(graph, schedule)
    return None if counted == cost else f"a schedule costs {counted:,}, not {cost:,}"


def judge_graph(graph: Graph, plan: Plan, hint: Plan | None = None, refutes: bool = True) -> Verdict:
    """The verdict on a plan of a graph; without `refutes`, only what can be counted is judged."""
    claims = Claims(plan)
    errors = Findings()
    for message in structure_errors(graph):
        errors.add(Code.INVALID_PROBLEM, "{}", message)
    if errors.total:
        return Verdict(tuple(errors.violations()), ())
    schedule = plan.schedule or Schedule(order=tuple(operator.id for operator in graph.operators))
    if does_more_than_order(schedule):
        return _judge_scheduled(graph, schedule, plan, hint, refutes, claims)
    findings = Findings()
    replayed = replay(graph, schedule.order, findings)
    says = f"the graph allows the order of its {len(graph.operators):,} operators"
    claims.counted(Subject.ORDER, None, says, replayed is not None)
    if replayed is not None:
        check_bounds(graph, plan, is_as_given(graph, replayed), findings)
    if replayed is None or findings.total:
        return Verdict(tuple(findings.violations()), claims.settled())
    problem = problem_in_order(graph, replayed)
    # With alternatives, a program may need less than without them.
    against_orders = None if graph.alternatives else partial(_against_orders, graph, refutes)
    has_other_schedules = bool(graph.alternatives) or not is_as_given(graph, replayed)
    claims.graph = GraphFacts(against_orders, _cost_term(graph, plan, None), has_other_schedules)
    return judge_problem(problem, plan, hint, refutes, claims)


def _judge_scheduled(
    graph: Graph, schedule: Schedule, plan: Plan, hint: Plan | None, refutes: bool, claims: Claims
) -> Verdict:
    """The verdict on a plan whose schedule does more than order: it is the plan of what that stands for."""
    findings = Findings()
    allowed = f"the graph allows the order of the {len(schedule.order):,} runs of its operators"
    try:
        stands_for = scheduled(graph, schedule)
    except Refused as refused:
        findings.add(Code.SCHEDULE, "{}", refused)
        claims.counted(Subject.ORDER, None, allowed, holds=False)
        return Verdict(tuple(findings.violations()), claims.settled())
    replayed = replay(stands_for.graph, [operator.id for operator in stands_for.graph.operators], findings)
    claims.counted(Subject.ORDER, None, allowed, replayed is not None)
    for says in stands_for.says:
        claims.counted(Subject.SCHEDULE, None, says, replayed is not None)
    if schedule.stripes:
        stripes = len(schedule.stripes)
        says = f"replayed {stripes:,} {'stripe' if stripes == 1 else 'stripes'}: {stands_for.rows:,} rows"
        claims.counted(Subject.STRIPES, None, f"{says}, each there when it was read", replayed is not None)
    check_bounds_of_schedule(plan, findings)
    if replayed is None or findings.total:
        return Verdict(tuple(findings.violations()), claims.settled())
    problem = problem_in_order(stands_for.graph, replayed)
    claims.graph = GraphFacts(cost=_cost_term(graph, plan, stands_for.cost), has_other_schedules=True)
    return judge_problem(problem, plan, hint, refutes, claims)


def _cost_term(graph: Graph, plan: Plan, counted: int | None) -> CostTerm | None:
    """What the schedule costs, where the plan or the graph speaks of it; by default, each operator once."""
    if COST not in (graph.objective or ()) and all(entry.term != COST for entry in plan.objective):
        return None
    # What alternatives cost at least is not known without choosing among them.
    least = 0 if graph.alternatives else least_cost(graph)
    return CostTerm(cost_once(graph) if counted is None else counted, least, graph.terms())


def _against_orders(graph: Graph, refutes: bool, bound: int, certificate: Cut | RefutedOrders) -> str | None:
    """Why the certificate proves nothing. A search is gone through again only where more than counting is."""
    if isinstance(certificate, RefutedOrders) and not refutes:
        return None
    return reason_against_orders(graph, bound, certificate)


def is_as_given(graph: Graph, replayed: Replay) -> bool:
    """Whether the order is the one that the graph prescribes, so that bounds are about it alone."""
    return graph.order == GIVEN and replayed.as_listed


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
    violations = tuple(Violation(Code.VALUE, f"{name}: {entry}") for entry in judging.wrong)
    claims = tuple(judging.claims)
    return Verdict((*verdict.violations, *violations), (*verdict.claims, *claims))


def judge_point_of_graph(
    graph: Graph, front: Front, number: int, verdict: Verdict, hint: Plan | None = None
) -> Verdict:
    """The same of a plan of a graph, whose cost and lives are counted here."""
    if any(violation.code is Code.INVALID_PROBLEM for violation in verdict.violations):
        return verdict
    schedule = front.points[number].plan.schedule
    findings = Findings()
    try:
        if schedule is None or does_more_than_order(schedule):
            listed = graph if schedule is None else scheduled(graph, schedule).graph
            order = [operator.id for operator in listed.operators]
        else:
            listed, order = graph, list(schedule.order)
        replayed = replay(listed, order, findings)
        if replayed is None:
            raise Refused(findings.violations()[0].message)
        cost = schedule_cost(in_bytes(graph) if front.request.cost == "bytes" else graph, schedule)
    except Refused as refused:
        wrong = Violation(Code.VALUE, f"point {number + 1:,} of the front: {refused}")
        return replace(verdict, violations=(*verdict.violations, wrong))
    problem = problem_in_order(listed, replayed)
    return judge_point(problem, front, number, verdict, hint, cost, graph.order)


def front_errors(front: Front) -> Iterator[str]:
    """Why these are not the points of one front."""
    first, second = front.terms
    if front.request.terms not in (None, front.terms):
        yield "the front is of other terms than were asked for"
    if front.request.points is not None and len(front.points) > front.request.points:
        yield "the front has more points than were asked for"
    if any(set(point.values) != {first, second} for point in front.points):
        yield f"a point has not just values of {first} and {second}"
        return
    for number, (one, other) in enumerate(pairwise(front.points), start=1):
        if one.values[first] >= other.values[first] or one.values[second] <= other.values[second]:
            yield (
                f"points {number:,} and {number + 1:,} are not of one front: the later must have more of "
                f"{first} and less of {second}"
            )
            return
    if front.complete and not all(point.proven for point in front.points):
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
            counted_value = cost if term == COST else counted.value(_as_peak(term))
            if counted_value is None:
                greatest = counted.greatest(term)
                if greatest is not None and value > greatest:
                    self.wrong.append(f"it says that {says}, and there are {greatest:,} buffers")
                self._claim(term, says, greatest is not None and value > greatest)
                continue
            if counted_value != value:
                self.wrong.append(f"it says that {says}, and {counted_value:,} is counted")
            standing = Standing.CHECKED if counted_value == value else Standing.REFUTED
            self.claims.append(Claim(Subject.POINT, term, says, standing, COUNTED))

    def bounds(self) -> None:
        """Bounds, against the value and the other points."""
        point = self._point
        for term, bound in point.bounds.items():
            value, others = point.values.get(term), [value for value in point.values if value != term]
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
        generators = self._front.request.generators
        allowed = _BY_DEFAULT if generators is None else generators
        for name, does, is_done in (
            ("stripes", "runs in stripes", bool(schedule.stripes)),
            ("spill", "copies tensors out and back", bool(schedule.spills)),
            ("recompute", "runs operators again", len(set(schedule.order)) < len(schedule.order)),
        ):
            if is_done and name not in allowed:
                self.wrong.append(f"its plan {does}, which was not asked for")

    def _below(self, term: str, bound: int, other: str, limit: int) -> int | None:
        """A point that has less of the term than the bound, and no more of the other."""
        for number, point in enumerate(self._front.points):
            if point.values.get(term, bound) < bound and point.values.get(other, limit + 1) <= limit:
                return number
        return None

    def _claim(self, term: str | None, says: str, refuted: bool) -> None:
        standing = Standing.REFUTED if refuted else Standing.CLAIMED
        self.claims.append(Claim(Subject.POINT, term, says, standing, self._author))


def _as_peak(term: str) -> str:
    """A capacity that is looked for is the peak in that pool."""
    head, colon, pool = term.partition(":")
    return f"peak{colon}{pool}" if head == "capacity" else term
