"""Bounds that count whole units of the alignment, against plans of all ways to cut an order."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

import pytest

from memstow.planner.front.find_front import front
from memstow.planner.graph.check import require_valid
from memstow.planner.graph.links import listed_order
from memstow.planner.graph.live_bytes import steps, unit_of
from memstow.planner.graph.operators import operator_costs
from memstow.planner.graph.order_front import order_front
from memstow.planner.graph.schedules import scheduled_graph, scheduled_problem
from memstow.planner.model.graph import Alternative, Graph, Operator, Temporary, Tensor, View
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Schedule
from memstow.planner.model.problem import Buffer, InPlace, Pool, Problem
from memstow.planner.solve import engine
from memstow.solvers.core import Budget
from tests import referee
from tests.campaign import gate_first
from tests.planner.graph.stripes.nets import random_net
from tests.planner.graph.stripes.test_front import best, ways

STEADY = Options(deterministic=True, work_limit=10_000_000)


def aligned_net(seed: int, operators: int) -> Graph:
    """A small graph in which all has a common alignment; some operators may work in place."""
    random = Random(seed)
    graph = random_net(5_000 + seed, operators)
    unit = random.choice((2, 3, 4, 8, 16))

    def alignment() -> int:
        return unit * random.choice((1, 1, 1, 2))

    shape = {tensor.id: tensor.shape for tensor in graph.tensors}
    data = {tensor.id for tensor in graph.tensors if tensor.kind == "data"}
    changed: list[Operator] = []
    for operator in graph.operators:
        alike = [
            (source, operator.outputs[0])
            for source in operator.inputs
            if data >= {source, operator.outputs[0]} and shape[source] == shape[operator.outputs[0]]
        ]
        pairs = alike if operator.window is None and random.random() < 0.5 else []
        temporaries = [replace(one, alignment=alignment()) for one in operator.temporaries]
        if temporaries and random.random() < 0.5:
            phases = random.choice(((0, 1), (1, 2), (0, 2)))
            temporaries.append(
                Temporary(
                    id=f"{operator.id}.more", size=random.randint(1, 40), alignment=alignment(), phases=phases
                )
            )
        changed.append(replace(operator, temporaries=tuple(temporaries), in_place=tuple(pairs)))
    counter = Tensor(id="counter", size=random.randint(1, 9), kind="state", alignment=alignment())
    tensors = tuple(replace(tensor, alignment=alignment()) for tensor in graph.tensors)
    return replace(
        graph,
        pools=(
            Pool(id="memory", alignment=random.choice((1, 1, 6, 16)), base=random.choice((None, 0, 5, 64))),
        ),
        tensors=(*tensors, counter) if random.random() < 0.3 else tensors,
        operators=tuple(changed),
    )


def all_ways(graph: Graph) -> list[Schedule]:
    order = tuple(operator.id for operator in graph.operators)
    return [Schedule(order=order, stripes=way) for way in ways(graph)]


def least_height(problem: Problem, unit: int) -> int:
    """The most that is live at once: in bytes, or in whole units less what one of them leaves of its last."""
    return max(_height(problem, 1), _height(problem, unit))


def _height(problem: Problem, unit: int) -> int:
    lives = {buffer.id: buffer.lifetime for buffer in problem.buffers}
    begins = {life[0] for life in lives.values() if isinstance(life, tuple)} | {0}
    heights = [0]
    for time in begins:
        live = {buffer.id: buffer for buffer in problem.buffers if buffer.size and _lives_at(buffer, time)}
        taken = {name: -(-buffer.size // unit) * unit for name, buffer in live.items()}
        pairs = [pair for pair in problem.in_place if pair.input in live and pair.output in live]
        rest = max((taken[name] - buffer.size for name, buffer in live.items()), default=0)
        heights.append(sum(taken.values()) - max(_savings(pairs, taken)) - rest)
    return max(heights)


def _lives_at(buffer: Buffer, time: int) -> bool:
    life = buffer.lifetime
    return life == "always" or (isinstance(life, tuple) and life[0] <= time < life[1])


def _savings(pairs: Sequence[InPlace], taken: dict[str, int]) -> Iterator[int]:
    if not pairs:
        yield 0
        return
    yield from _savings(pairs[1:], taken)
    ends = {pairs[0].input, pairs[0].output}
    rest = [pair for pair in pairs[1:] if ends.isdisjoint((pair.input, pair.output))]
    here = min(taken[pairs[0].input], taken[pairs[0].output])
    yield from (here + saving for saving in _savings(rest, taken))


def cost_of(graph: Graph, schedule: Schedule) -> int:
    return sum(operator_costs(scheduled_graph(graph, schedule)))


@pytest.mark.parametrize("seed", gate_first(range(150), 40))
def test_it_is_the_front_of_heights_in_whole_units(seed: int) -> None:
    graph = aligned_net(seed, 2 + seed % 4)
    require_valid(graph)
    unit = unit_of(graph)
    assert unit > 1
    values = {
        way: (least_height(scheduled_problem(graph, way), unit), cost_of(graph, way))
        for way in all_ways(graph)
    }
    frontier = order_front(graph, listed_order(graph), Budget(-1.0, -1))
    assert frontier.complete
    assert [(point.bytes, point.cost) for point in frontier.points] == best(iter(values.values()))
    assert [values[point.schedule] for point in frontier.points] == [
        (point.bytes, point.cost) for point in frontier.points
    ]


@pytest.mark.parametrize("seed", gate_first(range(60), 20))
def test_no_plan_is_below_the_bounds_of_a_front(seed: int) -> None:
    graph = aligned_net(seed, 2 + seed % 3)
    frontier = front(graph, options=STEADY)
    for way in all_ways(graph)[:: 1 + seed % 3]:
        plan = engine.plan(scheduled_problem(graph, way), STEADY)
        peak, cost = plan.pools[0].peak, cost_of(graph, way)
        assert plan.objective[0].bound >= least_height(scheduled_problem(graph, way), unit_of(graph))
        for point in frontier.points:
            assert cost > point.values["cost"] or peak >= point.bounds["peak"]
            assert peak > point.values["peak"] or cost >= point.bounds["cost"]


def tiny(seed: int) -> Graph:
    """One operator after the other, with sizes of some bytes, pairs in place and temporaries."""
    random = Random(seed)
    unit = random.choice((2, 3, 4))
    count = random.randint(1, 3)
    names = [f"t{i}" for i in range(count + 1)]
    made = [
        Tensor(id=name, size=random.randint(0, 5), alignment=unit * random.choice((1, 2))) for name in names
    ]
    operators = [
        Operator(
            id=f"o{i}",
            inputs=list(dict.fromkeys((names[i], random.choice(names[: i + 1])))),
            outputs=[names[i + 1]],
            in_place=[(names[i], names[i + 1])] if random.random() < 0.5 else [],
            temporaries=[Temporary(id=f"o{i}.x", size=random.randint(1, 5), alignment=unit)]
            if random.random() < 0.4
            else [],
        )
        for i in range(count)
    ]
    pool = Pool(id="memory", alignment=random.choice((1, 1, 2, 6)), base=random.choice((None, 1, 2)))
    return Graph(pools=[pool], tensors=made, operators=operators, inputs=["t0"], outputs=[names[-1]])


@pytest.mark.parametrize("part", range(8))
def test_no_place_of_tiny_ones_is_below(part: int) -> None:
    tight = 0
    for seed in range(part * 50, part * 50 + 50):
        graph = tiny(seed)
        require_valid(graph)
        order = listed_order(graph)
        (point,) = order_front(graph, order, Budget(-1.0, -1)).points
        _, vector = referee.best(scheduled_problem(graph, None))
        assert vector is not None
        assert vector[0] >= point.bytes >= max(step.bytes for step in steps(graph, order))
        tight += vector[0] == point.bytes
    assert tight > 10


def test_in_alternatives_units_count_as_well() -> None:
    graph = Graph(
        tensors=[Tensor(id=name, size=20, alignment=16) for name in ("x", "a", "y")],
        operators=[
            Operator(id="one", inputs=["x"], outputs=["a"], cost=1),
            Operator(id="two", inputs=["a"], outputs=["y"], cost=1),
        ],
        inputs=["x"],
        outputs=["y"],
        alternatives=[
            Alternative(
                id="fused",
                replaces=["one", "two"],
                tensors=[Tensor(id="row", size=8, alignment=8)],
                operators=[
                    Operator(id="one rows", inputs=["x"], outputs=["row"]),
                    Operator(id="two rows", inputs=["row"], outputs=["y"]),
                ],
                cost=3,
            )
        ],
    )
    assert unit_of(graph) == 8
    frontier = order_front(graph, [0, 1], Budget(-1.0, -1))
    # In units of 8: x and a as 24 each, less the 4 on top; with the row 24 and 8 and nothing to spare there.
    assert [(point.bytes, point.cost) for point in frontier.points] == [(28, 3), (44, 2)]


def test_pieces_of_views_begin_anywhere() -> None:
    graph = Graph(
        tensors=[Tensor(id=name, size=size, alignment=16) for name, size in (("x", 8), ("y", 24), ("z", 8))],
        operators=[
            Operator(id="one", inputs=["x"], outputs=["y"]),
            Operator(id="two", inputs=["y"], outputs=["z"]),
        ],
        inputs=["x"],
        outputs=["z"],
        views=[View(tensor="z", of="y", offset=16)],
    )
    assert unit_of(graph) == 1


def test_the_alignment_of_the_pool_counts() -> None:
    graph = Graph(
        pools=[Pool(id="ram", capacity=47, alignment=32)],
        tensors=[Tensor(id=name, size=20, alignment=16) for name in ("x", "y")],
        operators=[Operator(id="one", inputs=["x"], outputs=["y"])],
        inputs=["x"],
        outputs=["y"],
    )
    assert unit_of(graph) == 32
    said = front(graph, options=STEADY)
    assert said.complete
    assert said.explanation is not None
    assert "give it 52 or more" in said.explanation.message
    (pool,) = graph.pools
    (point,) = front(replace(graph, pools=(replace(pool, capacity=52),)), options=STEADY).points
    assert (point.values["peak"], point.proven) == (52, True)
    two = replace(graph, pools=(pool, Pool(id="slow", alignment=8)))
    assert unit_of(two) == 16
    assert unit_of(replace(graph, pools=(replace(pool, alignment=1 << 40),))) == 16


def test_large_alignments_do_not_overflow() -> None:
    graph = Graph(
        tensors=[Tensor(id=name, size=20, alignment=1 << 40) for name in ("x", "y")],
        operators=[Operator(id="one", inputs=["x"], outputs=["y"])],
        inputs=["x"],
        outputs=["y"],
    )
    frontier = order_front(graph, [0], Budget(-1.0, -1))
    assert [point.bytes for point in frontier.points] == [40]
