"""Plans of graphs: the given order, the best order against all orders, and what may be claimed of it."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from memstow.planner.generate.graph import graph as generated
from memstow.planner.graph.changes import with_order, without_in_place
from memstow.planner.graph.graph_document import parse_graph
from memstow.planner.graph.live_bytes import order_instance
from memstow.planner.model import Status
from memstow.planner.model.graph import Alternative, Graph, Operator, Order, Temporary, Tensor
from memstow.planner.model.options import Event, Incumbent, Options, Phase
from memstow.planner.model.plan import Cut, Plan, Schedule
from memstow.planner.model.problem import Pool, Reserved
from memstow.planner.solve.engine import plan as solve
from memstow.planner.verify import Standing, judge, verify
from memstow.solvers.core import Budget
from memstow.solvers.orders import ORDER_SOLVERS, OrderListeners, OrderTask
from tests.graphs import Document, most_live, orders, random_graph

QUICK = Options(time_limit=60.0)
SMALLER = Alternative(id="small", replaces=["A"], operators=[Operator(id="A2", inputs=["x"], outputs=["a"])])


def forked() -> Graph:
    """Two branches; the one with the large tensor should run first."""
    return Graph(
        tensors=[
            Tensor(id="x", size=10),
            *(Tensor(id=name, size=size) for name, size in (("a", 100), ("b", 20), ("c", 5), ("d", 60))),
            Tensor(id="y", size=1),
        ],
        operators=[
            Operator(id="D", inputs=["x"], outputs=["d"]),
            Operator(id="A", inputs=["x"], outputs=["a"]),
            Operator(id="B", inputs=["a"], outputs=["b"]),
            Operator(id="C", inputs=["b"], outputs=["c"]),
            Operator(id="Y", inputs=["c", "d"], outputs=["y"]),
        ],
        inputs=["x"],
        outputs=["y"],
    )


def test_the_given_order_is_kept_and_the_best_one_is_found() -> None:
    given = solve(forked(), QUICK)
    assert given.schedule is not None
    assert given.schedule.order == ("D", "A", "B", "C", "Y")
    assert (given.status, given.objective[0].value) == (Status.OPTIMAL, 180)
    free = solve(replace(forked(), order="free"), QUICK)
    assert free.schedule is not None
    assert free.schedule.order == ("A", "B", "C", "D", "Y")
    assert (free.status, free.objective[0].value) == (Status.OPTIMAL, 130)
    for plan, graph in ((given, forked()), (free, replace(forked(), order="free")), (free, forked())):
        assert verify(graph, plan) == []


@pytest.mark.parametrize("rule", ["lpmf", "dfs"])
def test_a_rule_gives_its_order_and_the_bound_of_all(rule: Order) -> None:
    graph = replace(forked(), order=rule)
    plan = solve(graph, QUICK)
    instance = order_instance(graph)
    task, ignored = OrderTask(instance), OrderListeners(lambda *_: None, lambda *_: None)
    order = ORDER_SOLVERS[rule].solve(task, Budget(-1.0, -1), ignored).order
    assert plan.schedule is not None
    assert plan.schedule.order == tuple(graph.operators[i].id for i in order)
    assert plan.objective[0].bound == 130
    assert (plan.status is Status.OPTIMAL) == (plan.objective[0].value == 130)
    for same in (graph, replace(graph, order="free"), forked()):
        assert verify(same, plan) == []
    assert all(claim.standing is Standing.CHECKED for claim in judge(graph, plan).claims)


def test_no_rule_is_called_optimal_without_proof() -> None:
    statuses = set()
    for seed in range(30):
        graph = replace(parse_graph(random_graph(seed, most=6)), order="free", alternatives=())
        best = solve(graph, QUICK)
        for rule in ("lpmf", "dfs"):
            plan = solve(replace(graph, order=rule), QUICK)
            if best.status is Status.OPTIMAL and plan.status is Status.OPTIMAL:
                assert plan.objective == best.objective or plan.objective[0].value == best.objective[0].value
            assert verify(graph, plan) == []
            statuses.add(plan.status)
    assert {Status.OPTIMAL, Status.FEASIBLE} <= statuses


def test_events_tell_of_no_plan_that_is_worse_than_one_before() -> None:
    # A rule that packs badly: other orders are tried, and some of them are worse.
    options = Options(deterministic=True, work_limit=200_000, solver="tflm")
    tried = 0
    for seed in (1, 2, 6):
        events: list[Event] = []
        plan = solve(with_order(generated(24, seed, family="cells"), "free"), options, on_event=events.append)
        values = [event.value for event in events if isinstance(event, Incumbent)]
        assert values == sorted(values, reverse=True)
        assert values[-1] == plan.objective[0].value
        tried += sum(isinstance(event, Phase) and event.name == "check" for event in events)
    assert tried > 3


def test_events_of_all_phases_have_one_clock() -> None:
    events: list[Event] = []
    solve(with_order(generated(40, 1, family="wiring"), "free"), QUICK, on_event=events.append)
    seconds = [event.seconds for event in events]
    assert len(seconds) > 3
    assert seconds == sorted(seconds)


@pytest.mark.parametrize("chunk", range(6))
def test_the_best_order_is_that_of_all_orders(chunk: int) -> None:
    for seed in range(chunk, 60, 6):
        document = random_graph(seed, most=5)
        graph = parse_graph(document)
        plan = solve(graph, QUICK)
        assert verify(graph, plan) == [], seed
        assert plan.schedule is not None
        least = min(most_live(document, order) for order in orders(document))
        assert plan.objective[0].bound <= least, (seed, least)
        assert plan.objective[0].bound == least, (seed, least)
        assert plan.objective[0].value >= least
        if least:
            short = replace(graph, pools=(Pool(id="memory", capacity=least - 1),))
            refused = solve(short, QUICK)
            assert refused.status is Status.INFEASIBLE, seed
            assert refused.explanation is not None
            assert refused.explanation.needed == least, seed
            assert judge(short, refused).violations == ()
        enough = replace(graph, pools=(Pool(id="memory", capacity=plan.objective[0].value),))
        assert solve(enough, QUICK).status is Status.OPTIMAL, seed


def test_a_plan_that_claims_less_than_every_order_needs_is_refuted() -> None:
    graph = replace(forked(), order="free")
    plan = solve(graph, QUICK)
    listed = solve(forked(), QUICK)
    # The bound of the listed order is none of the graph: other orders need less.
    codes = {violation.code.value for violation in verify(graph, listed)}
    assert codes == {"certificate"}
    wrong = replace(plan, schedule=Schedule(order=("Y", "A", "B", "C", "D")))
    assert {violation.code.value for violation in verify(graph, wrong)} == {"order"}
    missing = replace(plan, schedule=Schedule(order=("A", "B", "C", "D")))
    assert {violation.code.value for violation in verify(graph, missing)} == {"order"}
    assert {violation.code.value for violation in verify(graph, replace(plan, schedule=None))} >= {"digest"}


def test_the_order_is_a_claim_that_is_checked() -> None:
    graph = replace(forked(), order="free")
    claim = judge(graph, solve(graph, QUICK)).claims[0]
    assert (claim.subject.value, claim.standing) == ("order", Standing.CHECKED)


def test_with_several_pools_nothing_is_claimed_of_peaks() -> None:
    graph = replace(forked(), order="free", pools=(Pool(id="fast", capacity=120), Pool(id="slow", cost=1)))
    plan = solve(graph, Options(time_limit=5.0, solver="greedy"))
    assert verify(graph, plan) == []
    assert [term.term for term in plan.objective] == ["placement_cost", "peak"]
    assert plan.objective[1].bound == 0
    assert all(use.bound == 0 for use in plan.pools)


def test_that_one_order_does_not_fit_is_no_proof_and_another_is_found() -> None:
    graph = replace(forked(), pools=(Pool(id="memory", capacity=130),))
    assert solve(graph, QUICK).status is Status.INFEASIBLE
    free = solve(replace(graph, order="free"), QUICK)
    assert free.status is Status.OPTIMAL


def tight(reserved: Sequence[Reserved] = (), capacity: int = 129) -> Graph:
    """In a memory with a byte less than the best order needs."""
    return replace(forked(), order="free", pools=(Pool(id="memory", capacity=capacity, reserved=reserved),))


def test_that_no_order_fits_is_proven_by_what_each_needs() -> None:
    plan = solve(tight(), QUICK)
    assert plan.status is Status.INFEASIBLE
    assert plan.explanation is not None
    assert (plan.explanation.code, plan.explanation.needed, plan.explanation.capacity) == (
        "no_order",
        130,
        129,
    )
    verdict = judge(tight(), plan)
    assert verdict.violations == ()
    assert {claim.standing for claim in verdict.claims} == {Standing.CHECKED}
    around = tight([Reserved(offset=100, size=50), Reserved(offset=140, size=20)], 189)
    plan = solve(around, QUICK)
    assert plan.explanation is not None
    assert (plan.explanation.needed, plan.explanation.reserved) == (190, 60)
    assert judge(around, plan).violations == ()
    assert solve(tight(capacity=130), QUICK).status is Status.OPTIMAL


def test_a_false_proof_that_no_order_fits_is_refused() -> None:
    plan = solve(tight(), QUICK)
    said = plan.explanation
    assert said is not None
    for graph, forged in (
        (tight(), replace(said, needed=131)),
        (tight(), replace(said, needed=129)),
        (tight(), replace(said, needed=None)),
        (tight(), replace(said, certificate=Cut(operator="C"))),
        (tight(), replace(said, certificate=Cut(operator="nobody"))),
        (tight(), replace(said, code="no_layout")),
        (tight(capacity=130), replace(said, capacity=130)),
        (replace(tight(), alternatives=(SMALLER,)), said),
    ):
        codes = {violation.code.value for violation in verify(graph, replace(plan, explanation=forged))}
        assert "explanation" in codes, forged
    bare = replace(plan, explanation=replace(said, certificate=None))
    assert verify(tight(), bare) == []
    assert Standing.CLAIMED in {claim.standing for claim in judge(tight(), bare).claims}


def test_a_graph_with_alternatives_claims_nothing() -> None:
    for order in ("given", "free"):
        graph = replace(forked(), order=order, alternatives=(SMALLER,))
        plan = solve(graph, Options(time_limit=2.0))
        assert (plan.status, plan.objective[0].bound) == (Status.FEASIBLE, 0)
        assert verify(graph, plan) == []
        bold = solve(replace(graph, alternatives=()), QUICK)
        assert {violation.code.value for violation in verify(graph, bold)} == {"certificate"}


def test_a_deterministic_run_has_one_answer() -> None:
    graph = with_order(generated(60, 5, family="wiring"), "free")
    options = Options(deterministic=True, work_limit=3_000_000)
    one, other = solve(graph, options), solve(graph, options)
    assert one == other
    assert verify(graph, one) == []


def test_a_run_that_is_cancelled_returns_what_it_has() -> None:
    graph = with_order(generated(300, 5, family="wiring"), "free")
    cancel = threading.Event()
    cancel.set()
    plan = solve(graph, Options(time_limit=600.0), cancel=cancel)
    assert verify(graph, plan) == []


def test_better_plans_are_plans_of_the_graph() -> None:
    graph = replace(forked(), order="free")
    seen: list[Plan] = []
    solve(graph, QUICK, on_better=lambda make: seen.append(make()))
    assert seen
    assert all(verify(graph, plan) == [] for plan in seen)


def test_there_are_plans_before_the_search_for_an_order_ends() -> None:
    graph = with_order(generated(60, 5, family="wiring"), "free")
    seen: list[Plan] = []
    phases: list[str] = []
    before_places: list[Plan] = []

    def take(make: Callable[[], Plan]) -> None:
        seen.append(make())
        if "check" not in phases:
            before_places.append(seen[-1])

    def hear(event: Event) -> None:
        if isinstance(event, Phase):
            phases.append(event.name)

    last = solve(graph, Options(time_limit=2.0), on_event=hear, on_better=take)
    assert before_places
    assert all(verify(graph, plan) == [] for plan in (*seen, last))
    assert last.objective[0].value == min(plan.objective[0].value for plan in (*seen, last))
    assert last.objective[0].bound > 0


@pytest.mark.parametrize(("operators", "tries"), [(24, True), (2_001, False)])
def test_other_orders_of_large_graphs_do_not_take_time_from_the_first(operators: int, tries: bool) -> None:
    graph = with_order(generated(operators, 2, family="cells"), "free")
    events: list[Event] = []
    options = Options(deterministic=True, work_limit=200_000, solver="tflm")
    plan = solve(graph, options, on_event=events.append)
    assert plan.schedule is not None
    placed = sum(isinstance(event, Phase) and event.name == "check" for event in events)
    assert plan.objective[0].gap > 0
    assert (placed > 1) == tries


def test_a_deterministic_run_makes_no_plans_but_those_of_its_own() -> None:
    graph = with_order(generated(60, 5, family="wiring"), "free")
    options = Options(deterministic=True, work_limit=100_000)
    heard: list[Plan] = []
    assert solve(graph, options, on_better=lambda make: heard.append(make())) == solve(graph, options)


def test_a_run_begins_with_the_order_of_the_hint() -> None:
    graph = with_order(generated(150, 1, family="wiring"), "free")
    long = solve(graph, Options(deterministic=True, work_limit=2_000_000))
    short = Options(deterministic=True, work_limit=1)
    assert solve(graph, short).objective[0].value > long.objective[0].value
    again = solve(graph, replace(short, hint=long))
    assert again.objective[0].value == long.objective[0].value
    assert verify(graph, again) == []


def test_the_order_of_a_hint_that_the_graph_does_not_allow_is_passed_over() -> None:
    graph = replace(forked(), order="free")
    plan = solve(graph, QUICK)
    for order in (("Y", "A", "B", "C", "D"), ("A", "B", "C", "D"), ("A", "A", "B", "C", "Y"), ()):
        hint = replace(plan, schedule=Schedule(order=order))
        assert solve(graph, replace(QUICK, hint=hint)).objective == plan.objective
    # The order of a rule is its own.
    other = solve(replace(graph, order="lpmf"), replace(QUICK, hint=plan))
    assert other.schedule == solve(replace(graph, order="lpmf"), QUICK).schedule


def test_without_pairs_in_place_none_is_used() -> None:
    graph = Graph(
        tensors=[Tensor(id="x", size=8), Tensor(id="y", size=8)],
        operators=[Operator(id="f", inputs=["x"], outputs=["y"], in_place=[("x", "y")])],
        inputs=["x"],
        outputs=["y"],
    )
    assert solve(graph, QUICK).objective[0].value == 8
    assert solve(without_in_place(graph), QUICK).objective[0].value == 16


def test_an_empty_graph_has_a_plan() -> None:
    for order in ("given", "free"):
        empty: Document = {"version": 1, "tensors": [], "operators": [], "order": order}
        graph = parse_graph(empty)
        plan = solve(graph, QUICK)
        assert verify(graph, plan) == []
    alone = parse_graph(
        {"version": 1, "tensors": [{"id": "x", "size": 3}], "operators": [], "inputs": ["x"], "order": "free"}
    )
    assert solve(alone, QUICK).objective[0].value == 3


@pytest.mark.parametrize("order", ["free", "lpmf", "dfs"])
def test_sizes_whose_sums_are_too_large_keep_the_listed_order_and_claim_nothing(order: Order) -> None:
    graph = forked()
    huge = replace(
        graph, tensors=tuple(replace(tensor, size=(tensor.size or 0) << 54) for tensor in graph.tensors)
    )
    planned = solve(with_order(huge, order), QUICK)
    assert planned.status is Status.FEASIBLE
    assert planned.schedule is not None
    assert planned.schedule.order == ("D", "A", "B", "C", "Y")
    assert (planned.objective[0].value, planned.objective[0].bound) == (180 << 54, 0)
    assert verify(with_order(huge, order), planned) == []


def test_temporaries_of_more_than_64_bits_end_without_an_order_and_without_a_defect() -> None:
    huge = tuple(Temporary(id=name, size=1 << 62) for name in ("t0", "t1"))
    graph = Graph(
        tensors=[Tensor(id="x", size=8), Tensor(id="y", size=4)],
        operators=[
            Operator(id="f", inputs=["x"], outputs=["y"], temporaries=huge),
            Operator(id="g", inputs=["x"]),
        ],
        inputs=["x"],
        outputs=["y"],
    )
    assert solve(graph, Options(deterministic=True)).status is Status.INFEASIBLE
    orders_searched: tuple[Order, ...] = ("free", "lpmf")
    for order in orders_searched:
        answer = solve(with_order(graph, order), Options(deterministic=True))
        assert (answer.status, answer.placements) == (Status.UNKNOWN, ())


def test_where_the_best_order_packs_badly_others_have_their_turn() -> None:
    graph = replace(generated(100, 1, family="training"), order="free")
    plan = solve(graph, Options(deterministic=True, work_limit=20_000_000))
    assert plan.status is Status.OPTIMAL
    assert verify(graph, plan) == []
