"""What an alternative needs in its place: counted in a part of the graph as in all of it."""

from dataclasses import replace
from random import Random

import pytest

from memstow.planner.graph.changes import with_channels
from memstow.planner.graph.check import find_issues
from memstow.planner.graph.links import listed_order
from memstow.planner.graph.live_bytes import unit_of
from memstow.planner.graph.stripe_front import ways_of, whole_way
from memstow.planner.model.graph import Alternative, Graph, Operator, Temporary, Tensor, View, size_of
from memstow.planner.model.problem import Pool
from memstow.solvers.core import Budget
from tests.planner.graph.stripes.test_units import aligned_net


def random_alternative(graph: Graph, random: Random, name: str) -> Alternative:
    """Other operators for some next to each other, with temporaries, in place, reading less or more."""
    begin = random.randrange(len(graph.operators))
    gone = graph.operators[begin : begin + random.randint(1, 4)]
    made = [output for operator in gone for output in operator.outputs]
    read = list(dict.fromkeys(entry for operator in gone for entry in operator.inputs if entry not in made))
    count = random.randint(1, 4)
    own = [f"{name}.{at}" for at in range(random.randint(0, count))]
    outputs: list[list[str]] = [[] for _ in range(count)]
    for entry in (*made, *own):
        random.choice(outputs).append(entry)
    there, operators = list(read), []
    for at, them in enumerate(outputs):
        inputs = random.sample(there, random.randint(0, min(3, len(there))))
        pairs = [(inputs[0], them[0])] if inputs and them and random.random() < 0.5 else []
        extra = [Temporary(id=f"{name}:{at}.tmp", size=random.randint(1, 30), alignment=2)]
        operators.append(
            Operator(
                id=f"{name}:{at}",
                inputs=inputs,
                outputs=them,
                in_place=pairs,
                temporaries=extra if random.random() < 0.4 else [],
            )
        )
        there += them
    return Alternative(
        id=name,
        replaces=[entry.id for entry in gone],
        tensors=[Tensor(id=name, size=random.randint(0, 60), alignment=4) for name in own],
        operators=operators,
        cost=random.choice((None, 5)),
    )


def random_graph(seed: int) -> Graph:
    """A graph with alternatives, of channels, too; some of its constants may be planned."""
    random = Random(seed)
    graph = aligned_net(seed, random.randint(2, 9))
    constant = Tensor(id="table", size=random.randint(1, 99), kind="constant", alignment=4, pools=["memory"])
    if random.random() < 0.3:
        pools = graph.pools or (Pool(id="memory"),)
        first = replace(graph.operators[0], inputs=(*graph.operators[0].inputs, "table"))
        operators = (first, *graph.operators[1:])
        graph = replace(graph, pools=pools, tensors=(*graph.tensors, constant), operators=operators)
    graph = with_channels(_with_view(graph, random) if random.random() < 0.4 else graph)
    for number in range(6):
        more = random_alternative(graph, random, f"other{number}")
        changed = replace(graph, alternatives=(*graph.alternatives, more))
        graph = graph if find_issues(changed) else changed
    return graph


def _with_view(graph: Graph, random: Random) -> Graph:
    """One of its tensors as a part of another, where that is allowed."""
    data = [tensor for tensor in graph.tensors if tensor.kind == "data" and tensor.id not in graph.inputs]
    pairs = [(small, large) for small in data for large in data if size_of(small) <= size_of(large)]
    for small, large in random.sample(pairs, len(pairs)):
        viewed = replace(graph, views=(View(tensor=small.id, of=large.id),))
        if small != large and not find_issues(viewed):
            return viewed
    return graph


@pytest.mark.parametrize("part", range(10))
def test_a_part_of_the_graph_tells_what_all_of_it_does(part: int) -> None:
    compared = 0
    for seed in range(part * 40, part * 40 + 40):
        graph = random_graph(seed)
        order = listed_order(graph)
        for unit in {1, unit_of(graph)}:
            for known in ways_of(graph, order, Budget(-1.0, -1), unit):
                way = known.way
                assert way == whole_way(graph, order, known.alternative, way.begin, way.end, unit), seed
                compared += 1
    assert compared > 100
