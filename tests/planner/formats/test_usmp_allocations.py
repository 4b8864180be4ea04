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
    planned = plan(PROBLEM, Options(deterministic=True))
    written = formats.write_plan(PROBLEM, planned, "usmp")
    (listed,) = json.loads(written).values()
    assert {(one["name_hint"], one["pool_name"], one["byte_offset"]) for one in listed} == {
        (one.buffer, one.pool, one.offset) for one in planned.placements
    }
    back = formats.read_plan(written, PROBLEM)
    assert (back.placements, back.status) == (planned.placements, Status.FEASIBLE)
    assert verify(PROBLEM, back) == []


def test_allocations_of_others_are_judged() -> None:
    assert verify(PROBLEM, read(allocation(), allocation("b", "slow"))) == []
    assert [
        issue.code.value for issue in verify(PROBLEM, read(allocation(), allocation("b", "fast", 40)))
    ] != []
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
    result = told(lambda: read(*allocations))
    assert place in {where for _, where in result}, result
    assert code in {entry for entry, _ in result} or code == "wrong_type", result


def test_pool_allocations_are_no_problem() -> None:
    data = json.dumps({"pool_allocations": []}).encode()
    assert told(lambda: formats.read_problem(data)) == [("not_a_problem", "$")]


def test_the_problems_of_tvm_are_answered(shared_data: Path) -> None:
    facts = json.loads((shared_data / "usmp" / "facts.json").read_text())
    for case in (fact for fact in facts.values() if isinstance(fact, dict) and "sizes" in fact):
        problem = formats.read_problem(json.dumps(case).encode(), "usmp")
        planned = plan(problem, Options(time_limit=2.0))
        back = formats.read_plan(formats.write_plan(problem, planned, "usmp"), problem)
        assert set(back.placements) == set(planned.placements)
        assert verify(problem, back) == []
