"""The front of an order against every way to cut it into stripes, gone through one by one."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations
from random import Random

import pytest

from memstow.planner.graph.check import require_valid
from memstow.planner.graph.links import listed_order
from memstow.planner.graph.live_bytes import start_height, steps
from memstow.planner.graph.operators import operator_costs
from memstow.planner.graph.order_front import order_front
from memstow.planner.graph.schedules import scheduled_graph, with_chosen
from memstow.planner.graph.stripe_front import Corner
from memstow.planner.graph.stripes import cut_of
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Alternative, Graph, Operator, Tensor
from memstow.planner.model.plan import Schedule, Stripe
from memstow.planner.verify.graph_verdict import scheduled as judged
from memstow.solvers.core import Budget
from tests.campaign import gate_first
from tests.planner.graph.stripes.nets import random_net

Value = tuple[int, int]


def ways(graph: Graph, begin: int = 0) -> Iterator[tuple[Stripe, ...]]:
    """All ways to cut the listed order."""
    count = len(graph.operators)
    if begin == count:
        yield ()
        return
    for rest in ways(graph, begin + 1):
        yield rest
    for end in range(begin + 2, count + 1):
        cut = cut_of(graph, range(begin, end), 1)
        if isinstance(cut, str):
            continue
        for rest in ways(graph, end):
            for columns in range(1, cut.members.kinds[-1].columns + 1):
                yield (Stripe(begin=begin, end=end, columns=columns), *rest)


def value(graph: Graph, schedule: Schedule) -> Value:
    """The bytes and the cost of the graph that a schedule makes."""
    made = scheduled_graph(graph, schedule)
    need = [step.bytes for step in steps(made, range(len(made.operators)))]
    return max([start_height(made), *need]), sum(operator_costs(made))


def best(values: Iterator[Value]) -> list[Value]:
    """Those that no other is as good as in both."""
    kept: list[Value] = []
    for size, cost in sorted(set(values)):
        if not kept or cost < kept[-1][1]:
            kept.append((size, cost))
    return kept


@pytest.mark.parametrize("seed", gate_first(range(150), 50))
def test_it_is_exact(seed: int) -> None:
    graph = random_net(seed, 2 + seed % 4)
    require_valid(graph)
    order = tuple(operator.id for operator in graph.operators)
    all_ways = [Schedule(order=order, stripes=way) for way in ways(graph)]
    expected = best(value(graph, way) for way in all_ways)
    frontier = order_front(graph, listed_order(graph), Budget(-1.0, -1))
    assert frontier.complete
    assert [(point.bytes, point.cost) for point in frontier.points] == expected
    assert [value(graph, point.schedule) for point in frontier.points] == expected


@pytest.mark.parametrize("seed", range(20))
def test_no_point_costs_more_than_asked_for(seed: int) -> None:
    graph = random_net(seed, 6)
    everything = order_front(graph, listed_order(graph), Budget(-1.0, -1))
    for point in everything.points:
        some = order_front(graph, listed_order(graph), Budget(-1.0, -1), point.cost)
        assert some.points == tuple(entry for entry in everything.points if entry.cost <= point.cost)


def test_without_time_there_is_an_answer_that_is_not_complete() -> None:
    graph = next(
        entry for entry in (random_net(seed, 12) for seed in range(100)) if len(list(_cuts(entry))) > 3
    )
    frontier = order_front(graph, listed_order(graph), Budget(-1.0, 0))
    assert not frontier.complete
    assert [point.schedule.stripes for point in frontier.points] == [()]


def _cuts(graph: Graph) -> Iterator[object]:
    for at in range(len(graph.operators) - 1):
        cut = cut_of(graph, range(at, at + 2), 1)
        if not isinstance(cut, str):
            yield cut


def image(name: str, rows: int, columns: int, channels: int) -> Tensor:
    return Tensor(id=name, shape=(rows, columns, channels), type="int8")


def test_alternatives_stand_beside_stripes() -> None:
    graph = Graph(
        tensors=[image("x", 8, 8, 1), image("a", 8, 8, 9), image("b", 8, 8, 1), image("c", 8, 8, 1)],
        operators=[
            Operator(id="wide", type="relu", inputs=["x"], outputs=["a"], cost=10),
            Operator(id="odd", type="softmax", inputs=["a"], outputs=["b"], cost=10),
            Operator(id="end", type="relu", inputs=["b"], outputs=["c"], cost=10),
        ],
        inputs=["x"],
        outputs=["c"],
        alternatives=[
            Alternative(
                id="fused",
                replaces=["wide", "odd"],
                tensors=[Tensor(id="row", size=30)],
                operators=[
                    Operator(id="wide rows", inputs=["x"], outputs=["row"]),
                    Operator(id="odd rows", inputs=["row"], outputs=["b"]),
                ],
                cost=27,
            )
        ],
    )
    require_valid(graph)
    frontier = order_front(graph, [0, 1, 2], Budget(-1.0, -1))
    assert frontier.complete
    assert [(point.bytes, point.cost) for point in frontier.points] == [(128, 37), (640, 30)]
    fused = frontier.points[0].schedule
    assert fused == Schedule(order=("wide rows", "odd rows", "end"), alternatives=("fused",))
    assert value(graph, fused) == (128, 37)


def with_other_ways(graph: Graph, seed: int) -> Graph:
    """With alternatives of operators that work on one image: in two steps, which may run in stripes."""
    random = Random(seed)
    sizes = {tensor.id: tensor for tensor in graph.tensors}
    result: list[Alternative] = []
    for operator in graph.operators:
        read = [sizes[name] for name in operator.inputs if sizes[name].kind == "data"]
        if len(read) != 1 or len(operator.inputs) > 1 or random.random() < 0.4:
            continue
        narrow = operator.window is not None
        made = sizes[operator.outputs[0]]
        shape = (*(read[0].shape or ())[:2], 1) if narrow else read[0].shape
        middle = replace(read[0], id=f"{operator.id}.middle", shape=shape)
        result.append(
            Alternative(
                id=f"{operator.id} in two",
                replaces=[operator.id],
                tensors=[middle],
                operators=[
                    Operator(
                        id=f"{operator.id}.1", type="relu", inputs=[read[0].id], outputs=[middle.id], cost=9
                    ),
                    Operator(
                        id=f"{operator.id}.2",
                        type=operator.type,
                        inputs=[middle.id],
                        outputs=[made.id],
                        window=operator.window,
                        cost=random.randint(0, 99),
                    ),
                ],
                cost=random.choice((None, 20, 150)),
            )
        )
    return replace(graph, alternatives=tuple(result[:2]))


@pytest.mark.campaign
@pytest.mark.parametrize("chunk", gate_first((2, 1, 0, 4, 3), 1))
def test_alternatives_run_in_stripes_as_well(chunk: int) -> None:
    better = 0
    for seed in range(chunk, 60, 5):
        graph = with_other_ways(random_net(seed, 2 + seed % 3), seed)
        require_valid(graph)
        everything: list[Value] = []
        for names in chain.from_iterable(
            combinations([alternative.id for alternative in graph.alternatives], k) for k in range(3)
        ):
            chosen = with_chosen(graph, names)
            order = tuple(operator.id for operator in chosen.operators)
            for cuts in ways(chosen):
                schedule = Schedule(order=order, stripes=cuts, alternatives=names)
                made = judged(graph, schedule)
                assert (start_height(made.graph), made.cost) == (
                    start_height(chosen),
                    value(graph, schedule)[1],
                )
                everything.append(value(graph, schedule))
        frontier = order_front(graph, listed_order(graph), Budget(-1.0, -1))
        assert frontier.complete
        assert [(point.bytes, point.cost) for point in frontier.points] == best(iter(everything)), seed
        assert [value(graph, point.schedule) for point in frontier.points] == best(iter(everything)), seed
        better += any(point.schedule.alternatives and point.schedule.stripes for point in frontier.points)
    assert better


def test_where_there_are_too_many_alternatives_nothing_is_claimed() -> None:
    graph = with_other_ways(random_net(3, 4), 3)
    more = [replace(graph.alternatives[0], id=f"{number}") for number in range(70)]
    many = replace(graph, alternatives=tuple(more))
    some = order_front(many, listed_order(many), Budget(-1.0, 100_000))
    assert not some.complete
    assert some.corners == (Corner(0, 0),)
    assert order_front(many, listed_order(many), Budget(-1.0, -1)).complete


@pytest.mark.parametrize(
    ("stripes", "said"),
    [
        ([(0, 9, 1)], "not two places"),
        ([(1, 2, 1), (0, 1, 1)], "ascending"),
        ([(0, 3, 1)], "cannot run row by row"),
        ([(0, 1, 9)], "take that many"),
    ],
)
def test_schedules_that_are_none_are_refused(stripes: list[tuple[int, int, int]], said: str) -> None:
    graph = Graph(
        tensors=[image("x", 8, 8, 1), image("a", 8, 8, 1), image("b", 8, 8, 1), image("c", 8, 8, 1)],
        operators=[
            Operator(id="one", type="relu", inputs=["x"], outputs=["a"]),
            Operator(id="two", type="relu", inputs=["a"], outputs=["b"]),
            Operator(id="odd", type="softmax", inputs=["b"], outputs=["c"]),
        ],
        inputs=["x"],
        outputs=["c"],
    )
    schedule = Schedule(
        order=("one", "two", "odd"),
        stripes=tuple(Stripe(begin=begin, end=end, columns=columns) for begin, end, columns in stripes),
    )
    with pytest.raises(InputError, match=said):
        scheduled_graph(graph, schedule)
