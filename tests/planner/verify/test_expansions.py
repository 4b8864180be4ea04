"""The planner and the judge each make a graph of a schedule, by code of their own: both must agree."""

from dataclasses import replace
from itertools import combinations
from random import Random

import pytest

from memstow.planner.graph.graph_document import parse_graph
from memstow.planner.graph.operators import operator_costs
from memstow.planner.graph.schedules import scheduled_graph, scheduled_problem
from memstow.planner.graph.stripes import with_stripes
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Schedule, Spill, Stripe
from memstow.planner.model.problem import Pool, Problem
from memstow.planner.verify.graph_replay import problem_in_order, replay
from memstow.planner.verify.graph_verdict import scheduled
from memstow.planner.verify.verdict import Findings, Refused
from tests.campaign import gate_first
from tests.graphs import Document, random_graph
from tests.planner.graph.stripes.nets import random_net
from tests.rolling import random_network

POOLS = (Pool(id="fast"), Pool(id="slow", cost=1))


def judged(graph: Graph, schedule: Schedule) -> Problem:
    result = scheduled(graph, schedule).graph
    findings = Findings()
    run = replay(result, [operator.id for operator in result.operators], findings)
    assert run is not None, findings.violations()
    return problem_in_order(result, run)


def random_schedule(graph: Graph, seed: int) -> Schedule:
    """Operators in the order of the document, some again and some in stripes, and tensors that wait."""
    random = Random(seed)
    names = [operator.id for operator in graph.operators]
    order: list[str] = []
    for at, name in enumerate(names):
        order.append(name)
        if random.random() < 0.4:
            order.append(random.choice(names[: at + 1]))
    spills = []
    made = {operator.id: operator.outputs for operator in graph.operators}
    for _ in range(random.choice((0, 0, 1, 2))):
        if len(order) >= 2:
            out = random.randrange(len(order) - 1)
            there = [*graph.inputs, *(name for operator in order[: out + 1] for name in made[operator])]
            back = random.randrange(out + 1, len(order))
            spills.append(Spill(tensor=random.choice(there), pool="slow", out=out, back=back))
    stripes = []
    begin = 0
    while begin < len(order):
        end = random.randint(begin + 1, len(order))
        if random.random() < 0.7:
            stripes.append(Stripe(begin=begin, end=end, columns=random.randint(1, 8)))
        begin = end
    return Schedule(order=tuple(order), stripes=tuple(stripes), spills=tuple(spills))


@pytest.mark.parametrize("chunk", gate_first(range(8), 3))
def test_random_schedules_are_the_same_problem_at_the_same_cost(chunk: int) -> None:
    same = 0
    for seed in range(chunk, 2000, 8):
        graph = replace(random_network(seed), pools=POOLS)
        schedule = random_schedule(graph, seed)
        try:
            theirs = scheduled_problem(graph, schedule)
        except InputError as error:
            reason = str(error)
            try:
                judged(graph, schedule)
            except Refused:
                continue
            # The planner has one way to say that there is one strip.
            assert "take that many" in reason, (seed, reason)
            continue
        ours = judged(graph, schedule)
        if digest(ours) != digest(theirs):
            mine = {replace(buffer, group=None) for buffer in ours.buffers}
            other = {replace(buffer, group=None) for buffer in theirs.buffers}
            assert (mine - other, other - mine) == (set(), set()), (seed, schedule)
            pytest.fail(f"digests of {seed} differ")
        cost = sum(operator_costs(scheduled_graph(graph, schedule)))
        assert scheduled(graph, schedule).cost == cost, seed
        same += 1
    assert same > 50


def test_every_interval_in_strips_of_some_widths_is_the_same_operator() -> None:
    same = 0
    for seed in range(80):
        for graph in (random_network(seed, most=9, side=7), random_net(seed, 3 + seed % 9)):
            order = tuple(operator.id for operator in graph.operators)
            for begin, end in combinations(range(len(order) + 1), 2):
                stripe = Stripe(begin=begin, end=end, columns=1 + (begin + end + seed) % 5)
                try:
                    theirs = with_stripes(graph, (stripe,)).operators[begin]
                except InputError:
                    continue
                planned = scheduled(graph, Schedule(order=order, stripes=(stripe,)))
                ours = planned.graph.operators[begin]
                assert set(ours.temporaries) == set(theirs.temporaries), (seed, stripe)
                assert (ours.id, ours.cost, set(ours.outputs)) == (
                    theirs.id,
                    theirs.cost,
                    set(theirs.outputs),
                )
                same += 1
    assert same > 500


def random_alternatives(seed: int) -> Graph:
    """A random graph, with alternatives of one operator each, some of which do the same in two."""
    random = Random(seed)
    document = random_graph(seed)
    viewed = {name for view in document["views"] for name in (view["tensor"], view["of"])}
    sizes = {tensor["id"]: tensor["size"] for tensor in document["tensors"]}
    alternatives = []
    for operator in document["operators"]:
        names = {*operator["inputs"], *operator["outputs"]}
        if names & viewed or not operator["outputs"] or random.random() < 0.3:
            continue
        name = f"other {operator['id']}"
        made = [
            {"id": f"{name} {i}", "size": sizes[output] + 1} for i, output in enumerate(operator["outputs"])
        ]
        outputs = [tensor["id"] for tensor in made]
        alternative: Document = {
            "id": name,
            "replaces": [operator["id"]],
            "tensors": made,
            "operators": [
                {
                    "id": f"{name} a",
                    "inputs": operator["inputs"],
                    "outputs": [entry["id"] for entry in made],
                    "cost": 3,
                },
                {"id": f"{name} b", "inputs": outputs, "outputs": operator["outputs"]},
            ],
        }
        if random.random() < 0.5:
            alternative["cost"] = 50
        alternatives.append(alternative)
    return parse_graph({**document, "alternatives": alternatives})


def test_chosen_alternatives_are_the_same_problem_at_the_same_cost() -> None:
    same = 0
    for seed in range(400):
        try:
            graph = random_alternatives(seed)
        except InputError:
            continue
        random = Random(seed)
        chosen = [alternative for alternative in graph.alternatives if random.random() < 0.6]
        instead = {entry.replaces[0]: [operator.id for operator in entry.operators] for entry in chosen}
        order: list[str] = []
        for operator in graph.operators:
            order += instead.get(operator.id, [operator.id])
        schedule = Schedule(order=tuple(order), alternatives=tuple(entry.id for entry in chosen))
        if not chosen:
            continue
        assert digest(judged(graph, schedule)) == digest(scheduled_problem(graph, schedule)), seed
        assert scheduled(graph, schedule).cost == sum(operator_costs(scheduled_graph(graph, schedule))), seed
        same += 1
    assert same > 100
