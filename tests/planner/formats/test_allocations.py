"""A plan as ExecuTorch has it: the memory and the offset of each tensor."""

import json
from typing import Any

import pytest

from memstow.planner import formats
from memstow.planner.model.plan import Placement
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.solve.engine import plan
from memstow.planner.verify import verify
from tests.planner.refusal import told

PROBLEM = Problem(
    buffers=[Buffer(id="a", size=16, lifetime=(0, 2)), Buffer(id="b", size=16, lifetime=(1, 3))],
    pools=[Pool(id="dtcm", capacity=16), Pool(id="sram")],
)
ALLOCATIONS = [{"id": "a", "mem_id": 2, "mem_offset": 32}, {"id": "b", "mem_id": 1, "mem_offset": 0}]


def read(raw: Any) -> tuple[Placement, ...]:
    return formats.read_plan(json.dumps(raw).encode(), PROBLEM).placements


def test_memories_count_from_one_in_the_order_of_the_problem() -> None:
    assert read(ALLOCATIONS) == (
        Placement(buffer="a", pool="sram", offset=32),
        Placement(buffer="b", pool="dtcm", offset=0),
    )


def test_a_plan_comes_back_and_holds() -> None:
    planned = plan(PROBLEM)
    written = formats.write_plan(PROBLEM, planned, "executorch")
    assert {line["mem_id"] for line in json.loads(written)} == {1, 2}
    back = formats.read_plan(written, PROBLEM)
    assert set(back.placements) == set(planned.placements)
    assert verify(PROBLEM, back) == []


@pytest.mark.parametrize(
    ("raw", "code", "place"),
    [
        ([{**ALLOCATIONS[0], "mem_id": 0}], "too_small", "$[0].mem_id"),
        ([*ALLOCATIONS, ALLOCATIONS[0]], "repeated_placement", "$[2]"),
        ([*ALLOCATIONS, 3], "not_an_object", "$[2]"),
        ([*ALLOCATIONS, {"id": "c", "mem_id": 1}], "missing_field", "$[2].mem_offset"),
    ],
)
def test_defects_have_their_place(raw: Any, code: str, place: str) -> None:
    assert (code, place) in told(lambda: read(raw))


def test_a_memory_that_is_not_there_is_for_the_judge() -> None:
    (place,) = read([{**ALLOCATIONS[0], "mem_id": 7}])
    assert place.pool == "7"


def test_it_is_no_problem() -> None:
    assert told(lambda: formats.read_problem(json.dumps(ALLOCATIONS).encode())) == [("not_a_problem", "$")]
