"""Small graphs that run in stripes, and all ways to run them, gone through one by one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from random import Random

from memstow.planner.front.free_front import all_orders
from memstow.planner.graph.links import listed_order
from memstow.planner.graph.order_front import order_front
from memstow.planner.graph.schedules import with_chosen, with_runs
from memstow.planner.graph.stripe_front import Candidate
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import GIVEN, Graph, Operator, Tensor, Window
from memstow.planner.model.plan import Schedule
from memstow.solvers.core import Budget
from tests.graphs import Document
from tests.planner.graph.stripes.nets import random_net


def chain(rows: int, order: str, names: Sequence[str] = ("x", "a", "b", "y")) -> Document:
    window = {"kernel": [3, 3], "padding": [1, 1, 1, 1]}
    return {
        "version": 1,
        "order": order,
        "tensors": [
            {"id": name, "shape": [rows, rows, 2 if name in "xy" else 24], "type": "int8"} for name in names
        ],
        "operators": [
            {"id": f"to {after}", "type": "conv2d", "inputs": [name], "outputs": [after], "window": window}
            for name, after in pairwise(names)
        ],
        "inputs": ["x"],
        "outputs": ["y"],
    }


def varied(seed: int) -> Graph:
    """A few operators, of which some lie in place, on wide images; what comes and what is left is narrow."""
    random, graph = Random(seed), random_net(seed, 1 + seed % 3)
    shapes = {
        tensor.id: (*tensor.shape[:-1], tensor.shape[-1] * 16)
        for tensor in graph.tensors
        if tensor.shape and tensor.kind != "constant"
    }
    ends = [name for name in graph.outputs if name in shapes]
    narrow = {"begin": "t0", **{f"end {name}": name for name in ends}}
    alignment = random.choice((1, 1, 4))
    tensors = [
        *(replace(entry, shape=shapes.get(entry.id, entry.shape)) for entry in graph.tensors),
        *(Tensor(id=name, shape=(*shapes[of][:-1], 1), type="int8") for name, of in narrow.items()),
    ]
    pairs = [("begin", "t0"), *((name, f"end {name}") for name in ends)]
    operators = [
        Operator(
            id=f"to {made}",
            type="conv2d",
            inputs=[source],
            outputs=[made],
            window=Window(kernel=(1, 1)),
            cost=9,
        )
        for source, made in pairs
    ]
    for number, operator in enumerate(graph.operators):
        source, made = operator.inputs[0], operator.outputs[0]
        if operator.window is None and shapes[source] == shapes[made] and random.random() < 0.5:
            operator = replace(operator, in_place=((source, made),))
        operators.insert(1 + number, operator)
    return replace(
        graph,
        tensors=tuple(replace(tensor, alignment=alignment) for tensor in tensors),
        operators=tuple(operators),
        inputs=tuple("begin" if name == "t0" else name for name in graph.inputs),
        outputs=tuple(f"end {name}" if name in ends else name for name in graph.outputs),
        order=random.choice(("given", "free")),
    )


def every_way_again(graph: Graph, more: int) -> Iterator[Candidate]:
    """Stripes in all orders in which so many operators run again at most."""
    orders = [listed_order(graph)] if graph.order == GIVEN else all_orders(graph, 100) or []
    runs = {tuple(graph.operators[at].id for at in order) for order in orders}
    for _ in range(more + 1):
        for order in sorted(runs):
            try:
                plain, _ = with_runs(graph, Schedule(order=order))
            except InputError:
                continue
            yield from order_front(plain, range(len(plain.operators)), Budget(-1.0, 20_000_000)).points
        runs = {
            (*order[:at], name, *order[at:])
            for order in runs
            for at in range(1, len(order) + 1)
            for name in set(order[:at])
        }


def every_way(graph: Graph) -> Iterator[Candidate]:
    """Stripes in all orders of choices of alternatives."""
    names = [alternative.id for alternative in graph.alternatives]
    for chosen in (some for count in range(3) for some in combinations(names, count)):
        try:
            whole = with_chosen(graph, chosen)
        except InputError:
            continue
        for order in all_orders(whole, 100) or []:
            yield from order_front(replace(whole, order=GIVEN), order, Budget(-1.0, 20_000_000)).points


def network(random: Random) -> Document:
    """Two branches of windows with strides, which are joined."""
    tensors: list[Document] = [{"id": "x", "shape": [8, 8, 4], "type": "int8"}]
    operators: list[Document] = []

    def add(source: str, name: str, rows: int, stride: int, kernel: int) -> None:
        after = -(-rows // stride)
        pad = kernel // 2
        need = max((after - 1) * stride + kernel - rows - pad, 0)
        tensors.append({"id": name, "shape": [after, after, random.choice((2, 4, 8))], "type": "int8"})
        operators.append(
            {
                "id": f"to {name}",
                "type": random.choice(("conv2d", "conv2d", "max_pool2d")),
                "inputs": [source],
                "outputs": [name],
                "window": {
                    "kernel": [kernel, kernel],
                    "stride": [stride, stride],
                    "padding": [pad, pad, need, need],
                },
            }
        )

    add("x", "a", 8, 1, random.choice((1, 3)))
    add("a", "b", 8, 2, random.choice((1, 3)))
    add("x", "c", 8, random.choice((1, 2)), 1)
    return {
        "version": 1,
        "order": "free",
        "tensors": tensors,
        "operators": operators,
        "inputs": ["x"],
        "outputs": ["b", "c"],
    }
