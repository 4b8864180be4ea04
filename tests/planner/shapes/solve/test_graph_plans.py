"""Plans of graphs with symbols, whose operators may run in any order, against all orders and all layouts."""

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import memstow
from memstow.planner.model.plan import Schedule
from memstow.planner.model.symbolic import PointPeak, SymbolicGraph, SymbolicPlan
from tests.campaign import rounds
from tests.graphs import Document, needed, orders, random_graph
from tests.planner.shapes.solve.brute import Every
from tests.planner.shapes.solve.test_operator_order import TWO_BRANCHES

OPTIONS = memstow.Options(deterministic=True, work_limit=2_000_000)
POINTS = [{"s": 1, "t": 9}, {"s": 7, "t": 2}, {"s": 3, "t": 3}]
MOST_BUFFERS = 6


def small_graph(seed: int, capacity: int | None = None) -> tuple[Document, SymbolicGraph]:
    """A document whose sizes grow with one of two symbols, and the graph in it."""
    document, random = random_graph(seed, most=4), Random(seed)
    tied = {view[end] for view in document["views"] for end in ("tensor", "of")}
    elements = [*document["tensors"], *(it for op in document["operators"] for it in op["temporaries"])]
    for element in elements:
        if element["id"] not in tied:
            element["size"] = f"{element['size']}*{random.choice(['s', 't', '1', 's*t'])}"
    document["before"] = []
    written = {name: value for name, value in document.items() if name != "before"}
    written["symbols"] = [{"id": "s", "min": 1, "max": 9}, {"id": "t", "min": 1, "max": 9}]
    written["points"] = [{"at": at} for at in POINTS]
    if capacity is not None:
        written["pools"] = [{"id": "memory", "capacity": capacity}]
    return document, memstow.read_symbolic_graph(json.dumps(written).encode())


def at(document: Document, values: dict[str, int]) -> Document:
    """The graph with the sizes at a value, by Python itself."""

    def sized(element: dict[str, Any]) -> dict[str, Any]:
        size = element["size"]
        return {**element, "size": eval(size, {}, dict(values)) if isinstance(size, str) else size}

    return {
        **document,
        "tensors": list(map(sized, document["tensors"])),
        "operators": [
            {**operator, "temporaries": list(map(sized, operator["temporaries"]))}
            for operator in document["operators"]
        ],
    }


class InAllOrders:
    """What each order of the operators needs at each point, laid out for that point alone."""

    def __init__(self, document: Document, graph: SymbolicGraph) -> None:
        self._graph = graph
        self.orders = [tuple(order) for order in orders(document)]

    @cache  # noqa: B019 - of one graph, which is gone after it
    def every(self, order: tuple[str, ...]) -> Every:
        return Every(memstow.lower_symbolic(self._graph, order), POINTS)

    @cache  # noqa: B019
    def least(self, order: tuple[str, ...]) -> list[int] | None:
        """At each point; None where nothing fits."""
        rows = list(self.every(order).all_peaks())
        return [min(column) for column in zip(*rows, strict=True)] if rows else None

    def of_all(self) -> Iterator[list[int]]:
        for order in self.orders:
            least = self.least(order)
            if least is not None:
                yield least


def can_be_counted(graph: SymbolicGraph) -> bool:
    """Whether there are few layouts; what views share, the count of layouts does not know."""
    return not graph.views and len(memstow.lower_symbolic(graph).buffers) <= MOST_BUFFERS


def worst(peaks: list[int], least: list[int]) -> Fraction:
    pairs = zip(peaks, least, strict=True)
    return max(Fraction(peak, few) if few else Fraction(1 + peak) for peak, few in pairs)


@pytest.mark.rounds
@settings(max_examples=rounds(60), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_what_a_plan_says_is_so_in_all_orders_and_layouts(seed: int) -> None:
    check_plan(seed)


def check_plan(seed: int) -> str:
    """The status of the plan, all of which is compared."""
    document, graph = small_graph(seed)
    assume(can_be_counted(graph))
    plan = memstow.plan_symbolic(graph, OPTIONS)
    assert memstow.verify(graph, plan) == []
    assert plan.schedule is not None
    known = InAllOrders(document, graph)
    assert plan.schedule.order in known.orders
    least = [min(column) for column in zip(*known.of_all(), strict=True)]
    here = known.least(plan.schedule.order)
    assert here is not None
    for point, of_all, in_order in zip(plan.points, least, here, strict=True):
        assert (point.bound or 0) <= of_all
        assert point.least <= in_order <= point.peak
    if plan.status == "optimal":
        assert [point.peak for point in plan.points] == least
    if plan.bound == plan.worst:
        claimed = [point.least for point in plan.points]
        best = known.every(plan.schedule.order).least_ratio(claimed)
        assert best == worst([point.peak for point in plan.points], claimed)
    layout = memstow.Layout(memstow.lower_symbolic(graph, plan.schedule.order), plan)
    for values in [*POINTS, {"s": 9, "t": 9}]:
        live = needed(at(document, values), plan.schedule.order)
        assert layout.lay_out(values).objective >= max(live, default=0)
        # The judge has accepted it as a plan of the ordinary graph.
        there = memstow.plan_at(graph, plan, values)
        assert there.schedule == plan.schedule
        assert there.status != "optimal" or not there.objective[0].value
    return plan.status


@pytest.mark.rounds
@settings(max_examples=rounds(60), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_no_order_needs_less_than_the_bound_of_all(seed: int) -> None:
    check_bounds(seed)


def check_bounds(seed: int) -> None:
    """The bounds of a plan, which may have views, against the live bytes of each order."""
    document, graph = small_graph(seed)
    plan = memstow.plan_symbolic(graph, OPTIONS)
    verdict = memstow.judge(graph, plan)
    assert verdict.valid
    for point in plan.points:
        there = at(document, dict(point.at))
        least = min(max(needed(there, order)) for order in orders(document))
        assert (point.bound or 0) <= least
        # What a search alone knows is a claim; of tiny graphs, all is found.
        assert point.bound in (least, None if least == 0 else least)
    standing = {claim.standing for claim in verdict.claims if claim.says.endswith("order of the operators")}
    assert standing <= {"checked"}
    for number, point in enumerate(plan.points):
        # One byte more is not so in the best order.
        more = replace(point, bound=(point.bound or 0) + 1)
        points = (*plan.points[:number], more, *plan.points[number + 1 :])
        if point.certificate is not None:
            assert memstow.verify(graph, replace(plan, points=points)) != []


@pytest.mark.rounds
@settings(max_examples=rounds(40), deadline=None)
@given(seed=st.integers(0, 10**6), share=st.integers(30, 110))
def test_where_a_capacity_is_small_nothing_is_said_of_other_orders(seed: int, share: int) -> None:
    check_capacity(seed, share)


def check_capacity(seed: int, share: int) -> str:
    """The status of a plan in a pool that may be too small."""
    document, roomy = small_graph(seed)
    assume(can_be_counted(roomy))
    top = needed(at(document, {"s": 9, "t": 9}), [operator["id"] for operator in document["operators"]])
    document, graph = small_graph(seed, max(top) * share // 100)
    plan = memstow.plan_symbolic(graph, OPTIONS)
    assert memstow.verify(graph, plan) == []
    if plan.status in ("infeasible", "unknown"):
        fitting = list(InAllOrders(document, graph).of_all())
        if plan.status == "infeasible":
            assert fitting == []
            assert plan.explanation is not None
            assert plan.explanation.code == "no_order"
        elif plan.explanation is not None:
            assert "in the order of the operators that was chosen" in plan.explanation.message
    return plan.status


@pytest.mark.rounds
@settings(max_examples=rounds(60), deadline=None)
@given(seed=st.integers(0, 10**6), turn=st.randoms(use_true_random=False))
def test_another_order_is_refused_or_is_judged_by_its_own_lives(seed: int, turn: Random) -> None:
    document, graph = small_graph(seed)
    plan = memstow.plan_symbolic(graph, OPTIONS)
    assert plan.schedule is not None
    order = list(plan.schedule.order)
    turn.shuffle(order)
    assume(tuple(order) != plan.schedule.order)
    other = replace(plan, schedule=Schedule(order=tuple(order)), digest=None)
    codes = {violation.code for violation in memstow.verify(graph, other)}
    if order not in list(orders(document)):
        assert codes == {"order"}
        return
    assert "order" not in codes
    problem = memstow.lower_symbolic(graph, order)
    bare = SymbolicPlan(status=memstow.Status.FEASIBLE, shapes="order", orders=plan.orders)
    holds = memstow.verify(problem, bare) == []
    assert holds == (memstow.verify(graph, replace(bare, schedule=other.schedule)) == [])


FREE = replace(TWO_BRANCHES, order="free")


def test_the_plan_has_its_order_and_proofs_for_all_orders() -> None:
    plan = memstow.plan_symbolic(FREE, OPTIONS)
    assert plan.schedule == Schedule(order=("A", "C", "D", "Y"))
    assert plan.status == "optimal"
    assert [(point.peak, point.least, point.bound) for point in plan.points] == [
        (101, 101, 101),
        (4117, 4117, 4117),
    ]
    verdict = memstow.judge(FREE, plan)
    assert verdict.unchecked == ()
    assert "no layout made for s=8 alone has a peak below 101, in any order of the operators" in {
        claim.says for claim in verdict.claims
    }
    assert memstow.plan_symbolic(FREE, OPTIONS) == plan
    assert memstow.read_symbolic_plan(memstow.write_symbolic_plan(plan)) == plan


def test_operators_run_as_listed_where_the_graph_says_so() -> None:
    listed = TWO_BRANCHES
    plan = memstow.plan_symbolic(listed, OPTIONS)
    assert plan.schedule == Schedule(order=("D", "A", "C", "Y"))
    assert [(point.peak, point.bound) for point in plan.points] == [(160, None), (4752, None)]
    assert plan.status == "optimal"
    assert memstow.verify(listed, plan) == []
    # Of all orders it is not the best.
    violations = memstow.verify(FREE, plan)
    assert [violation.code for violation in violations] == ["status"]
    assert "in another order of the operators less may be needed" in violations[0].message


def test_a_graph_may_list_its_operators_in_an_order_that_cannot_run() -> None:
    backwards = replace(FREE, operators=FREE.operators[::-1])
    plan = memstow.plan_symbolic(backwards, OPTIONS)
    assert plan.schedule is not None
    assert memstow.verify(backwards, plan) == []
    assert [point.peak for point in plan.points] == [101, 4117]
    with pytest.raises(memstow.InputError, match="not_in_order"):
        memstow.plan_symbolic(replace(backwards, order="given"), OPTIONS)


@pytest.mark.parametrize(
    ("order", "says"),
    [
        (("A", "C", "D"), "the schedule does not have each operator of the graph once"),
        (("C", "A", "D", "Y"), "'C' reads 'a' before 'A' makes it"),
        (("A", "C", "D", "Y", "Y"), "of a graph with symbols each operator runs once"),
        (("D", "A", "C", "Y"), "plan the graph again"),
    ],
)
def test_a_wrong_schedule_is_refused_with_the_reason(order: tuple[str, ...], says: str) -> None:
    plan = memstow.plan_symbolic(FREE, OPTIONS)
    violations = memstow.verify(FREE, replace(plan, schedule=Schedule(order=order)))
    assert says in violations[0].message


def _with_point(plan: SymbolicPlan, **changes: object) -> SymbolicPlan:
    first: PointPeak = replace(plan.points[0], **changes)  # type: ignore[arg-type]
    return replace(plan, points=(first, *plan.points[1:]))


def test_bounds_of_all_orders_are_checked_or_claimed() -> None:
    plan = memstow.plan_symbolic(FREE, OPTIONS)
    about = "no layout made for s=8 alone has a peak below {}, in any order of the operators"

    def standing(plan: SymbolicPlan, bound: int) -> str:
        claims = {claim.says: claim.standing for claim in memstow.judge(FREE, plan).claims}
        return claims[about.format(bound)]

    assert standing(plan, 101) == "checked"
    assert standing(_with_point(plan, certificate=None), 101) == "claimed"
    # That of the other point says nothing here.
    forged = _with_point(plan, certificate=plan.points[1].certificate)
    assert standing(forged, 101) == "refuted"
    assert [violation.code for violation in memstow.verify(FREE, forged)] == ["certificate"]
    above = _with_point(plan, bound=102)
    assert standing(above, 102) == "refuted"
    assert {violation.code for violation in memstow.verify(FREE, above)} == {"bound", "certificate"}
    without = replace(plan, points=tuple(replace(it, bound=None, certificate=None) for it in plan.points))
    assert [violation.code for violation in memstow.verify(FREE, without)] == ["status"]
    assert memstow.verify(FREE, replace(without, status=memstow.Status.FEASIBLE)) == []


def test_certificates_are_about_one_pool() -> None:
    pools = (memstow.Pool(id="one"), memstow.Pool(id="two"))
    several = replace(FREE, pools=pools, objective=("max_peak",))
    plan = memstow.plan_symbolic(several, OPTIONS)
    assert [point.bound for point in plan.points] == [51, 2059]
    assert all(point.certificate is None for point in plan.points)
    verdict = memstow.judge(several, plan)
    assert verdict.valid
    assert len([claim for claim in verdict.unchecked if "in any order" in claim.says]) == 2
    # What is live in both pools together is no bound of either.
    alone = memstow.plan_symbolic(FREE, OPTIONS)
    points = zip(plan.points, alone.points, strict=True)
    forged = replace(plan, points=tuple(replace(it, certificate=other.certificate) for it, other in points))
    assert {violation.code for violation in memstow.verify(several, forged)} == {"certificate"}


def test_a_least_peak_that_every_order_has_is_checked_as_well() -> None:
    # The pair in place hides it from the live bytes of this order.
    graph = memstow.SymbolicGraph(
        symbols=[memstow.Symbol(id="s", min=1, max=8, values=[8])],
        tensors=[memstow.SymbolicTensor(id=name, size="4*s") for name in ("x", "y", "z")],
        operators=[
            memstow.SymbolicOperator(id="F", inputs=["x"], outputs=["y"], in_place=[("x", "y")]),
            memstow.SymbolicOperator(id="G", inputs=["y"], outputs=["z"], in_place=[("y", "z")]),
        ],
        inputs=["x"],
        outputs=["z"],
        order="free",
    )
    plan = memstow.plan_symbolic(graph, OPTIONS)
    assert [(point.peak, point.least, point.bound) for point in plan.points] == [(32, 32, 32)]
    assert memstow.judge(graph, plan).unchecked == ()


def test_too_small_for_every_order_is_proven_and_checked() -> None:
    graph = replace(FREE, pools=(memstow.Pool(id="memory", capacity=4116),))
    plan = memstow.plan_symbolic(graph, OPTIONS)
    assert plan.status == "infeasible"
    assert plan.explanation is not None
    assert plan.explanation.message.startswith(
        "at s=64, in each order of the operators, at least 4,117 bytes"
    )
    verdict = memstow.judge(graph, plan)
    assert verdict.valid
    assert verdict.unchecked == ()
    roomy = replace(graph, pools=(memstow.Pool(id="memory", capacity=4117),))
    assert [violation.code for violation in memstow.verify(roomy, plan)] != []
    assert memstow.plan_symbolic(roomy, OPTIONS).status == "optimal"


def test_what_does_not_fit_in_one_order_may_fit_in_another() -> None:
    # At the point there is room; at the largest value, which is no point, there is not.
    graph = replace(
        FREE,
        symbols=(memstow.Symbol(id="s", min=1, max=64, values=[8]),),
        pools=(memstow.Pool(id="memory", capacity=4000),),
    )
    plan = memstow.plan_symbolic(graph, OPTIONS)
    assert plan.status == "unknown"
    assert plan.explanation is not None
    assert plan.explanation.message.startswith("in the order of the operators that was chosen, ")
    assert plan.explanation.message.endswith(
        "another order may fit, such as one that is found with more time"
    )
    assert memstow.verify(graph, plan) == []


@pytest.mark.parametrize("shapes", ["fixed", "pieces"])
def test_other_kinds_of_plans_have_an_order_as_well(shapes: Any) -> None:
    plan = memstow.plan_symbolic(FREE, OPTIONS, shapes=shapes)
    assert plan.schedule == Schedule(order=("A", "C", "D", "Y"))
    assert memstow.verify(FREE, plan) == []


@pytest.mark.rounds
@settings(max_examples=rounds(40), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_fixed_offsets_have_the_order_that_needs_least_with_the_largest_sizes(seed: int) -> None:
    document, graph = small_graph(seed)
    plan = memstow.plan_symbolic(graph, OPTIONS, shapes="fixed")
    assert memstow.verify(graph, plan) == []
    assert plan.schedule is not None
    # All sizes grow with the symbols.
    largest = at(document, {"s": 9, "t": 9})
    least = min(max(needed(largest, order)) for order in orders(document))
    assert max(needed(largest, plan.schedule.order)) == least


def test_every_plan_on_the_way_is_one_of_the_graph() -> None:
    told: list[SymbolicPlan] = []
    memstow.plan_symbolic(FREE, memstow.Options(time_limit=5), on_better=told.append)
    for plan in told:
        assert plan.schedule is not None
        assert memstow.verify(FREE, plan) == []
