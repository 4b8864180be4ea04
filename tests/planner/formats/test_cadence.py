"""What Cadence's planner gets means here what it means there, and nothing of it is passed over."""

import json
from typing import Any

import pytest

from memstow.planner import formats
from memstow.planner.model import Status
from memstow.planner.model.problem import Buffer, Pool, Problem, Relative, Reserved
from memstow.planner.solve.engine import plan
from memstow.planner.verify import verify
from tests.planner.refusal import refusal, told

A = {"id": "a", "allocated_memory": 32, "lifetime": [0, 4]}
B = {"id": "b", "allocated_memory": 16, "lifetime": [4, 4]}


def given(*specs: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"memory_config": {"memory_sizes": [64, 256]}, "specs": list(specs), **more}


def read(raw: Any) -> Problem:
    return formats.read_problem(json.dumps(raw).encode())


def test_both_ends_of_a_lifetime_live() -> None:
    problem = read(given(A, B))
    assert [buffer.lifetime for buffer in problem.buffers] == [(0, 5), (4, 5)]
    peak = plan(read({**given(A, B), "memory_config": {"memory_sizes": [64]}})).objective[0].value
    assert peak == 48


def test_memories_count_from_one_and_are_tried_in_order() -> None:
    problem = read(given({**A, "mem_id": 2}, {**B, "blocklist": [1]}))
    assert [pool.id for pool in problem.pools] == ["1", "2"]
    assert [buffer.pool for buffer in problem.buffers] == ["2", None]
    assert problem.buffers[1].pools == ("2",)


def test_the_end_of_a_buffer_is_rounded_up_before_it_is_compared_with_the_size() -> None:
    config = {"memory_sizes": [70, 80], "memory_alignments": [16, 16]}
    assert [pool.capacity for pool in read(given(A) | {"memory_config": config}).pools] == [64, 80]


def test_padding_is_kept_free_at_the_end_of_every_memory() -> None:
    config = {"memory_sizes": [40, 80], "memory_alignments": [8, 16]}
    problem = read({**given({**A, "allocated_memory": 33}), "memory_config": config, "extra_padding": 8})
    assert [pool.capacity for pool in problem.pools] == [32, 64]
    assert read({**given(), "extra_padding": 65}).pools[0].capacity == 0


def test_a_source_lives_from_the_first_to_the_last_moment_of_what_depends_on_it() -> None:
    late = {"id": "late", "allocated_memory": 8, "lifetime": [9, 12]}
    ties = [{"dependent": "late", "source": "b", "offset": 4}, {"dependent": "b", "source": "a", "offset": 3}]
    problem = read(given(A, B, late, relative_placement=ties))
    lives = {buffer.id: buffer.lifetime for buffer in problem.buffers}
    assert lives == {"a": (0, 13), "b": (4, 5), "late": (9, 13)}
    assert problem.relative == (
        Relative(buffer="late", base="b", offset=4),
        Relative(buffer="b", base="a", offset=3),
    )
    kept = [{**tie, "update_lifetime": False} for tie in ties]
    assert read(given(A, B, late, relative_placement=kept)).buffers[0].lifetime == (0, 5)


def test_parts_of_a_concatenation_follow_each_other_without_gaps() -> None:
    config = {"memory_sizes": [64], "memory_alignments": [16]}
    ties = [
        {"dependent": "left", "source": "cat", "offset": 0},
        {"dependent": "right", "source": "cat", "offset": 7},
    ]
    specs = [
        {"id": "cat", "allocated_memory": 17, "lifetime": [2, 3]},
        {"id": "left", "allocated_memory": 7, "lifetime": [0, 2]},
        {"id": "right", "allocated_memory": 10, "lifetime": [1, 2]},
        {"id": "other", "allocated_memory": 16, "lifetime": [0, 3]},
    ]
    problem = read({"memory_config": config, "specs": specs, "relative_placement": ties})
    planned = plan(problem)
    places = {place.buffer: place.offset for place in planned.placements}
    assert places["right"] == places["left"] + 7 == places["cat"] + 7
    assert places["cat"] % 16 == places["other"] % 16 == 0
    unequal = {"memory_sizes": [64, 64], "memory_alignments": [16, 8]}
    refused = told(lambda: read({"memory_config": unequal, "specs": specs, "relative_placement": ties}))
    assert ("unsupported", "$.relative_placement[1].offset") in refused


def test_a_dependent_that_is_larger_than_its_source_reaches_into_nothing_else() -> None:
    config = {"memory_sizes": [40]}
    specs = [
        {"id": "a", "allocated_memory": 8, "lifetime": [0, 2]},
        {"id": "wide", "allocated_memory": 24, "lifetime": [0, 2]},
        {"id": "other", "allocated_memory": 16, "lifetime": [0, 2]},
    ]
    ties = [{"dependent": "wide", "source": "a", "offset": 0}]
    problem = read({"memory_config": config, "specs": specs, "relative_placement": ties})
    planned = plan(problem)
    assert (planned.status, planned.pools[0].peak) == (Status.OPTIMAL, 40)
    assert verify(problem, planned) == []
    tight = read({"memory_config": {"memory_sizes": [39]}, "specs": specs, "relative_placement": ties})
    assert plan(tight).status is Status.INFEASIBLE


def test_bases_are_kept_where_they_change_nothing() -> None:
    config = {"memory_sizes": [64, 64], "memory_alignments": [16, 16], "base_addrs": [4096, 8192]}
    assert [pool.base for pool in read(given(A) | {"memory_config": config}).pools] == [4096, 8192]
    config["base_addrs"] = [4096, 8200]
    assert told(lambda: read(given(A) | {"memory_config": config})) == [
        ("unsupported", "$.memory_config.base_addrs[1]")
    ]


@pytest.mark.parametrize(
    ("raw", "code", "place"),
    [
        ({"specs": []}, "missing_field", "$.memory_config"),
        (given({**A, "mem_offset": 0}), "unknown_field", "$.specs[0].mem_offset"),
        (given({**A, "mem_id": 0}), "unknown_memory", "$.specs[0].mem_id"),
        (given({**A, "mem_id": 3}), "unknown_memory", "$.specs[0].mem_id"),
        (given({**A, "blocklist": [0]}), "unknown_memory", "$.specs[0].blocklist[0]"),
        (given({**A, "blocklist": [1, 2]}), "no_allowed_pool", "$.specs[0].blocklist"),
        (given({**A, "mem_id": 1, "blocklist": [1]}), "pin_not_allowed", "$.specs[0].mem_id"),
        (given({**A, "lifetime": [4, 2]}), "reversed_lifetime", "$.specs[0].lifetime"),
        (
            # What depends on it would widen it to a life that looks sound.
            given(
                {**A, "lifetime": [4, 2]},
                {**A, "id": "b"},
                relative_placement=[{"dependent": "b", "source": "a"}],
            ),
            "reversed_lifetime",
            "$.specs[0].lifetime",
        ),
        (given(A, A), "duplicate_buffer", "$.specs[1].id"),
        (
            given(A, absolute_placement=[{"spec": "z", "pinned_memory_id": 1}]),
            "unknown_buffer",
            "$.absolute_placement[0].spec",
        ),
        (
            given(A, absolute_placement=[{"spec": "a", "pinned_memory_id": 1}] * 2),
            "repeated_pin",
            "$.absolute_placement[1].spec",
        ),
        (
            given(A, absolute_placement=[{"spec": "a", "pinned_memory_id": 1, "offset": 33}]),
            "pin_beyond_capacity",
            "$.absolute_placement[0].offset",
        ),
        (
            given(
                {**A, "alignment": 16},
                absolute_placement=[{"spec": "a", "pinned_memory_id": 1, "offset": 8}],
            ),
            "pin_misaligned",
            "$.absolute_placement[0].offset",
        ),
        (
            given({**A, "blocklist": [2]}, absolute_placement=[{"spec": "a", "pinned_memory_id": 2}]),
            "pin_not_allowed",
            "$.absolute_placement[0].pinned_memory_id",
        ),
        (
            given(A, relative_placement=[{"dependent": "z", "source": "a"}]),
            "unknown_buffer",
            "$.relative_placement[0]",
        ),
        (
            {"memory_config": {"memory_sizes": [64], "memory_names": ["a", "b"]}, "specs": []},
            "wrong_length",
            "$.memory_config.memory_names",
        ),
        (
            {"memory_config": {"memory_sizes": [4, 4], "memory_names": ["a", "a"]}, "specs": []},
            "duplicate_pool",
            "$.memory_config.memory_names[1]",
        ),
    ],
)
def test_defects_have_their_place(raw: Any, code: str, place: str) -> None:
    assert (code, place) in told(lambda: read(raw))


def test_a_ring_of_relative_placements_is_told() -> None:
    ties = [{"dependent": "a", "source": "b"}, {"dependent": "b", "source": "a", "offset": 4}]
    codes = {code for code, _ in told(lambda: read(given(A, B, relative_placement=ties)))}
    assert codes == {"two_distances", "relative_cycle"}


def test_what_is_read_is_written_back() -> None:
    raw = given(
        {**A, "mem_id": 2},
        {**B, "blocklist": [1], "alignment": 4},
        {"id": "c", "allocated_memory": 8, "lifetime": [6, 9]},
        relative_placement=[{"dependent": "c", "source": "b", "offset": 8}],
        absolute_placement=[{"spec": "b", "pinned_memory_id": 2, "offset": 16}],
    )
    problem = read(raw)
    assert formats.read_problem(formats.write_problem(problem, "executorch")) == problem


def test_what_has_no_place_there_is_refused_by_name() -> None:
    problem = Problem(
        version=1,
        pools=(
            Pool(id="p", capacity=20, alignment=16, base=8, reserved=(Reserved(offset=0, size=1),)),
            Pool(id="q", cost=2),
        ),
        buffers=(
            Buffer(id="a", size=1, lifetime=(0, 1), pools=("q", "p"), accesses=3),
            Buffer(id="b", size=1, lifetime="always"),
        ),
        conflicts=(("a", "b"),),
        objective=("peak",),
    )
    assert {issue.path for issue in refusal(lambda: formats.write_problem(problem, "executorch"))} == {
        "$.conflicts",
        "$.objective",
        "$.pools[0].capacity",
        "$.pools[0].base",
        "$.pools[0].reserved",
        "$.pools[1].cost",
        "$.buffers[0].pools",
        "$.buffers[0].accesses",
        "$.buffers[1].lifetime",
    }


def test_what_refers_to_nothing_is_told_together() -> None:
    raw = given(
        {**A, "mem_id": 3},
        relative_placement=[{"dependent": "a", "source": "y"}],
        absolute_placement=[{"spec": "z", "pinned_memory_id": 1}],
    )
    assert told(lambda: read(raw)) == [
        ("unknown_memory", "$.specs[0].mem_id"),
        ("unknown_buffer", "$.relative_placement[0]"),
        ("unknown_buffer", "$.absolute_placement[0].spec"),
    ]
