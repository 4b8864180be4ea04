"""Graphs with plans in stripes, for the tests of their loops."""

import json
from dataclasses import replace

import memstow
from memstow.planner.graph.schedules import scheduled_problem
from memstow.planner.model.plan import Plan, Schedule, Spill, Stripe

# Two convolutions of 3x3 on a small image: the second has a stride.
TWO: dict[str, object] = {
    "version": 1,
    "name": "two",
    "tensors": [
        {"id": "x", "shape": [6, 6, 1], "type": "int8"},
        {"id": "wide", "shape": [6, 6, 2], "type": "int8"},
        {"id": "y", "shape": [3, 3, 4], "type": "int8"},
        {"id": "score", "shape": [4], "type": "int8"},
    ],
    "operators": [
        {
            "id": "blur",
            "type": "conv2d",
            "inputs": ["x"],
            "outputs": ["wide"],
            "temporaries": [{"id": "window", "size": 9}],
            "window": {"kernel": [3, 3], "padding": [1, 1, 1, 1]},
        },
        {
            "id": "shrink",
            "type": "conv2d",
            "inputs": ["wide"],
            "outputs": ["y"],
            "window": {"kernel": [3, 3], "stride": [2, 2], "padding": [0, 0, 1, 1]},
        },
        {"id": "pool", "type": "mean", "inputs": ["y"], "outputs": ["score"]},
    ],
    "inputs": ["x"],
    "outputs": ["score"],
}


def two() -> memstow.Graph:
    """The graph of the two convolutions."""
    return memstow.read_graph(json.dumps(TWO).encode())


def plan_of(graph: memstow.Graph, schedule: Schedule) -> Plan:
    """A plan with this schedule."""
    problem = scheduled_problem(graph, schedule)
    plan = memstow.plan(problem, memstow.Options(deterministic=True, work_limit=10_000))
    return replace(plan, schedule=schedule)


def in_two_strips() -> tuple[memstow.Graph, Plan]:
    """Both convolutions and the sum over the image in strips of two columns; the last has one."""
    graph = two()
    schedule = Schedule(order=("blur", "shrink", "pool"), stripes=(Stripe(begin=0, end=3, columns=2),))
    return graph, plan_of(graph, schedule)


def with_all() -> tuple[memstow.Graph, Plan]:
    """The first runs again, its result waits elsewhere, and two of them are a stripe."""
    graph = replace(two(), pools=(memstow.Pool(id="fast"), memstow.Pool(id="slow")))
    schedule = Schedule(
        order=("blur", "blur", "shrink", "pool"),
        stripes=(Stripe(begin=1, end=3, columns=3),),
        spills=(Spill(tensor="y", pool="slow", out=2, back=3),),
    )
    return graph, plan_of(graph, schedule)
