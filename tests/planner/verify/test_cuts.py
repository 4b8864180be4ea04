"""The certificate of a bound over all orders: right ones are accepted, and nothing that proves too much."""

from dataclasses import replace
from random import Random

from memstow.planner.graph.graph_document import parse_graph
from memstow.planner.graph.schedules import scheduled_problem
from memstow.planner.model.graph import Graph, Operator, Tensor
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Chain, Cut, Plan, Way
from memstow.planner.solve.engine import plan as solve
from memstow.planner.verify import Standing, Subject, judge, verify
from memstow.planner.verify.order_bounds import reason_against_orders
from tests.graphs import most_live, orders, random_graph


def certificate_of(plan: Plan) -> Cut | None:
    result = plan.objective[0].certificate
    return result if isinstance(result, Cut) else None


def test_bounds_of_random_graphs_are_proven_and_no_byte_more() -> None:
    proven = 0
    for seed in range(150):
        document = random_graph(seed, most=5)
        graph = parse_graph(document)
        plan = solve(graph, Options(time_limit=60.0))
        certificate = certificate_of(plan)
        if certificate is None:
            continue
        proven += 1
        bound = plan.objective[0].bound
        assert reason_against_orders(graph, bound, certificate) is None, seed
        least = min(most_live(document, order) for order in orders(document))
        assert reason_against_orders(graph, least + 1, certificate) is not None, seed
        claims = {claim.subject: claim for claim in judge(graph, plan).claims}
        assert (claims[Subject.BOUND].standing, claims[Subject.BOUND].by) == (Standing.CHECKED, "cut")
    assert proven > 40


def mutated(rng: Random, certificate: Cut, graph: Graph) -> Cut:
    """The certificate with an accident."""
    ways = list(certificate.ways)
    if not ways or rng.random() < 0.2:
        return replace(certificate, operator=rng.choice(graph.operators).id)
    at = rng.randrange(len(ways))
    way, chains = ways[at], list(ways[at].chains)
    tensor = rng.choice(graph.tensors).id
    match rng.randrange(6):
        case 0:
            chains.append(Chain(bytes=rng.randint(1, 9), storages=(tensor,)))
        case 1 if chains:
            k = rng.randrange(len(chains))
            chains[k] = replace(chains[k], bytes=chains[k].bytes + rng.randint(1, 5))
        case 2 if chains:
            k = rng.randrange(len(chains))
            chains[k] = replace(chains[k], storages=(*chains[k].storages, tensor))
        case 3 if way.pairs:
            way = replace(way, pairs=way.pairs[1:])
        case 4 if len(ways) > 1:
            del ways[at]
            return replace(certificate, ways=tuple(ways))
        case _:
            chains.append(Chain(bytes=2, saving=rng.randint(0, 2)))
    ways[at] = Way(pairs=way.pairs, chains=tuple(chains))
    return replace(certificate, ways=tuple(ways))


def test_no_accident_in_a_certificate_proves_more_than_the_least() -> None:
    rng, tried = Random(5), 0
    for seed in range(80):
        document = random_graph(seed, most=5)
        graph = parse_graph(document)
        certificate = certificate_of(solve(graph, Options(time_limit=60.0)))
        if certificate is None:
            continue
        least = min(most_live(document, order) for order in orders(document))
        for _ in range(60):
            wrong = certificate
            for _ in range(rng.randint(1, 3)):
                wrong = mutated(rng, wrong, graph)
            assert reason_against_orders(graph, least + 1, wrong) is not None, (seed, wrong)
            tried += 1
    assert tried > 1_000


def diamond() -> Graph:
    """Two branches of which either may come first: while C runs, a or b is live beside it."""
    return Graph(
        tensors=[Tensor(id=name, size=size) for name, size in (("x", 8), ("a", 4), ("b", 4), ("y", 1))],
        operators=[
            Operator(id="A", inputs=["x"], outputs=["a"]),
            Operator(id="B", inputs=["x"], outputs=["b"]),
            Operator(id="Y", inputs=["a", "b"], outputs=["y"]),
        ],
        inputs=["x"],
        outputs=["y"],
        order="free",
    )


def test_a_certificate_about_a_graph_proves_nothing_about_its_problem() -> None:
    graph = replace(diamond(), before=(("A", "B"),))
    plan = solve(graph, Options(time_limit=60.0))
    assert certificate_of(plan) is not None
    assert verify(graph, plan) == []
    problem = scheduled_problem(graph, plan.schedule)
    assert {violation.code.value for violation in verify(problem, plan)} == {"certificate"}


def test_what_a_certificate_may_not_say() -> None:
    graph = diamond()
    plain = Cut(operator="A", ways=(Way(),))
    assert reason_against_orders(graph, 12, plain) is None
    assert reason_against_orders(graph, 13, plain) is not None
    assert reason_against_orders(graph, 8, Cut(operator=None)) is None
    assert reason_against_orders(graph, 9, Cut(operator=None)) is not None
    assert reason_against_orders(graph, 1, Cut(operator="Q", ways=(Way(),))) is not None
    assert reason_against_orders(graph, 1, Cut(operator="A")) is not None
    for chain in (
        Chain(bytes=4, storages=("b",)),
        Chain(bytes=4, storages=("q",)),
        Chain(bytes=4, storages=(("a", 1),)),
        Chain(bytes=1, storages=("x",)),
        Chain(bytes=1, storages=("x", "x")),
        Chain(bytes=1, saving=0),
        Chain(bytes=1),
    ):
        wrong = Cut(operator="A", ways=(Way(chains=(chain,)),))
        assert reason_against_orders(graph, 13, wrong) is not None, chain


def test_a_pair_that_does_not_save_may_leave_its_output_to_another() -> None:
    # V may write over i1 once R has read it, and over i2 at once: then it needs 20 bytes, and no less.
    graph = Graph(
        tensors=[Tensor(id=name, size=size) for name, size in (("i1", 10), ("i2", 8), ("o", 10), ("r", 10))],
        operators=[
            Operator(id="V", inputs=["i1", "i2"], outputs=["o"], in_place=[("i1", "o"), ("i2", "o")]),
            Operator(id="R", inputs=["i1"], outputs=["r"]),
        ],
        inputs=["i1", "i2"],
        outputs=["o", "r"],
        order="free",
    )
    chain = Chain(bytes=10, storages=("r",), saving=0)
    wrong = Cut(operator="V", ways=(Way(pairs=(("i1", "o"),), chains=(chain,)),))
    assert reason_against_orders(graph, 21, wrong) is not None
    second = Way(pairs=(("i2", "o"),))
    right = Cut(operator="V", ways=(*wrong.ways, second))
    assert reason_against_orders(graph, 20, right) is None
    assert reason_against_orders(graph, 21, right) is not None
