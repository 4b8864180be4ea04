"""Graphs, pairs and plans by number: the same as one by one, whichever objects the names are."""

import json
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstow.planner.formats.native import write_document, write_plan, write_symbolic_plan
from memstow.planner.graph.live_bytes import storages
from memstow.planner.graph.lowering import listed_problem
from memstow.planner.model import Status
from memstow.planner.model._instances import pair_numbers
from memstow.planner.model.graph import Graph, Operator, Tensor, columns_of
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Problem
from memstow.planner.model.symbolic import SymbolicPlan


def other(name: str) -> str:
    """The same text, as an object of its own."""
    return "".join(list(name))


def test_a_name_has_its_number_whichever_object_it_is() -> None:
    graph = Graph(
        tensors=[Tensor(id="first tensor", size=1), Tensor(id="second tensor", size=2)],
        operators=[Operator(id="only operator", inputs=[other("first tensor")], outputs=["second tensor"])],
        inputs=[other("first tensor")],
    )
    columns = columns_of(graph)
    assert (list(columns.inputs[1]), list(columns.outputs[1]), list(columns.inputs_of_graph)) == (
        [0],
        [1],
        [0],
    )
    assert not columns.has_unknown


@pytest.mark.parametrize("again", ["twice", other("twice")])
def test_a_name_that_stands_twice_has_its_last_number(again: str) -> None:
    first = "twice"
    graph = Graph(
        tensors=[Tensor(id=first, size=1), Tensor(id=again, size=2)],
        operators=[Operator(id="reads", inputs=[first, again, other("twice")], outputs=[])],
    )
    columns = columns_of(graph)
    assert columns.tensor_number == {"twice": 1}
    assert list(columns.inputs[1]) == [1, 1, 1]


def test_a_pair_in_place_that_is_listed_twice_counts_once() -> None:
    graph = Graph(
        tensors=[Tensor(id=name, size=4) for name in ("in", "out")],
        operators=[
            Operator(id="relu", inputs=["in"], outputs=["out"], in_place=[("in", "out"), ("in", "out")])
        ],
        inputs=["in"],
        outputs=["out"],
    )
    assert [(entry.input, entry.output) for entry in listed_problem(graph).in_place] == [("in", "out")]
    assert [(entry.size, entry.writers, entry.readers) for entry in storages(graph)] == [
        (4, (), (0,)),
        (4, (0,), ()),
    ]


NUMBERS: Final = {"a": 0, "b": 1, "c": 2}


@given(st.lists(st.tuples(st.sampled_from("abcx"), st.sampled_from("abcx"))))
def test_pairs_have_the_numbers_of_their_names(pairs: list[tuple[str, str]]) -> None:
    numbers = [tuple(sorted((NUMBERS.get(one, -1), NUMBERS.get(two, -1)))) for one, two in pairs]
    right = [(one, two) for one, two in numbers if one >= 0 and one != two]
    sides = [one for one, _ in pairs], [two for _, two in pairs]
    assert pair_numbers(NUMBERS, *sides, sorted=False) == (right, len(right) == len(pairs))
    assert pair_numbers(NUMBERS, *sides, sorted=True) == (sorted(set(right)), len(right) == len(pairs))


_NAMES = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12
) | st.sampled_from(['"', "\\", "\n\t\r\b\f", "\x01\x1f\x7f", "/", "é€😀"])


@given(_NAMES, _NAMES, st.integers(0, 1 << 62))
def test_many_placements_are_written_as_few_are(buffer: str, pool: str, offset: int) -> None:
    placements = (
        Placement(buffer=buffer, pool=pool, offset=offset),
        *(Placement(buffer=f"b{i}", pool="memory", offset=i) for i in range(1_000)),
    )
    plan = Plan(status=Status.FEASIBLE, version="1", placements=placements)
    written = write_plan(Problem(buffers=()), plan)
    assert written == write_document(plan)
    assert json.loads(written)["placements"][0] == {"buffer": buffer, "pool": pool, "offset": offset}
    fixed = SymbolicPlan(status=Status.FEASIBLE, shapes="fixed", version="1", placements=placements)
    assert write_symbolic_plan(fixed) == write_document(fixed)
