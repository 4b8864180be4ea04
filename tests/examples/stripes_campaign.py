"""Random networks and random plans of them, run by the table of loops alone and compared bit by bit.

Seeds from 0 to 999: `PYTHONPATH=examples/stripes python -m tests.examples.stripes_campaign 0 1000`.
"""

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import memstow
from memstow.planner.front.front_request import FrontCallbacks, FrontRequest
from memstow.planner.front.graph_front import graph_points
from memstow.planner.graph.links import listed_order
from memstow.planner.graph.lowering import lower
from memstow.planner.graph.operators import kinds
from memstow.planner.graph.recompute import Choice, Patience, recompute_points
from memstow.planner.graph.schedules import can_spill, runs_once
from memstow.planner.graph.stripes import cut_of
from memstow.planner.loops import write_loops
from memstow.planner.loops.loop_table import program_of, table_of
from memstow.planner.model.plan import Plan, Schedule, Spill, Stripe
from memstow.planner.model.problem import Pool
from striped import interpreter, layers, networks, table
from striped.fixed_point import Image
from striped.network import Network

_POOLS = (Pool(id="fast"), Pool(id="slow"))


def graph_of(net: Network, pools: tuple[Pool, ...] = ()) -> memstow.Graph:
    """The graph of a network as memstow reads it."""
    return replace(memstow.read_graph(json.dumps(net.graph()).encode()), pools=pools)


def random_inputs(net: Network, seed: int) -> dict[str, Image]:
    """Any bytes."""
    make = np.random.default_rng(seed)
    return {name: make.integers(-128, 128, net.image(name)).astype(np.int8) for name in net.inputs}


def random_schedule(graph: memstow.Graph, draw: random.Random, again: bool = False) -> Schedule:
    """Random stripes; with `again`, some operators run again and some tensors wait elsewhere."""
    order = [operator.id for operator in graph.operators]
    spills: list[Spill] = []
    if again:
        once = runs_once(graph)
        for _ in range(draw.randint(0, 4)):
            index = draw.randrange(len(once))
            name = graph.operators[index].id
            if not once[index]:
                order.insert(draw.randint(order.index(name) + 1, len(order)), name)
        spills = list(_random_spills(graph, draw, order))
    schedule = Schedule(order=tuple(order), spills=tuple(spills))
    return replace(schedule, stripes=tuple(_random_stripes(graph, draw, schedule)))


def _random_spills(graph: memstow.Graph, draw: random.Random, order: list[str]) -> Iterator[Spill]:
    """Those that the graph allows, of a few that are tried."""
    result: list[Spill] = []
    tensors = [tensor.id for tensor in graph.tensors if can_spill(graph, tensor)]
    for _ in range(6):
        out = draw.randrange(len(order))
        back = min(out + draw.randint(1, 6), len(order) - 1)
        one = Spill(tensor=draw.choice(tensors), pool=draw.choice(("fast", "slow")), out=out, back=back)
        try:
            program_of(graph, Schedule(order=tuple(order), spills=(*result, one)))
        except memstow.InputError:
            continue
        result.append(one)
        yield one


def _random_stripes(graph: memstow.Graph, draw: random.Random, schedule: Schedule) -> Iterator[Stripe]:
    program = program_of(graph, schedule)
    places = [at for at, operator in enumerate(program.listed.operators) if operator.id not in program.copies]
    known, at = kinds(program.listed), 0
    while at < len(places):
        if known[places[at]] is None or draw.random() < 0.15:
            at += 1
            continue
        end, most = at + 1, draw.randint(1, 8)
        while end < len(places) and end - at < most and places[end] - places[at] == end - at:
            if isinstance(cut_of(program.listed, range(places[at], places[end] + 1), 1), str):
                break
            end += 1
        last = known[places[end - 1]]
        assert last is not None
        columns = draw.choice((last.columns, draw.randint(1, last.columns), 1))
        if end - at > 1 or draw.random() < 0.3:
            yield Stripe(begin=at, end=end, columns=columns)
        at = end


def planned(graph: memstow.Graph, schedule: Schedule) -> Plan:
    """A plan with this schedule."""
    program = program_of(graph, schedule)
    problem = lower(program.striped, listed_order(program.striped))
    plan = memstow.plan(problem, memstow.Options(deterministic=True, work_limit=2000))
    return replace(plan, schedule=schedule)


def check(net: Network, graph: memstow.Graph, plan: Plan, seed: int) -> None:
    """Run the plan by its table, and compare with layer by layer."""
    written = write_loops(table_of(graph, plan))
    inputs = random_inputs(net, seed)
    wanted = layers.run(net, inputs)
    result = interpreter.run(net, table.read(written), inputs, seed)
    for name in net.outputs:
        assert np.array_equal(result[name], wanted[name]), (seed, name, plan.schedule)


def points_of(graph: memstow.Graph, *generators: str) -> list[Plan]:
    """The plans of the front of a graph."""
    options = memstow.Options(deterministic=True, work_limit=2_000_000)
    request = FrontRequest(options=options, generators=frozenset(generators or ("stripes",)))
    return [point.plan for point in graph_points(graph, request, FrontCallbacks())]


def check_front(net: Network, seed: int, counted: Counter[str]) -> None:
    """Run every point of the front of the network."""
    graph = graph_of(net)
    for plan in points_of(graph):
        check(net, graph, plan, seed)
        counted["points of fronts"] += 1


def check_runs_again(net: Network, seed: int, counted: Counter[str]) -> None:
    """Run the points with operators that run again, and with tensors that wait in another pool."""
    alone = Choice(kinds=frozenset({"recompute"}), unit="bytes")
    both = Choice(kinds=frozenset({"recompute", "spill"}), pool=_POOLS[0].id, unit="bytes")
    for choice, pools in ((alone, ()), (both, _POOLS)):
        graph = graph_of(net, pools)
        order = range(len(graph.operators))
        for point in recompute_points(graph, order, choice, Patience(work=20_000)):
            check(net, graph, planned(graph, point.schedule), seed)
            counted["points that run again or spill"] += 1


def check_seed(seed: int, counted: Counter[str]) -> None:
    """One network: plans with random stripes, plans with all that a schedule can say, and its front."""
    draw = random.Random(seed)
    net = networks.random_network(seed, 3 + seed % 12)
    for again in (False, False, True, True):
        graph = graph_of(net, _POOLS if again else ())
        schedule = random_schedule(graph, draw, again)
        check(net, graph, planned(graph, schedule), seed)
        counted["plans"] += 1
        counted["stripes"] += len(schedule.stripes)
        counted["again"] += len(schedule.order) - len(graph.operators)
        counted["spills"] += len(schedule.spills)
    check_front(net, seed, counted)
    check_runs_again(net, seed, counted)


def main() -> None:
    """Try the seeds of the command line."""
    first, end = (int(entry) for entry in sys.argv[1:3])
    counted: Counter[str] = Counter()
    for seed in range(first, end):
        check_seed(seed, counted)
    sys.stdout.write(", ".join(f"{number:,} {what}" for what, number in sorted(counted.items())) + "\n")


if __name__ == "__main__":
    main()
