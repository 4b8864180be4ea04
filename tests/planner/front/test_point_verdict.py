"""What a front says of its points: every term is counted, and what cannot be counted is a claim."""

from dataclasses import replace
from random import Random

import pytest

import memstow
from memstow.planner.front.find_front import document_of_point, verdict_on_point
from memstow.planner.graph.changes import with_channels
from memstow.planner.graph.operators import operator_costs, with_cost_unit
from memstow.planner.model import Status
from memstow.planner.model.front import CostUnit, Front, FrontOptions, KeptOrder
from memstow.planner.model.graph import Graph, Operator, Tensor
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Buffer, Pool, Problem, ReuseCost
from memstow.planner.verify import Code, Standing, Subject, Verdict, Violation, judge
from memstow.planner.verify.row_operators import in_bytes
from tests.planner.front.channel_nets import channel_net
from tests.planner.front.fronts import tense_problem
from tests.planner.graph.stripes.nets import random_net

STEADY = Options(deterministic=True, work_limit=300_000)
PROBLEM = Problem(
    pools=[Pool(id="fast", capacity=16), Pool(id="slow", cost=4)],
    buffers=[
        Buffer(id="a", size=4, lifetime=(0, 3), accesses=9),
        Buffer(id="b", size=8, lifetime=(1, 4), accesses=3),
        Buffer(id="c", size=6, lifetime=(4, 6), accesses=8),
    ],
    reuse_costs=[ReuseCost(buffers=("a", "c"), cost=5), ReuseCost(buffers=("b", "c"), cost=2)],
)
HINT = Plan(
    status=Status.FEASIBLE,
    placements=tuple(Placement(buffer=name, pool="slow", offset=8 * at) for at, name in enumerate("abc")),
)


def front_of(first: str, second: str) -> Front:
    return memstow.front(PROBLEM, (first, second), options=replace(STEADY, hint=HINT))


def verdict_of(problem: Problem, front: Front, number: int = 0, hint: Plan | None = HINT) -> Verdict:
    """As `memstow verify --point` has it."""
    point = front.points[number]
    document = document_of_point(problem, front, point)
    assert isinstance(document, Problem)
    return verdict_on_point(document, problem, front, number, judge(document, point.plan, hint), hint)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("peak:slow", "moves"),
        ("peak:slow", "reuse_cost"),
        ("peak:fast", "preference"),
        ("peak:fast", "max_peak"),
        ("peak:fast", "placement_cost"),
        ("peak:fast", "peak:slow"),
        ("capacity:fast", "placement_cost"),
    ],
)
def test_the_value_of_every_term_is_counted(first: str, second: str) -> None:
    front = front_of(first, second)
    for number, point in enumerate(front.points):
        verdict = verdict_of(PROBLEM, front, number)
        assert verdict.valid, verdict.violations
        assert [
            claim.name for claim in verdict.claims if claim.subject is Subject.POINT and claim.by == "counted"
        ] == [
            first,
            second,
        ]
        for term in (first, second):
            values = {**point.values, term: point.values[term] + 1}
            points = list(front.points)
            points[number] = replace(point, values=values, bounds=values, proven=True)
            forged = verdict_of(PROBLEM, replace(front, points=tuple(points)), number)
            assert any(f"it says that {term} is" in violation.message for violation in forged.violations)


def test_moves_without_the_plan_that_they_count_from_are_a_claim() -> None:
    front = front_of("peak:slow", "moves")
    verdict = verdict_of(PROBLEM, front, 0, None)
    assert verdict.valid
    (claim,) = [claim for claim in verdict.unchecked if claim.says.startswith("moves is")]
    assert claim.subject is Subject.POINT
    values = {**front.points[0].values, "moves": 4}
    many = replace(front, points=(replace(front.points[0], values=values),), complete=False)
    assert any(
        "there are 3 buffers" in violation.message
        for violation in verdict_of(PROBLEM, many, 0, None).violations
    )


def test_bounds_and_completeness_are_claims_that_are_listed() -> None:
    front = replace(front_of("peak:fast", "placement_cost"), complete=True)
    points = tuple(replace(point, bounds=point.values, proven=True) for point in front.points)
    front = replace(front, points=points)
    verdict = verdict_of(PROBLEM, front, 1)
    assert verdict.valid
    said = [claim.says for claim in verdict.unchecked]
    assert "the front is complete: no plan is better than its points" in said
    assert sum(entry.startswith("no plan with ") for entry in said) == 2


def test_points_that_are_of_no_front_are_refused() -> None:
    front = replace(front_of("peak:fast", "placement_cost"), complete=False)
    first, second, *rest = front.points

    def said(changed: Front, number: int = 0) -> str:
        return " ".join(violation.message for violation in verdict_of(PROBLEM, changed, number).violations)

    assert "points 1 and 2 are not of one front" in said(replace(front, points=(second, first, *rest)))
    assert "points 1 and 2 are not of one front" in said(replace(front, points=(first, first, second)))
    assert "points 1 and 2 are not of one front" in said(replace(front, terms=front.terms[::-1]))
    other = replace(front, terms=("peak:fast", "reuse_cost"))
    assert "has not just values of peak:fast and reuse_cost" in said(other)
    assert "called complete" in said(replace(front, complete=True, points=_unproven(front)))
    request = replace(front.request, points=1)
    assert "more points than were asked for" in said(replace(front, request=request))
    # The first has less of the first term than the second may need at least.
    bounds = {"peak:fast": second.values["peak:fast"], "placement_cost": first.values["placement_cost"]}
    lie = replace(second, bounds=bounds, proven=False)
    assert "its bound of placement_cost is above its value" in said(replace(front, points=(first, lie)), 1)
    high = replace(first, bounds={"placement_cost": first.values["placement_cost"]}, proven=False)
    shifted = replace(high, values={**first.values, "peak:fast": second.values["peak:fast"]})
    assert "disproves its bound" in said(replace(front, points=(shifted, second)))


def _unproven(front: Front) -> tuple[memstow.FrontPoint, ...]:
    return tuple(replace(point, proven=False, bounds={}) for point in front.points)


@pytest.mark.parametrize("seed", range(40))
def test_points_with_capacities_are_plans_of_the_problem_with_these(seed: int) -> None:
    problem = tense_problem(Random(seed), 2)
    front = memstow.front(problem, (f"capacity:{problem.pools[0].id}", "placement_cost"), options=STEADY)
    for number, point in enumerate(front.points):
        assert verdict_of(problem, front, number, None).valid
        values = {**point.values, front.terms[0]: point.values[front.terms[0]] + 1}
        points = list(front.points)
        points[number] = replace(point, values=values, bounds={}, proven=False)
        assert not verdict_of(problem, replace(front, points=tuple(points)), number, None).valid


def test_what_was_not_asked_for_and_an_order_that_was_not_kept_are_refused() -> None:
    graph = random_net(0, 4)
    options = Options(deterministic=True, work_limit=10_000_000)
    front = replace(memstow.front(graph, options=options), kept_order=KeptOrder(bytes=9, free_bytes=8))
    schedules = [point.plan.schedule for point in front.points]
    number = next(at for at, schedule in enumerate(schedules) if schedule is not None and schedule.stripes)

    def verdict(front: Front, document: Graph | Problem = graph) -> Verdict:
        # The plan itself was judged before.
        return verdict_on_point(document, document, replace(front, digest=None), number, Verdict((), ()))

    honest = verdict(front)
    assert honest.valid
    said = {claim.says: claim.standing for claim in honest.claims}
    assert said["in the listed order 9 bytes are live at once, in another 8"] is Standing.CLAIMED
    for entry in (FrontOptions(generators=("recompute",)), FrontOptions(generators=())):
        wrong = verdict(replace(front, request=entry)).violations
        assert any("its plan runs in stripes, which was not asked for" in issue.message for issue in wrong)
    worse = verdict(replace(front, kept_order=KeptOrder(bytes=9, free_bytes=9)))
    assert any("another order is said to need less" in violation.message for violation in worse.violations)
    free = verdict(front, replace(graph, order="free"))
    assert any("said to keep the listed order" in violation.message for violation in free.violations)
    of_problem = replace(front_of("peak:fast", "peak:slow"), kept_order=front.kept_order)
    assert not verdict_of(PROBLEM, of_problem).valid


def test_the_judge_counts_bytes_that_are_moved_as_the_planner_does() -> None:
    alternatives = 0
    for seed in range(60):
        graph = with_channels(channel_net(seed)) if seed % 2 else random_net(seed, 5)
        priced = in_bytes(graph)
        assert [operator.cost for operator in priced.operators] == operator_costs(graph, "bytes"), seed
        planned = with_cost_unit(graph, "bytes")
        assert [alternative.cost for alternative in priced.alternatives] == [
            alternative.cost for alternative in planned.alternatives
        ], seed
        alternatives += len(graph.alternatives)
    assert alternatives > 20


@pytest.mark.parametrize("unit", ["given", "bytes"])
def test_the_cost_of_a_point_and_its_order_are_the_judges_own(unit: CostUnit) -> None:
    graph = random_net(0, 4)
    options = Options(deterministic=True, work_limit=3_000_000)
    front = memstow.front(graph, options=options, cost=unit)

    def wrong(front: Front, number: int, *before: Violation) -> list[str]:
        judged = verdict_on_point(graph, graph, front, number, Verdict(before, ()))
        assert judged.violations[: len(before)] == before
        return [violation.message for violation in judged.violations[len(before) :]]

    for number, point in enumerate(front.points):
        assert wrong(front, number) == []
        points = list(front.points)
        points[number] = replace(point, values={**point.values, "cost": point.values["cost"] + 1})
        refuted = replace(front, points=tuple(points))
        assert any("cost" in entry for entry in wrong(refuted, number))
        # A plan with a fault has its point judged as well, unless nothing can be counted.
        assert wrong(refuted, number, Violation(Code.OVERLAP, "two share bytes")) == wrong(refuted, number)
        assert wrong(refuted, number, Violation(Code.INVALID_PROBLEM, "no such tensor")) == []
        schedule = point.plan.schedule
        assert schedule is not None
        backwards = replace(schedule, order=schedule.order[::-1], stripes=())
        points[number] = replace(point, plan=replace(point.plan, schedule=backwards))
        output = wrong(replace(front, points=tuple(points)), number)
        assert len(output) == 1
        assert output[0].startswith(f"point {number + 1} of the front: ")


def test_what_lies_elsewhere_costs_no_bytes() -> None:
    graph = Graph(
        tensors=[
            Tensor(id="far", size=1000, kind="external"),
            Tensor(id="made far", size=500, kind="external"),
            Tensor(id="weights", size=30, kind="constant"),
            *(Tensor(id=name, size=size) for name, size in (("x", 4), ("a", 8))),
        ],
        operators=[
            Operator(id="one", inputs=["x", "far", "weights"], outputs=["a", "made far"]),
            Operator(id="two", inputs=["a", "made far"], outputs=[]),
        ],
        inputs=["x"],
    )
    front = memstow.front(graph, generators=(), cost="bytes", options=STEADY)
    moved = (4 + 30 + 8) + 8
    assert [point.values["cost"] for point in front.points] == [moved]
    plan = front.points[0].plan
    assert verdict_on_point(graph, graph, front, 0, judge(graph, plan)).valid
    values = {"peak": 12, "cost": moved + 2000}
    forged = replace(front, points=(replace(front.points[0], values=values, bounds={}, proven=False),))
    assert not verdict_on_point(graph, graph, replace(forged, complete=False), 0, judge(graph, plan)).valid
