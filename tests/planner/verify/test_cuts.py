"""The certificate of a bound over all orders: right ones are accepted, and nothing that proves too much."""

from dataclasses import replace
from random import Random

from memstow.planner.graph.lowering import scheduled_problem
from memstow.planner.graph.reading import parse_graph
from memstow.planner.model.graph import Graph, Operator, Tensor
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Chain, Cut, Plan, Way
from memstow.planner.solve.engine import plan as solve
from memstow.planner.verify import Standing, Subject, judge, verify
from memstow.planner.verify.graphs.cut import CutCheck
from tests.graphs import most_live, orders, random_graph


def certificate_of(plan: Plan) -> Cut | None:
    found = plan.objective[0].certificate
    return found if isinstance(found, Cut) else None


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
        check = CutCheck(graph)
        assert check.reason_against(bound, certificate) is None, seed
        least = min(most_live(document, order) for order in orders(document))
        assert check.reason_against(least + 1, certificate) is not None, seed
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
            chains.append(Chain(bytes=rng.randint(1, 9), live=((tensor, 0),)))
        case 1 if chains:
            k = rng.randrange(len(chains))
            chains[k] = replace(chains[k], bytes=chains[k].bytes + rng.randint(1, 5))
        case 2 if chains:
            k = rng.randrange(len(chains))
            chains[k] = replace(chains[k], live=(*chains[k].live, (tensor, rng.randint(0, 2))))
        case 3 if way.saved:
            way = replace(way, saved=way.saved[1:])
        case 4 if len(ways) > 1:
            del ways[at]
            return replace(certificate, ways=tuple(ways))
        case _:
            chains.append(Chain(bytes=2, live=(), unless=rng.choice(way.saved) if way.saved else None))
    ways[at] = Way(saved=way.saved, chains=tuple(chains))
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
        check = CutCheck(graph)
        for _ in range(60):
            wrong = certificate
            for _ in range(rng.randint(1, 3)):
                wrong = mutated(rng, wrong, graph)
            assert check.reason_against(least + 1, wrong) is not None, (seed, wrong)
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
    check = CutCheck(diamond())
    assert check.reason_against(12, Cut(operator="A", ways=(Way(saved=()),))) is None
    none_more = check.reason_against(13, Cut(operator="A", ways=(Way(saved=()),)))
    assert none_more == "'A' needs at least 12 bytes by it"
    assert check.reason_against(8, Cut(operator=None)) is None
    assert "both ends" in str(check.reason_against(9, Cut(operator=None)))
    assert "not an operator" in str(check.reason_against(1, Cut(operator="Q")))
    assert "no way to save" in str(check.reason_against(1, Cut(operator="A")))
    for chain, reason in (
        (Chain(bytes=4, live=(("b", 0),)), "may not have begun"),
        (Chain(bytes=4, live=(("q", 0),)), "no piece"),
        (Chain(bytes=4, live=(("a", 1),)), "no piece"),
        (Chain(bytes=1, live=(("x", 0),)), "more bytes than it has"),
        (Chain(bytes=1, live=(("x", 0), ("x", 0))), "twice"),
        (Chain(bytes=1, live=(), unless=("x", "a")), "does not grant"),
        (Chain(bytes=1, live=()), "may have ended"),
    ):
        said = check.reason_against(13, Cut(operator="A", ways=(Way(saved=(), chains=(chain,)),)))
        assert reason in str(said), chain
