"""Small graphs that run in stripes, and all ways to run them, gone through one by one."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from random import Random

from memstow.planner.front.free_front import all_orders
from memstow.planner.front.front_request import FrontCallbacks
from memstow.planner.front.graph_candidates import striped
from memstow.planner.graph.links import links_of, listed_order
from memstow.planner.graph.order_front import order_front
from memstow.planner.graph.schedules import with_chosen, with_runs
from memstow.planner.graph.stripe_front import Candidate, Corner
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import GIVEN, Graph, Operator, Tensor, Window
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Schedule, Spill
from memstow.planner.solve.portfolio import Allowance
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


def assert_bounded(corners: Sequence[Corner] | None, ways: Iterable[Candidate], seed: int) -> int:
    """How many ways there are."""
    assert corners is not None
    count = 0
    for way in ways:
        count += 1
        assert any(corner.bytes <= way.bytes and corner.cost <= way.cost for corner in corners), (seed, way)
    return count


def runs_none_twice(way: Candidate) -> bool:
    """In each stripe; runs are named after the operator, and a number from the second on."""
    names = [name.partition("#")[0] for name in way.schedule.order]
    return all(
        len(set(names[stripe.begin : stripe.end])) == stripe.end - stripe.begin
        for stripe in way.schedule.stripes
    )


def some_ways_copied(graph: Graph, random: Random, *, again: bool) -> Iterator[Candidate]:
    """Stripes in a random order, in which some tensors wait for a while."""
    names = [graph.operators[at].id for at in some_order(graph, random)]
    for _ in range(random.randint(0, 2) if again else 0):
        at = random.randint(1, len(names))
        names.insert(at, random.choice(names[:at]))
    spills: list[Spill] = []
    for tensor in random.sample([*graph.tensors], len(graph.tensors)):
        uses = [
            at
            for at, name in enumerate(names)
            for operator in graph.operators
            if operator.id == name and tensor.id in (*operator.inputs, *operator.outputs)
        ]
        apart = [(out, back) for out, back in pairwise(uses) if back > out + 1]
        if apart and len(spills) < 3:
            out, back = random.choice(apart)
            spills.append(Spill(tensor=tensor.id, pool="slow", out=out, back=back))
    schedule = Schedule(order=tuple(names), spills=tuple(sorted(spills, key=lambda one: (one.out, one.back))))
    try:
        with_runs(graph, schedule)
    except InputError:
        return
    entry, allowance = (
        Candidate(0, 0, schedule),
        Allowance(Options(deterministic=True, work_limit=20_000_000)),
    )
    yield from striped(graph, [entry], "fast", allowance, 1.0, FrontCallbacks())


def some_order(graph: Graph, random: Random) -> list[int]:
    order: list[int] = []
    waiting = set(range(len(graph.operators)))
    before = [
        {at for at, them in enumerate(links_of(graph).successors()) if then in them} for then in waiting
    ]
    while waiting:
        order.append(random.choice([at for at in sorted(waiting) if waiting.isdisjoint(before[at])]))
        waiting.remove(order[-1])
    return order


def some_ways(graph: Graph, random: Random, *, again: bool) -> Iterator[Candidate]:
    order = some_order(graph, random)
    listed = replace(graph, order=GIVEN, operators=tuple(graph.operators[at] for at in order))
    names = [operator.id for operator in listed.operators]
    runs = [names]
    for _ in range(4 if again else 0):
        more = list(names)
        for _ in range(random.randint(1, 3)):
            at = random.randint(1, len(more))
            more.insert(at, random.choice(more[:at]))
        runs.append(more)
    for run in runs:
        try:
            plain, _ = with_runs(listed, Schedule(order=tuple(run)))
        except InputError:
            continue
        yield from filter(
            runs_none_twice, order_front(plain, range(len(run)), Budget(-1.0, 50_000_000)).points
        )
