"""Stripes in alternatives in parts of channels: their fronts, and the bounds of choices that are open."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

import pytest

from memstow.planner.graph.changes import with_channels
from memstow.planner.graph.links import listed_order
from memstow.planner.graph.operators import with_cost_unit
from memstow.planner.graph.order_front import _InOrder, _Node, order_front
from memstow.planner.graph.recompute_search import Archive
from memstow.planner.graph.schedules import with_chosen
from memstow.planner.graph.stripe_front import Corner, front_beside_alternatives
from memstow.planner.model.front import CostUnit
from memstow.planner.model.graph import ElementType, Graph, Operator, Temporary, Tensor, Window
from memstow.solvers.core import Budget
from memstow.solvers.graph_programs import MOST
from tests.campaign import gate_first

Shape = tuple[int, int, int]
# More choices of alternatives than these are not compared one by one.
_MOST_CHOICES = 100


class Net:
    """Blocks that widen, work channel by channel and narrow, with all that operators and tensors may have."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.type: ElementType = "float32" if self.random.random() < 0.3 else "int8"
        self.alignment = self.random.choice((1, 1, 1, 4, 16))
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []
        self.shapes: dict[str, Shape] = {}

    def image(self, shape: Shape) -> str:
        r, name = self.random, f"t{len(self.tensors)}"
        rows, columns, channels = shape
        size = rows * columns * channels * (4 if self.type == "float32" else 1) + r.randint(0, 9)
        tensor = Tensor(
            id=name,
            shape=shape,
            type=self.type,
            kind="external" if self.tensors and r.random() < 0.03 else "data",
            alignment=self.alignment if r.random() < 0.9 else 1,
            size=size if r.random() < 0.04 else None,
        )
        self.tensors.append(tensor)
        self.shapes[name] = shape
        return name

    def run(
        self, kind: str, inputs: Sequence[str], shape: Shape, window: Window | None = None, over: float = 0.0
    ) -> str:
        """`over`: how often it may overwrite its first input."""
        r, name = self.random, f"o{len(self.operators)}"
        output = self.image(shape)
        temporaries = [Temporary(id=f"{name}.own", size=r.randint(1, 40))] if r.random() < 0.05 else []
        self.operators.append(
            Operator(
                id=name,
                type=kind,
                inputs=tuple(inputs),
                outputs=[output],
                window=window,
                cost=r.choice((None, r.randint(0, 300))),
                temporaries=temporaries,
                in_place=[(inputs[0], output)] if r.random() < over else [],
            )
        )
        return output

    def slide(self, kind: str, source: str, channels: int) -> str:
        r = self.random
        rows, columns, _ = self.shapes[source]
        for _ in range(8):
            kernel = r.choice((1, 1, 3, 2, 5)), r.choice((1, 1, 3, 2))
            stride = r.choice((1, 1, 2, 3)), r.choice((1, 1, 2))
            padding = tuple(r.randint(0, extent - 1) for extent in (*kernel, *kernel))
            over = [
                extent + padding[at] + padding[at + 2] - kernel[at]
                for at, extent in enumerate((rows, columns))
            ]
            if min(over) >= 0:
                window = Window(kernel=kernel, stride=stride, padding=padding)
                made = over[0] // stride[0] + 1, over[1] // stride[1] + 1, channels
                return self.run(kind, [source], made, window)
        return self.run(kind, [source], (rows, columns, channels), Window(kernel=(1, 1)))

    def convolve(self, source: str, channels: int) -> str:
        if self.random.random() < 0.7:
            rows, columns, _ = self.shapes[source]
            return self.run("conv2d", [source], (rows, columns, channels), Window(kernel=(1, 1)))
        return self.slide("conv2d", source, channels)

    def block(self, source: str) -> str:
        r = self.random
        last = self.convolve(source, r.choice((1, 2, 3, 5, 8, 16)))
        for _ in range(r.choice((0, 1, 1, 2))):
            shape = self.shapes[last]
            choice = r.random()
            if choice < 0.65:
                last = self.slide("depthwise_conv2d", last, shape[2])
            elif choice < 0.85:
                last = self.run("relu", [last], shape, over=0.6)
            else:
                last = self.slide("max_pool_2d", last, shape[2])
        last = self.convolve(last, self.shapes[source][2] if r.random() < 0.7 else r.randint(1, 6))
        shape = self.shapes[last]
        if shape == self.shapes[source] and r.random() < 0.6:
            return self.run("add", [last, source], shape, over=0.4)
        return self.run("softmax", [last], shape) if r.random() < 0.1 else last


def net(seed: int, unit: CostUnit) -> Graph:
    """With all alternatives in parts of channels."""
    random = Random(seed)
    growing = Net(seed)
    last = growing.image((random.randint(1, 9), random.randint(1, 7), random.randint(1, 6)))
    for _ in range(random.randint(1, 3)):
        last = growing.block(last)
    if random.random() < 0.2:
        last = growing.run("MEAN", [last], (1, 1, growing.shapes[last][2]))
    outputs = [last] if random.random() < 0.8 else [*{last, random.choice(growing.operators).outputs[0]}]
    graph = Graph(
        tensors=growing.tensors, operators=growing.operators, inputs=["t0"], outputs=sorted(outputs)
    )
    return with_cost_unit(with_channels(graph), unit)


def no_limit() -> Budget:
    """As long as it takes."""
    return Budget(-1.0, -1)


def every_choice(graph: Graph) -> Iterator[tuple[frozenset[str], Sequence[Corner]]]:
    """Each choice of alternatives, and what is best beside it."""
    waiting: list[tuple[int, tuple[str, ...], frozenset[str]]] = [(0, (), frozenset())]
    for at, names, gone in waiting:
        if at == len(graph.alternatives):
            chosen = with_chosen(graph, names)
            front = front_beside_alternatives(chosen, listed_order(chosen), no_limit(), MOST)
            yield frozenset(names), [Corner(point.bytes, point.cost) for point in front.points]
            continue
        alternative = graph.alternatives[at]
        waiting.append((at + 1, names, gone))
        if gone.isdisjoint(alternative.replaces):
            waiting.append((at + 1, (*names, alternative.id), gone.union(alternative.replaces)))


def nodes(choices: _InOrder) -> Iterator[tuple[_Node, set[str]]]:
    """Each choice of which some is open, and the alternatives that may be chosen besides."""
    waiting = [_Node((), frozenset(), 0, (Corner(0, 0),))]
    for entry in waiting:
        node = choices._settled(entry)
        if node.next == len(choices._groups):
            continue
        groups = [group for group in choices._groups[node.next :] if node.gone.isdisjoint(group[0].replaces)]
        yield node, {alternative.id for group in groups for alternative in group}
        waiting.append(replace(node, next=node.next + 1))
        for alternative in choices._groups[node.next]:
            gone = node.gone.union(alternative.replaces)
            waiting.append(_Node((*node.chosen, alternative.id), gone, node.next + 1, node.corners))


@pytest.mark.parametrize("part", gate_first(range(60), 1))
def test_no_choice_is_better_than_the_front_and_the_bounds(part: int) -> None:
    several = exact = 0
    for seed in range(part * 50, part * 50 + 50):
        graph = net(seed, "bytes" if seed % 3 == 0 else "given")
        order = listed_order(graph)
        beside = front_beside_alternatives(graph, order, no_limit(), MOST)
        choices = _InOrder(graph, no_limit(), MOST, beside)
        ways = 1
        for group in choices._groups:
            ways *= 1 + len(group)
        if not graph.alternatives or ways > _MOST_CHOICES:
            continue
        fronts = dict(every_choice(graph))
        best = Archive(corner for corners in fronts.values() for corner in corners)
        frontier = order_front(graph, order, no_limit())
        assert frontier.complete
        found = [(point.bytes, point.cost) for point in frontier.points]
        assert found == [(corner.bytes, corner.cost) for corner in best.items], seed
        several += len(found) > 1
        for node, is_open in nodes(choices):
            bounds = choices._corners(node)
            if bounds is None:
                continue
            least = Archive(bounds)
            for names, corners in fronts.items():
                if names >= set(node.chosen) and names - set(node.chosen) <= is_open:
                    assert all(least.beats(corner.bytes, corner.cost) for corner in corners), (seed, names)
                    exact += any(corner in bounds for corner in corners)
        for work in (0, 20_000, 200_000):
            left = Archive(order_front(graph, order, Budget(-1.0, work)).corners or (Corner(0, 0),))
            assert all(left.beats(corner.bytes, corner.cost) for corner in best.items), (seed, work)
    assert several
    assert exact


def test_what_is_not_chosen_does_not_decide_where_buffers_begin() -> None:
    """Sums in four bytes begin at other multiples than what else there is."""
    graph = net(1727, "given")
    frontier = order_front(graph, listed_order(graph), no_limit())
    for point in frontier.points:
        chosen = with_chosen(graph, point.schedule.alternatives)
        beside = front_beside_alternatives(chosen, listed_order(chosen), no_limit(), MOST)
        assert (point.bytes, point.cost) in [(entry.bytes, entry.cost) for entry in beside.points]
    assert frontier.complete
