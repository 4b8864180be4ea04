"""What is made again or copied out: bounds and points against all schedules of tiny graphs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement, product
from random import Random

import pytest

from memstow.planner.generate.graph import graph as generated
from memstow.planner.generate.graph import training_step
from memstow.planner.graph import recompute as points_module
from memstow.planner.graph.graph_document import parse_graph
from memstow.planner.graph.links import links_of, listed_order
from memstow.planner.graph.lowering import listed_problem
from memstow.planner.graph.operators import operator_costs, with_cost_unit
from memstow.planner.graph.recompute import Choice, ChosenPoint, Patience, peak_of, recompute_points
from memstow.planner.graph.recompute_search import Archive, ProgramRun
from memstow.planner.graph.schedules import with_runs
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph
from memstow.planner.model.options import Callbacks, Options
from memstow.planner.model.plan import Schedule, Spill
from memstow.planner.model.problem import Pool
from memstow.planner.solve.graphs import plan_graph
from memstow.planner.verify import verify
from memstow.planner.verify.graph_verdict import schedule_cost
from tests.campaign import gate_first
from tests.graphs import Document, live_bytes_of, orders, random_graph

MOST_AGAIN = 2
WORK = Patience(work=20_000)


def simple_graph(seed: int, count: int = 5) -> Graph:
    """A random graph of plain tensors, each operator of cost 1 or 2."""
    random = Random(seed)
    tensors: list[Document] = [{"id": "x", "size": random.randint(0, 5)}]
    operators: list[Document] = []
    for number in range(random.randint(2, count)):
        names = [tensor["id"] for tensor in tensors]
        inputs = random.sample(names, min(len(names), random.randint(1, 2)))
        made = [f"t{number}.{k}" for k in range(random.choice((1, 1, 1, 2)))]
        tensors += [{"id": name, "size": random.choice((1, 2, 3, 5, 8))} for name in made]
        operator: Document = {
            "id": f"o{number}",
            "inputs": inputs,
            "outputs": made,
            "cost": random.randint(1, 2),
            "in_place": [[a, b] for a in inputs for b in made if random.random() < 0.3],
        }
        if random.random() < 0.3:
            operator["temporaries"] = [{"id": f"w{number}", "size": random.randint(1, 4)}]
        operators.append(operator)
    outputs = [operators[-1]["outputs"][0]]
    outputs += [tensor["id"] for tensor in tensors if tensor["id"] not in outputs and random.random() < 0.15]
    return parse_graph(
        {"version": 1, "tensors": tensors, "operators": operators, "inputs": ["x"], "outputs": outputs}
    )


def live_of(graph: Graph, schedule: Schedule) -> int:
    expanded, _ = with_runs(graph, schedule)
    moments = 1 + sum(
        max([1, *(t.phases[1] for t in operator.temporaries if t.phases)]) for operator in expanded.operators
    )
    return max(live_bytes_of(listed_problem(expanded), moments))


def longer_orders(order: Sequence[str], most: int) -> Iterator[tuple[str, ...]]:
    """The order with at most this many operators run again anywhere later."""
    for number in range(most + 1):
        for places in combinations_with_replacement(range(1, len(order) + 1), number):
            for names in product(*(order[:at] for at in places)):
                longer: list[str] = []
                for at in range(len(order) + 1):
                    longer += [name for place, name in zip(places, names, strict=True) if place == at]
                    longer += order[at : at + 1]
                yield tuple(longer)


def all_points(graph: Graph, first_orders: Sequence[Sequence[str]], most: int) -> set[tuple[int, int]]:
    """Peak and cost of each schedule that runs at most so many operators again."""
    index = links_of(graph).operator_index
    costs = operator_costs(graph)
    names = set()
    for order in first_orders:
        for longer in longer_orders(order, most):
            try:
                peak = live_of(graph, Schedule(order=longer))
            except InputError:
                continue
            cost = sum(costs[index[name]] for name in longer) - sum(costs)
            names.add((peak, cost))
    return names


def points_of(graph: Graph, choice: Choice, patience: Patience = WORK) -> list[ChosenPoint]:
    return list(recompute_points(graph, listed_order(graph), choice, patience))


@pytest.mark.parametrize("chunk", gate_first(range(6), 2))
def test_the_exact_front_is_that_of_all_schedules(chunk: int) -> None:
    for seed in range(chunk, 90, 6):
        graph = simple_graph(seed)
        order = [operator.id for operator in graph.operators]
        everything = all_points(graph, [order], MOST_AGAIN)
        points = points_of(graph, Choice())
        for point in points:
            assert point.bytes == point.bound_bytes == live_of(graph, point.schedule), seed
        # Each run again costs 1 at least, so schedules of cost 2 run two again at most.
        for most in range(MOST_AGAIN + 1):
            best = min(peak for peak, cost in everything if cost <= most)
            assert best == min(point.bytes for point in points if point.cost <= most), (seed, most)


@pytest.mark.parametrize("chunk", gate_first(range(6), 2))
@pytest.mark.parametrize("free", [False, True])
def test_no_schedule_is_below_the_bound_and_what_the_search_finds_is_true(
    chunk: int, free: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(points_module, "is_tiny", lambda _: False)
    for seed in range(chunk, 72, 6):
        document = random_graph(seed, most=4) if seed % 2 else None
        graph = parse_graph({**document, "alternatives": []}) if document else simple_graph(seed, 4)
        listed = [graph.operators[i].id for i in listed_order(graph)]
        first = list(orders(document)) if document and free else [listed]
        everything = all_points(graph, first[:30], MOST_AGAIN)
        points = points_of(graph, Choice(free=free))
        assert points, seed
        for point in points:
            assert point.bytes == live_of(graph, point.schedule), seed
            for peak, cost in everything:
                assert cost > point.cost or peak >= point.bound_bytes, (seed, point)
            assert point.bound_bytes <= point.bytes


def two_pools(graph: Graph) -> Graph:
    return replace(
        graph,
        pools=(Pool(id="fast"), Pool(id="slow")),
        tensors=tuple(replace(tensor, pools=("fast",)) for tensor in graph.tensors),
        objective=("peak:fast",),
    )


@pytest.mark.parametrize("exact", [True, False])
def test_spills_are_as_good_as_any_and_never_below_the_bound(
    exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exact:
        monkeypatch.setattr(points_module, "is_tiny", lambda _: False)
    choice = Choice(kinds=frozenset({"spill", "recompute"}), pool="fast", unit="bytes")
    for seed in range(40):
        graph = two_pools(simple_graph(seed, 4))
        order = tuple(operator.id for operator in graph.operators)
        points = points_of(graph, choice)
        for point in points:
            assert point.bytes == peak_of(graph, point.schedule, "fast"), seed
            copied = sum(
                2 * next(tensor.size or 0 for tensor in graph.tensors if tensor.id == spill.tensor)
                for spill in point.schedule.spills
            )
            index, costs = links_of(graph).operator_index, operator_costs(graph, "bytes")
            ran = sum(costs[index[name]] for name in point.schedule.order) - sum(costs)
            assert point.cost == copied + ran, seed
        for tensor in graph.tensors:
            for out in range(len(order)):
                for back in range(out + 1, len(order)):
                    spill = Spill(tensor=tensor.id, pool="slow", out=out, back=back)
                    try:
                        peak = peak_of(graph, Schedule(order=order, spills=(spill,)), "fast")
                    except InputError:
                        continue
                    cost = 2 * (tensor.size or 0)
                    for point in points:
                        assert point.cost < cost or point.bound_bytes <= peak, seed
                    if exact:
                        assert min(point.bytes for point in points if point.cost <= cost) <= peak, seed


def test_points_come_in_an_order_that_pays_and_keep_to_the_cost() -> None:
    graph = generated(80, 3, family="training")
    points = points_of(graph, Choice(unit="bytes", within=1.2), Patience(work=2_000_000))
    most = 0.2 * sum(operator_costs(graph, "bytes"))
    assert points[0].cost == 0
    assert max(point.cost for point in points) <= most
    assert min(point.bytes for point in points) < points[0].bytes
    for i, point in enumerate(points):
        assert all(entry.bytes > point.bytes or entry.cost > point.cost for entry in points[:i])
        assert point.bound_bytes <= point.bytes == peak_of(graph, point.schedule)
    assert points == points_of(graph, Choice(unit="bytes", within=1.2), Patience(work=2_000_000))


def test_the_judge_accepts_plans_of_points() -> None:
    spilled = two_pools(generated(40, 2, family="training"))
    both = Choice(kinds=frozenset({"recompute", "spill"}), pool="fast", unit="bytes")
    step = training_step(1, side=32, width=0.25)
    for graph, choice in ((spilled, both), (step, Choice(within=1.3))):
        points = points_of(graph, choice, Patience(work=300_000))
        point = min(points, key=lambda point: point.bytes)
        assert point.cost > 0
        expanded, _ = with_runs(graph, point.schedule)
        plan = plan_graph(expanded, Options(deterministic=True, work_limit=100_000), Callbacks())
        assert plan.pools[0].peak >= point.bytes
        assert verify(graph, replace(plan, schedule=point.schedule)) == []
        counted = with_cost_unit(graph, choice.unit)
        assert schedule_cost(counted, point.schedule) == sum(operator_costs(counted)) + point.cost


def test_a_choice_that_does_not_fit_is_refused() -> None:
    graph = simple_graph(1)
    with pytest.raises(InputError, match="no pool"):
        points_of(graph, Choice(pool="fast"))
    with pytest.raises(InputError, match="two pools"):
        points_of(graph, Choice(kinds=frozenset({"spill"}), unit="bytes"))
    with pytest.raises(InputError, match="unit"):
        points_of(two_pools(graph), Choice(kinds=frozenset({"spill"}), pool="fast"))


def test_a_graph_without_operators_has_one_point() -> None:
    graph = parse_graph({"version": 1, "tensors": [{"id": "x", "size": 3}], "operators": [], "inputs": ["x"]})
    assert [(point.bytes, point.cost, point.bound_bytes) for point in points_of(graph, Choice())] == [
        (3, 0, 3)
    ]


def test_an_archive_keeps_what_no_other_is_as_good_as_in_both_and_of_equal_ones_the_first() -> None:
    for seed in range(300):
        random = Random(seed)
        runs = [
            ProgramRun(random.randint(0, 6), random.randint(0, 6), [number], [])
            for number in range(random.randint(0, 30))
        ]
        front = [
            one
            for number, one in enumerate(runs)
            if not any(
                ((run.bytes, run.cost) == (one.bytes, one.cost) and at < number)
                or (
                    run.bytes <= one.bytes
                    and run.cost <= one.cost
                    and (run.bytes, run.cost) != (one.bytes, one.cost)
                )
                for at, run in enumerate(runs)
            )
        ]
        archive = Archive(runs)
        assert archive.items == sorted(front, key=lambda entry: entry.bytes), seed
        for limit in range(8):
            costs = [run.cost for run in runs if run.bytes <= limit]
            assert archive.least_cost(limit) == min(costs, default=None), seed
            sizes = [run.bytes for run in runs if run.cost <= limit]
            assert archive.least_bytes(limit) == min(sizes, default=None), seed
