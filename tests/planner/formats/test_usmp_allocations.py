"""Plans as PoolAllocations: what TVM's planner would answer, and the way back."""

import json
from pathlib import Path
from typing import Any

import pytest

from memstow.planner import formats
from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.solve.engine import plan
from memstow.planner.verify import verify
from tests.planner.refusal import told

CASE: dict[str, Any] = {
    "buffer_infos": [
        {"name_hint": "a", "size_bytes": 48, "pool_candidates": ["fast", "slow"], "conflicts": ["b"]},
        {"name_hint": "b", "size_bytes": 32, "pool_candidates": ["fast", "slow"], "conflicts": ["a"]},
    ],
    "pool_infos": [{"pool_name": "fast", "size_hint_bytes": 64}, {"pool_name": "slow"}],
}
PROBLEM = formats.read_problem(json.dumps(CASE).encode())


def allocation(name: str = "a", pool: str = "fast", offset: object = 0, **more: object) -> dict[str, object]:
    return {"name_hint": name, "pool_name": pool, "byte_offset": offset, **more}


def read(*allocations: dict[str, object]) -> Plan:
    return formats.read_plan(json.dumps({"pool_allocations": allocations}).encode(), PROBLEM)


def test_a_plan_is_written_with_the_names_of_tvm_and_recognised() -> None:
    found = plan(PROBLEM, Options(deterministic=True))
    written = formats.write_plan(PROBLEM, found, "usmp")
    (listed,) = json.loads(written).values()
    assert {(one["name_hint"], one["pool_name"], one["byte_offset"]) for one in listed} == {
        (one.buffer, one.pool, one.offset) for one in found.placements
    }
    back = formats.read_plan(written, PROBLEM)
    assert (back.placements, back.status) == (found.placements, Status.FEASIBLE)
    assert verify(PROBLEM, back) == []


def test_allocations_of_others_are_judged() -> None:
    assert verify(PROBLEM, read(allocation(), allocation("b", "slow"))) == []
    assert [it.code.value for it in verify(PROBLEM, read(allocation(), allocation("b", "fast", 40)))] != []
    assert read(allocation("c", "elsewhere", 7)).placements == (
        Placement(buffer="c", pool="elsewhere", offset=7),
    )


@pytest.mark.parametrize(
    ("allocations", "code", "place"),
    [
        ([allocation(), allocation(offset=8)], "repeated_placement", "$.pool_allocations[1]"),
        ([allocation(offset=-1)], "too_small", "$.pool_allocations[0].byte_offset"),
        ([allocation(offset="0")], "wrong_type", "$.pool_allocations[0].byte_offset"),
        ([allocation(size=3)], "unknown_field", "$.pool_allocations[0].size"),
        ([{"name_hint": "a"}], "missing_field", "$.pool_allocations[0].pool_name"),
    ],
)
def test_defects_have_their_place(allocations: list[dict[str, object]], code: str, place: str) -> None:
    found = told(lambda: read(*allocations))
    assert place in {where for _, where in found}, found
    assert code in {it for it, _ in found} or code == "wrong_type", found


def test_pool_allocations_are_no_problem() -> None:
    data = json.dumps({"pool_allocations": []}).encode()
    assert told(lambda: formats.read_problem(data)) == [("not_a_problem", "$")]


def test_the_problems_of_tvm_are_answered(shared_data: Path) -> None:
    facts = json.loads((shared_data / "usmp" / "facts.json").read_text())
    for case in (it for it in facts.values() if isinstance(it, dict) and "sizes" in it):
        problem = formats.read_problem(json.dumps(case).encode(), "usmp")
        found = plan(problem, Options(time_limit=2.0))
        back = formats.read_plan(formats.write_plan(problem, found, "usmp"), problem)
        assert set(back.placements) == set(found.placements)
        assert verify(problem, back) == []
