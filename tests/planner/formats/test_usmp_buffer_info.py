"""TVM's BufferInfo and PoolInfo: candidates in order, size hints, alignments, constants and variables."""

import json
from typing import Any

import pytest

from memstow.planner import formats
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.solve.engine import plan
from memstow.planner.verify import verify
from tests.planner.refusal import refusal, told

POOLS: list[dict[str, Any]] = [
    {"pool_name": "fast", "size_hint_bytes": 64, "read_latency_cycles": 1, "targets": ["c"]},
    {"pool_name": "slow", "size_hint_bytes": -1},
    {"pool_name": "flash", "kind": "constant"},
]
A = {"name_hint": "a", "size_bytes": 48, "pool_candidates": ["fast", "slow"], "conflicts": ["b"]}
B = {
    "name_hint": "b",
    "size_bytes": 32,
    "pool_candidates": ["slow", "fast"],
    "conflicts": ["a"],
    "alignment": 16,
}
W = {"name_hint": "w", "size_bytes": 20, "pool_candidates": ["flash"], "constant": True}
V = {**W, "name_hint": "v"}


def infos(*buffers: dict[str, Any], pools: list[dict[str, Any]] = POOLS, **more: Any) -> dict[str, Any]:
    return {"buffer_infos": list(buffers), "pool_infos": pools, **more}


def read(raw: Any) -> Problem:
    return formats.read_problem(json.dumps(raw).encode())


def test_candidates_keep_their_order_and_conflicts_count_once() -> None:
    problem = read(infos(A, B, memory_pressure=80))
    assert problem.buffers == (
        Buffer(id="a", size=48, pools=("fast", "slow")),
        Buffer(id="b", size=32, pools=("slow", "fast"), alignment=16),
    )
    assert problem.conflicts == (("a", "b"),)
    assert problem.pools == (Pool(id="fast", capacity=64), Pool(id="slow"), Pool(id="flash"))


def test_a_size_hint_is_a_capacity_and_minus_one_is_none() -> None:
    assert [pool.capacity for pool in read(infos({**A, "conflicts": []})).pools] == [64, None, None]


def test_inputs_and_outputs_are_planned_as_what_is_between_them() -> None:
    free = {**A, "conflicts": []}
    assert (
        read(infos({**free, "kind": "input"})) == read(infos({**free, "kind": "output"})) == read(infos(free))
    )


def test_constants_never_share_a_byte_though_no_conflict_says_so() -> None:
    problem = read(infos({**A, "conflicts": []}, W, V))
    planned = plan(problem)
    assert verify(problem, planned) == []
    assert {use.pool: use.peak for use in planned.pools}["flash"] == 40


@pytest.mark.parametrize(
    ("raw", "code", "place"),
    [
        (
            infos({**A, "pool_candidates": ["flash"]}),
            "wrong_pool_kind",
            "$.buffer_infos[0].pool_candidates[0]",
        ),
        (
            infos({**W, "pool_candidates": ["slow"]}),
            "wrong_pool_kind",
            "$.buffer_infos[0].pool_candidates[0]",
        ),
        (infos({**A, "pool_candidates": ["x"]}), "unknown_pool", "$.buffer_infos[0].pool_candidates[0]"),
        (infos({**A, "pool_candidates": []}), "empty", "$.buffer_infos[0].pool_candidates"),
        (infos({**A, "conflicts": ["b", "c"]}, B), "unknown_buffer", "$.buffer_infos[0].conflicts[1]"),
        (infos({**A, "conflicts": ["a"]}), "pair_of_one", "$.buffer_infos[0].conflicts[0]"),
        (
            infos({**A, "conflicts": []}, {**A, "conflicts": []}),
            "duplicate_buffer",
            "$.buffer_infos[1].name_hint",
        ),
        (infos({**A, "size": 3}), "unknown_field", "$.buffer_infos[0].size"),
        (infos(pools=[]), "empty", "$.pool_infos"),
        (infos(pools=[POOLS[0], POOLS[0]]), "duplicate_pool", "$.pool_infos[1].pool_name"),
        (
            infos(pools=[{"pool_name": "p", "size_hint_bytes": -2}]),
            "too_small",
            "$.pool_infos[0].size_hint_bytes",
        ),
    ],
)
def test_defects_have_their_place(raw: Any, code: str, place: str) -> None:
    assert (code, place) in told(lambda: read(raw))


def test_what_is_read_is_written_back() -> None:
    problem = read(infos(A, B, W, V))
    assert formats.read_problem(formats.write_problem(problem, "usmp")) == problem


def test_what_has_no_place_there_is_refused_by_name() -> None:
    problem = Problem(
        version=1,
        pools=(Pool(id="p"), Pool(id="q")),
        buffers=(
            Buffer(id="a", size=1, lifetime="always", pools=("p",)),
            Buffer(id="b", size=1, accesses=4),
            Buffer(id="c", size=1, lifetime=(0, 1), pools=("q",)),
        ),
        objective=("peak:q", "preference", "peak:p"),
    )
    assert {issue.path for issue in refusal(lambda: formats.write_problem(problem, "usmp"))} == {
        "$.buffers[1].pools",
        "$.buffers[1].accesses",
        "$.buffers[2].lifetime",
    }
