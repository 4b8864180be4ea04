"""Schedules in which operators run again and tensors wait elsewhere, as plain graphs."""

from random import Random

import pytest

from memstow.planner.graph.check import find_issues
from memstow.planner.graph.graph_document import parse_graph
from memstow.planner.graph.links import links_of
from memstow.planner.graph.lowering import listed_problem, lower
from memstow.planner.graph.schedules import can_spill, runs_once, with_runs
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Schedule, Spill, Stripe
from tests.graphs import Document, orders, random_graph


def chain(**fields: object) -> Graph:
    """x -> a -> b -> c -> d, and d reads a again."""
    document: Document = {
        "version": 1,
        "pools": [{"id": "fast", "capacity": 1000}, {"id": "slow"}],
        "inputs": ["x"],
        "outputs": ["d"],
        "tensors": [{"id": name, "size": 8, "alignment": 4} for name in "xabcd"],
        "operators": [
            {"id": "A", "inputs": ["x"], "outputs": ["a"], "temporaries": [{"id": "w", "size": 3}]},
            {"id": "B", "inputs": ["a"], "outputs": ["b"]},
            {"id": "C", "inputs": ["b"], "outputs": ["c"]},
            {"id": "D", "inputs": ["c", "a"], "outputs": ["d"], "in_place": [["a", "d"]]},
        ],
    }
    return parse_graph({**document, **fields})


def test_a_later_run_is_an_operator_of_its_own_and_readers_read_what_was_made_last() -> None:
    graph, schedule = with_runs(chain(), Schedule(order=tuple("ABCAD")))
    assert schedule == Schedule(order=("A", "B", "C", "A#2", "D"))
    assert [tensor.id for tensor in graph.tensors] == ["x", "a", "b", "c", "d", "a#2"]
    again, last = graph.operators[3:]
    assert (again.inputs, again.outputs, again.temporaries[0].id) == (("x",), ("a#2",), "w#2")
    assert (last.inputs, last.in_place) == (("c", "a#2"), (("a#2", "d"),))
    assert find_issues(graph) == []
    lives = {buffer.id: buffer.lifetime for buffer in listed_problem(graph).buffers}
    assert (lives["x"], lives["a"], lives["a#2"]) == ((0, 5), (1, 3), (4, 6))


def test_a_spill_is_two_operators_that_copy() -> None:
    spill = Spill(tensor="a", pool="slow", out=1, back=3)
    graph, schedule = with_runs(chain(), Schedule(order=tuple("ABCD"), spills=(spill,)))
    assert schedule.order == ("A", "B", "a.out.1", "C", "a.back.1", "D")
    assert [tensor.id for tensor in graph.tensors][5:] == ["a.away.1", "a.at.1"]
    away, at = graph.tensors[5:]
    assert (away.size, away.pools, at.size, at.alignment, at.pools) == (8, ("slow",), 8, 4, None)
    assert graph.operators[2].inputs == ("a",)
    assert graph.operators[4].outputs == ("a.at.1",)
    assert graph.operators[5].inputs == ("c", "a.at.1")
    assert find_issues(graph) == []


def test_an_output_is_the_version_that_is_there_in_the_end() -> None:
    graph, _ = with_runs(chain(outputs=["a", "d"]), Schedule(order=tuple("ABCAD")))
    assert graph.outputs == ("a#2", "d")


def test_ids_that_are_taken_get_further_marks() -> None:
    graph = chain(
        tensors=[{"id": name, "size": 8} for name in [*"xabcd", "a#2", "b.at.1"]],
        inputs=["x", "a#2", "b.at.1"],
    )
    spill = Spill(tensor="b", pool="slow", out=1, back=3)
    expanded, _ = with_runs(graph, Schedule(order=("A", "B", "A", "C", "D"), spills=(spill,)))
    assert [tensor.id for tensor in expanded.tensors][7:] == ["b.away.1", "a#2#", "b.at.1#"]


def test_stripes_move_with_their_operators() -> None:
    spill = Spill(tensor="x", pool="slow", out=0, back=3)
    stripe = Stripe(begin=1, end=3, columns=1)
    schedule = Schedule(order=tuple("ABCAD"), spills=(spill,), stripes=(stripe,))
    _, moved = with_runs(chain(), schedule)
    assert moved.order[2:4] == ("B", "C")
    assert moved.stripes == (Stripe(begin=2, end=4, columns=1),)
    inside = Schedule(order=tuple("ABCAD"), spills=(spill,), stripes=(Stripe(begin=0, end=2, columns=1),))
    with pytest.raises(InputError, match="inside"):
        with_runs(chain(), inside)


@pytest.mark.parametrize(
    ("schedule", "says"),
    [
        (Schedule(order=tuple("ABC")), "'D' is missing"),
        (Schedule(order=(*"ABCD", "E")), "no operator 'E'"),
        (Schedule(order=tuple("BACD")), "'B' needs 'A'"),
        (Schedule(order=tuple("ABCD"), spills=(Spill(tensor="z", pool="slow", out=0, back=2),)), "no tensor"),
        (Schedule(order=tuple("ABCD"), spills=(Spill(tensor="a", pool="disk", out=1, back=3),)), "no pool"),
        (Schedule(order=tuple("ABCD"), spills=(Spill(tensor="a", pool="slow", out=1, back=4),)), "places"),
        (Schedule(order=tuple("ABCD"), spills=(Spill(tensor="a", pool="slow", out=3, back=1),)), "places"),
        (Schedule(order=tuple("ABCD"), spills=(Spill(tensor="a", pool="slow", out=0, back=3),)), "away"),
        (Schedule(order=tuple("ABCD"), spills=(Spill(tensor="b", pool="slow", out=0, back=2),)), "not there"),
        (Schedule(order=tuple("ABCD"), stripes=(Stripe(begin=2, end=5, columns=1),)), "not two places"),
    ],
)
def test_schedules_that_the_graph_does_not_allow_are_refused(schedule: Schedule, says: str) -> None:
    with pytest.raises(InputError, match=says):
        with_runs(chain(), schedule)


def test_who_writes_a_state_runs_once_and_who_reads_it_never_after() -> None:
    tensors = [{"id": name, "size": 8} for name in "xab"] + [{"id": "s", "size": 4, "kind": "state"}]
    operators: list[Document] = [
        {"id": "read", "inputs": ["x", "s"], "outputs": ["a"]},
        {"id": "write", "inputs": ["a", "s"], "outputs": ["s"]},
        {"id": "use", "inputs": ["a"], "outputs": ["b"]},
    ]
    graph = chain(tensors=tensors, operators=operators, outputs=["b"])
    assert runs_once(graph) == [False, True, False]
    with_runs(graph, Schedule(order=("read", "read", "write", "use")))
    with pytest.raises(InputError, match="cannot run again"):
        with_runs(graph, Schedule(order=("read", "write", "write", "use")))
    with pytest.raises(InputError, match="'write' needs 'read'"):
        with_runs(graph, Schedule(order=("read", "write", "read", "use")))


def test_random_schedules_make_valid_graphs_and_plain_ones_the_same_problem() -> None:
    random = Random(5)
    refusals: list[str] = []
    for seed in range(300):
        document = random_graph(seed)
        document["pools"] = [{"id": "fast"}, {"id": "slow"}]
        graph = parse_graph(document)
        order = next(orders(document))
        plain, _ = with_runs(graph, Schedule(order=tuple(order)))
        index = links_of(graph).operator_index
        assert digest(listed_problem(plain)) == digest(lower(graph, [index[name] for name in order]))
        once = runs_once(graph)
        longer = list(order)
        for _ in range(3):
            at = random.randrange(len(longer))
            name = random.choice(longer[: at + 1])
            if not once[index[name]]:
                longer.insert(at + 1, name)
        spills = []
        for tensor in graph.tensors:
            if can_spill(graph, tensor) and len(longer) > 1:
                out = random.randrange(len(longer) - 1)
                spills.append(Spill(tensor=tensor.id, pool="slow", out=out, back=out + 1))
        try:
            expanded, schedule = with_runs(graph, Schedule(order=tuple(longer), spills=tuple(spills)))
        except InputError as error:
            refusals.append(str(error))
            continue
        assert find_issues(expanded) == [], seed
        assert schedule.order == tuple(operator.id for operator in expanded.operators)
    assert all(
        "not there yet" in refusal or "comes later" in refusal or "makes or reads" in refusal
        for refusal in refusals
    )
    assert len(refusals) < 250
