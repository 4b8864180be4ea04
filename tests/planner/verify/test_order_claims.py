"""Bounds of all orders of a graph: proofs that the judge accepts, and forged ones that it does not."""

from dataclasses import replace
from functools import partialmethod

import pytest

from memstow.planner.generate.graph import graph as generated
from memstow.planner.graph.changes import with_order
from memstow.planner.graph.graph_document import parse_graph
from memstow.planner.model import Status
from memstow.planner.model.graph import Graph, Operator, Tensor, View
from memstow.planner.model.options import Options
from memstow.planner.model.plan import (
    Chain,
    Cut,
    DeadSet,
    Explanation,
    Plan,
    RefutedOrders,
    Schedule,
    Way,
    gap_of,
)
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.solve.engine import plan as solve
from memstow.planner.verify import Standing, Subject, judge, verify
from memstow.planner.verify.order_bounds import reason_against_orders
from memstow.planner.verify.verdict import STEPS_OF_A_PROOF, Effort, TooMuch
from tests.graphs import random_graph

OPTIONS = Options(time_limit=60.0)


def proven(graph: Graph) -> tuple[Plan, Cut | RefutedOrders]:
    plan = solve(graph, OPTIONS)
    certificate = plan.objective[0].certificate
    assert isinstance(certificate, Cut | RefutedOrders)
    return plan, certificate


def with_bound(plan: Plan, bound: int, certificate: Cut | RefutedOrders) -> Plan:
    """The plan with another bound of its first term."""
    first = replace(
        plan.objective[0], bound=bound, certificate=certificate, gap=gap_of(plan.objective[0].value, bound)
    )
    return replace(plan, objective=(first, *plan.objective[1:]))


def hard() -> Graph:
    """A graph whose least peak no cut proves."""
    for seed in range(1, 100):
        graph = with_order(generated(24, seed, family="wiring"), "free")
        if isinstance(solve(graph, OPTIONS).objective[0].certificate, RefutedOrders):
            return graph
    raise AssertionError("every least peak is a cut")


def test_proofs_of_random_graphs_are_checked() -> None:
    kinds = set()
    for seed in range(120):
        graph = parse_graph(random_graph(seed, most=6))
        plan = solve(graph, OPTIONS)
        if graph.order == "free" and not graph.alternatives and len(graph.pools) <= 1:
            bound = next(claim for claim in judge(graph, plan).claims if claim.subject is Subject.BOUND)
            assert (bound.standing, bound.by) == (Standing.CHECKED, plan.objective[0].certificate.kind)  # type: ignore[union-attr]
            kinds.add(bound.by)
    assert "cut" in kinds


def test_a_search_that_ran_dry_is_gone_through_again() -> None:
    graph = hard()
    plan, certificate = proven(graph)
    assert isinstance(certificate, RefutedOrders)
    assert verify(graph, plan) == []
    for k in range(len(certificate.sets)):
        shorter = replace(certificate, sets=(*certificate.sets[:k], *certificate.sets[k + 1 :]))
        changed = with_bound(plan, plan.objective[0].bound, shorter)
        assert [issue.code.value for issue in verify(graph, changed)] == ["certificate"]


def test_no_certificate_proves_more_than_there_is() -> None:
    graph = hard()
    plan, certificate = proven(graph)
    assert isinstance(certificate, RefutedOrders)
    least = plan.objective[0].bound
    assert reason_against_orders(graph, least, certificate) is None
    assert reason_against_orders(graph, least + 1, certificate) is not None
    assert reason_against_orders(graph, least + 1, replace(certificate, height=least)) is not None


FORK = Graph(
    tensors=[Tensor(id=name, size=size) for name, size in (("x", 4), ("a", 8), ("b", 2), ("y", 1))],
    operators=[
        Operator(id="A", inputs=["x"], outputs=["a"]),
        Operator(id="B", inputs=["x"], outputs=["b"]),
        Operator(id="Y", inputs=["a", "b"], outputs=["y"]),
    ],
    inputs=["x"],
    outputs=["y"],
    order="free",
)


def cut(operator: str | None, *chains: Chain) -> Cut:
    return Cut(operator=operator, ways=() if operator is None else (Way(chains=chains),))


@pytest.mark.parametrize(
    ("certificate", "bound", "reason"),
    [
        # While A runs, x, a, and b or what it is made from: x is live anyway.
        (cut("A"), 12, None),
        (cut("A"), 13, "it shows that every order needs 12 bytes"),
        (cut("B"), 6, None),
        (cut("B", Chain(bytes=8, storages=("a",))), 14, "need not have begun"),
        (cut("Y"), 11, None),
        (cut("Y", Chain(bytes=1, storages=("a",))), 12, "more bytes than it has"),
        (cut("Y", Chain(bytes=1, storages=("x",))), 12, "may have ended"),
        (cut("Y", Chain(bytes=1, storages=("x",), saving=0)), 12, "not granted"),
        (cut("Y", Chain(bytes=1, storages=("z",))), 12, "'z'"),
        (cut("Z"), 1, "'Z'"),
        (cut(None), 4, None),
        (cut(None), 5, "needs 4 bytes"),
        (Cut(operator="A"), 1, "says nothing"),
        (RefutedOrders(height=11, sets=(DeadSet(changes=()), DeadSet(changes=("B",)))), 12, None),
        (RefutedOrders(height=11, sets=(DeadSet(changes=()),)), 12, "not said to be dead"),
        (RefutedOrders(height=12, sets=(DeadSet(changes=()),)), 13, "not said to be dead"),
        (RefutedOrders(height=11, sets=()), 12, "not said to be dead"),
        (RefutedOrders(height=11, sets=(DeadSet(changes=("Y",)),)), 12, "not said to be dead"),
        (
            RefutedOrders(height=11, sets=(DeadSet(changes=()), DeadSet(changes=("A", "B", "Y")))),
            12,
            "not said",
        ),
        (
            RefutedOrders(height=11, sets=tuple(DeadSet(changes=entry) for entry in (("Y",), ("Y",)))),
            12,
            "lacks what",
        ),
        (RefutedOrders(height=11, sets=(DeadSet(changes=(), commit=("Y",)),)), 12, "lacks what"),
        (RefutedOrders(height=11, late=("Y",), sets=(DeadSet(changes=()),)), 12, "nothing waits"),
        (RefutedOrders(height=11, late=("B",), sets=(DeadSet(changes=()),)), 12, "may end"),
    ],
)
def test_what_a_certificate_shows(certificate: Cut | RefutedOrders, bound: int, reason: str | None) -> None:
    result = reason_against_orders(FORK, bound, certificate)
    assert (result is None) == (reason is None), result
    assert (reason or "") in (result or "")


def test_views_whose_bytes_may_lie_idle_prove_nothing() -> None:
    graph = replace(FORK, views=(View(tensor="y", of="a", offset=0), View(tensor="b", of="x", offset=0)))
    assert reason_against_orders(graph, 1, cut("A")) is None
    idle = replace(FORK, views=(View(tensor="b", of="a", offset=0),))
    assert "one right after the other" in (reason_against_orders(idle, 1, cut("A")) or "")
    circle = replace(FORK, views=(View(tensor="b", of="a"), View(tensor="a", of="b")))
    assert "lie in each other" in (reason_against_orders(circle, 1, cut("A")) or "")


def test_views_of_each_other_may_both_be_there_from_the_start() -> None:
    tensors = [Tensor(id=name, size=size) for name, size in (("x", 9), ("part", 4), ("a", 5), ("b", 3))]
    graph = Graph(
        tensors=tensors,
        operators=[
            Operator(id="A", inputs=["part"], outputs=["a"]),
            Operator(id="B", inputs=["x"], outputs=["b"]),
        ],
        inputs=["x", "part"],
        outputs=["a", "b"],
        views=[View(tensor="part", of="x", offset=2)],
        order="free",
    )
    plan, certificate = proven(graph)
    assert reason_against_orders(graph, plan.objective[0].bound, certificate) is None
    assert verify(graph, plan) == []


def test_a_problem_has_no_orders_to_prove_anything_of() -> None:
    problem = Problem(buffers=[Buffer(id="a", size=4, lifetime=(0, 1))])
    plan = with_bound(solve(problem, OPTIONS), 4, cut(None))
    assert [issue.message for issue in verify(problem, plan)] == [
        "the certificate does not prove that peak is at least 4: it is about the orders of a graph"
    ]


def test_that_no_order_fits_is_said_of_a_graph_of_one_pool_alone() -> None:
    why = Explanation(code="no_order", message="so it is")
    nothing = Plan(status=Status.INFEASIBLE, explanation=why)
    problem = Problem(buffers=[Buffer(id="a", size=4, lifetime=(0, 1))], pools=[Pool(id="p", capacity=9)])
    for document in (problem, replace(FORK, pools=(Pool(id="fast", capacity=1), Pool(id="slow")))):
        verdict = judge(document, nothing)
        assert ["about the orders of a graph" in violation.message for violation in verdict.violations] == [
            True
        ]
        assert verdict.claims[-1].standing is Standing.REFUTED
    assert judge(replace(FORK, pools=(Pool(id="p", capacity=1),), order="free"), nothing).valid


def test_with_several_pools_a_proof_of_all_bytes_says_nothing_of_one() -> None:
    graph = replace(FORK, pools=(Pool(id="fast"), Pool(id="slow")), objective=("max_peak",))
    plan = with_bound(solve(graph, OPTIONS), 1, cut("A"))
    messages = [issue.message for issue in verify(graph, plan)]
    assert any("the peak of a single pool" in message for message in messages)


def test_a_proof_that_takes_too_much_work_stays_a_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = hard()
    plan, certificate = proven(graph)
    assert isinstance(certificate, RefutedOrders)
    steps = 0
    spend = Effort.spend

    def counted(self: Effort, more: int) -> None:
        nonlocal steps
        steps += more
        spend(self, more)

    monkeypatch.setattr(Effort, "spend", counted)
    assert reason_against_orders(graph, plan.objective[0].bound, certificate) is None
    assert 0 < steps < STEPS_OF_A_PROOF / 100
    limited = partialmethod(Effort.__init__, most=steps - 1)
    monkeypatch.setattr(Effort, "__init__", limited)
    with pytest.raises(TooMuch):
        reason_against_orders(graph, plan.objective[0].bound, certificate)
    verdict = judge(graph, plan)
    assert verdict.valid
    assert [
        (claim.subject, claim.standing) for claim in verdict.unchecked if claim.subject is Subject.BOUND
    ] == [(Subject.BOUND, Standing.CLAIMED)]


def wide(count: int) -> tuple[Graph, RefutedOrders]:
    """Operators that may run in any order, and a refutation of which each set takes all pairs."""
    tensors = [Tensor(id="y", size=1), *(Tensor(id=f"t{i}", size=1) for i in range(count))]
    graph = Graph(
        tensors=tensors,
        operators=[
            *(Operator(id=f"A{i}", outputs=[f"t{i}"]) for i in range(count)),
            Operator(id="Y", inputs=[f"t{i}" for i in range(count)], outputs=["y"]),
        ],
        outputs=["y"],
        order="free",
    )
    empty = [DeadSet(changes=())] * 1000
    first = DeadSet(changes=("A0",))
    others = [DeadSet(changes=(f"A{i}", f"A{i + 1}")) for i in range(count - 1)]
    return graph, RefutedOrders(height=count + 1, sets=(*empty, first, *others))


def test_a_crafted_refutation_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Effort, "__init__", partialmethod(Effort.__init__, most=STEPS_OF_A_PROOF // 100))
    graph, certificate = wide(100)
    with pytest.raises(TooMuch):
        reason_against_orders(graph, 1, certificate)


def test_graphs_of_more_operators_than_the_judge_has_memory_for_are_not_checked() -> None:
    operators = [Operator(id=f"A{i}") for i in range(20_001)]
    with pytest.raises(TooMuch):
        reason_against_orders(Graph(tensors=[], operators=operators, order="free"), 0, cut(None))


@pytest.mark.parametrize("count", [3000])
def test_large_graphs_are_judged(count: int) -> None:
    graph = with_order(generated(count, 1, family="chain"), "free")
    plan, certificate = proven(graph)
    assert certificate.kind == "cut"
    assert verify(graph, plan) == []


def test_that_one_order_does_not_fit_is_no_proof_that_none_does() -> None:
    """In 15 bytes o1 and then o0 fits; the order o0, o1 does not."""
    graph = Graph(
        order="free",
        pools=[Pool(id="m", capacity=15)],
        tensors=[Tensor(id="i", size=5), Tensor(id="t", size=7), Tensor(id="u", size=10)],
        operators=[Operator(id="o0", outputs=["t"]), Operator(id="o1", inputs=["i"], outputs=["u"])],
        inputs=["i"],
        outputs=["t"],
    )
    explanation = Explanation(
        code="over_capacity", message="22 bytes", pool="m", time=2, needed=22, buffers=("u", "i", "t")
    )
    plan = Plan(status=Status.INFEASIBLE, schedule=Schedule(order=("o0", "o1")), explanation=explanation)
    verdict = judge(graph, plan)
    assert [claim.standing for claim in verdict.claims if claim.subject is Subject.NOTHING_FITS] == [
        Standing.CLAIMED
    ]
    assert solve(graph, OPTIONS).status is Status.OPTIMAL
    given = judge(with_order(graph, "given"), plan)
    assert [claim.standing for claim in given.claims if claim.subject is Subject.NOTHING_FITS] == [
        Standing.CHECKED
    ]


def test_that_a_schedule_with_another_run_does_not_fit_is_no_proof_that_none_does() -> None:
    graph = Graph(
        pools=[Pool(id="m", capacity=14)],
        tensors=[Tensor(id="x", size=4), Tensor(id="a", size=6), Tensor(id="b", size=8)],
        operators=[
            Operator(id="f", inputs=["x"], outputs=["a"]),
            Operator(id="g", inputs=["a"], outputs=["b"]),
        ],
        inputs=["x"],
        outputs=["b"],
    )
    explanation = Explanation(code="over_capacity", message="18", pool="m", time=2, buffers=("x", "a", "b"))
    plan = Plan(status=Status.INFEASIBLE, schedule=Schedule(order=("f", "g", "f")), explanation=explanation)
    assert judge(graph, plan).unchecked
