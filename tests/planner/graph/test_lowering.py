"""The problem of a graph: what is live when, against a count of its own; and back in the judge."""

from dataclasses import replace
from itertools import islice, permutations

import pytest

from memstow.planner.graph.graph_document import parse_graph
from memstow.planner.graph.links import links_of, listed_order
from memstow.planner.graph.live_bytes import order_instance, steps
from memstow.planner.graph.lowering import listed_problem, lower
from memstow.planner.graph.schedules import lower_graph, scheduled_problem
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph, Operator, Tensor
from memstow.planner.model.plan import Schedule
from memstow.planner.model.problem import Problem
from memstow.planner.solve.engine import plan
from memstow.planner.verify.graph_replay import problem_in_order, replay
from memstow.planner.verify.verdict import Findings
from memstow.solvers.orders import bytes_by_step
from tests.graphs import live_bytes_of, needed, orders, random_graph

SEEDS = range(300)


def in_order(graph: Graph, names: list[str]) -> Problem:
    return lower(graph, [links_of(graph).operator_index[name] for name in names])


@pytest.mark.parametrize("chunk", range(10))
def test_what_is_live_is_what_a_simulation_counts(chunk: int) -> None:
    for seed in SEEDS[chunk::10]:
        document = random_graph(seed)
        graph = parse_graph(document)
        for order in islice(orders(document), 8):
            counted = needed(document, order)
            result = live_bytes_of(in_order(graph, order), len(counted))
            assert result == counted, (seed, order)


def test_the_judge_makes_the_same_problem_by_itself() -> None:
    for seed in SEEDS:
        document = random_graph(seed)
        graph = parse_graph(document)
        for order in islice(orders(document), 4):
            findings = Findings()
            replayed = replay(graph, order, findings)
            assert replayed is not None, (seed, findings.violations())
            theirs, ours = problem_in_order(graph, replayed), in_order(graph, order)
            # Groups are labels, which say nothing about a plan.
            assert theirs.buffers == tuple(replace(buffer, group=None) for buffer in ours.buffers)
            assert (theirs.relative, theirs.pools) == (ours.relative, ours.pools)
            assert set(theirs.in_place) == set(ours.in_place), (seed, order)


def test_buffers_are_in_the_group_of_the_type_of_their_operator_or_of_its_id() -> None:
    document = {
        "version": 1,
        "inputs": ["x"],
        "outputs": ["y"],
        "tensors": [{"id": name, "size": 4} for name in "xhy"],
        "operators": [
            {"id": "first", "inputs": ["x"], "outputs": ["h"], "temporaries": [{"id": "t", "size": 2}]},
            {"id": "second", "type": "relu", "inputs": ["h"], "outputs": ["y"]},
        ],
    }
    groups = {buffer.id: buffer.group for buffer in listed_problem(parse_graph(document)).buffers}
    assert groups == {"x": None, "h": "first", "t": "first", "y": "relu"}


def test_the_steps_of_a_survey_and_the_arrays_of_a_search_count_the_same() -> None:
    for seed in SEEDS:
        document = random_graph(seed)
        graph = parse_graph(document)
        instance = order_instance(graph)
        for names in islice(orders(document), 4):
            order = [links_of(graph).operator_index[name] for name in names]
            counted = needed(document, names)[1:]
            most, at = [], 0
            for operator in order:
                phases = [
                    temporary.phases[1]
                    for temporary in graph.operators[operator].temporaries
                    if temporary.phases
                ]
                end = at + max([1, *phases])
                most.append(max(counted[at:end]))
                at = end
            assert [step.bytes for step in steps(graph, order)] == most, (seed, names)
            assert bytes_by_step(instance, order) == most, (seed, names)


def test_the_judge_refuses_exactly_the_orders_that_the_graph_does_not_allow() -> None:
    refused = 0
    for seed in range(60):
        document = random_graph(seed, most=4)
        graph = parse_graph(document)
        allowed = {tuple(order) for order in orders(document)}
        names = [operator.id for operator in graph.operators]
        for order in ([*names[i:], *names[:i]] for i in range(len(names))):
            findings = Findings()
            assert (replay(graph, order, findings) is not None) == (tuple(order) in allowed), (seed, order)
            assert bool(findings.total) == (tuple(order) not in allowed)
            refused += tuple(order) not in allowed
    assert refused > 20


def test_the_listed_order_is_kept_where_it_can_run() -> None:
    for seed in range(50):
        graph = parse_graph(random_graph(seed))
        assert listed_order(graph) == list(range(len(graph.operators)))


def test_phases_within_one_operator_are_apart() -> None:
    graph = parse_graph(
        {
            "version": 1,
            "tensors": [{"id": "x", "size": 1}],
            "operators": [
                {
                    "id": "f",
                    "inputs": ["x"],
                    "temporaries": [
                        {"id": "a", "size": 5, "phases": [0, 2]},
                        {"id": "b", "size": 7, "phases": [2, 3]},
                        {"id": "c", "size": 1},
                    ],
                },
                {"id": "g", "inputs": ["x"]},
            ],
            "inputs": ["x"],
        }
    )
    lives = {buffer.id: buffer.lifetime for buffer in listed_problem(graph).buffers}
    assert lives == {"x": (0, 5), "a": (1, 3), "b": (3, 4), "c": (1, 4)}


def test_a_program_can_ask_for_any_order_and_is_told_which_is_none() -> None:
    graph = parse_graph(
        {
            "version": 1,
            "tensors": [{"id": "x", "size": 1}, {"id": "y", "size": 2}, {"id": "z", "size": 2}],
            "operators": [
                {"id": "f", "inputs": ["x"], "outputs": ["y"]},
                {"id": "g", "inputs": ["x"], "outputs": ["z"]},
                {"id": "h", "inputs": ["y"]},
            ],
            "inputs": ["x"],
        }
    )
    lives = {buffer.id: buffer.lifetime for buffer in lower_graph(graph, ["g", "f", "h"]).buffers}
    assert lives == {"x": (0, 3), "y": (2, 4), "z": (1, 2)}
    with pytest.raises(InputError, match="'h' needs 'f'"):
        lower_graph(graph, ["h", "f", "g"])
    with pytest.raises(InputError, match="each operator of the graph once"):
        lower_graph(graph, ["f", "f", "g"])


def test_the_problem_of_a_schedule_is_refused_exactly_where_the_graph_does_not_allow_its_order() -> None:
    refused = 0
    for seed in SEEDS[:60]:
        document = random_graph(seed)
        graph = parse_graph(document)
        allowed = {tuple(order) for order in orders(document)}
        for order in islice(permutations(operator.id for operator in graph.operators), 200):
            schedule = Schedule(order=order)
            if order in allowed:
                assert scheduled_problem(graph, schedule) == in_order(graph, list(order)), (seed, order)
                continue
            refused += 1
            with pytest.raises(InputError) as raised:
                scheduled_problem(graph, schedule)
            assert raised.value.issues[0].code == "not_a_schedule", (seed, order)
            assert raised.value.issues[0].path.startswith("schedule.order"), (seed, order)
    assert refused > 1000


def test_a_reader_before_its_writer_has_no_problem() -> None:
    graph = parse_graph(
        {
            "version": 1,
            "tensors": [{"id": name, "size": 1} for name in "xyz"],
            "operators": [
                {"id": "a", "inputs": ["x"], "outputs": ["y"]},
                {"id": "b", "inputs": ["y"], "outputs": ["z"]},
            ],
            "inputs": ["x"],
        }
    )
    with pytest.raises(InputError, match="'b' needs 'a', which comes later; put it before"):
        scheduled_problem(graph, Schedule(order=("b", "a")))
    with pytest.raises(InputError, match="it does not have each operator of the graph once"):
        scheduled_problem(graph, Schedule(order=("a",)))


def test_a_type_that_no_name_may_be_is_no_group() -> None:
    tensors = (Tensor(id="x", size=4), Tensor(id="y", size=4))
    operator = Operator(id="o", type="a\0b", inputs=("x",), outputs=("y",))
    graph = Graph(tensors=tensors, operators=(operator,), inputs=("x",), outputs=("y",))
    assert [buffer.group for buffer in listed_problem(graph).buffers] == [None, "o"]
    assert plan(graph).status == "optimal"


def test_each_order_has_its_own_problem_however_often_it_is_asked_for() -> None:
    for seed in range(100):
        document = random_graph(seed)
        graph = parse_graph(document)
        request = list(islice(orders(document), 4))
        for names in (*request, *request):
            again = parse_graph(document)
            assert in_order(graph, names) == in_order(again, names)
        assert in_order(graph, request[0]) is in_order(graph, request[0])
