"""Cases of TVM's planner: an edge is a conflict, and a list of intervals includes both ends."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memstow.planner import formats
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.solve.engine import plan
from memstow.planner.verify import verify
from tests.planner.refusal import refusal, told


def _read(raw: Any) -> Problem:
    return formats.read_problem(json.dumps(raw).encode(), "usmp")


def test_a_case_has_conflicts_and_no_times() -> None:
    problem = _read({"sizes": {"a": 3, "b": 4}, "edges": [["a", "b"]], "pools": [{"name": "m", "size": 9}]})
    assert problem.buffers == (Buffer(id="a", size=3), Buffer(id="b", size=4))
    assert problem.conflicts == (("a", "b"),)
    assert problem.pools == (Pool(id="m", capacity=9),)


def test_an_edge_has_no_direction_and_counts_once() -> None:
    case = {"sizes": {"a": 3, "b": 4}, "edges": [["a", "b"], ["b", "a"]], "conflicts": {"b": ["a"]}}
    assert _read(case).conflicts == (("a", "b"),)


def test_what_a_case_notes_of_itself_is_no_part_of_it() -> None:
    assert _read({"sizes": {"a": 3}, "memory_pressure": 3, "expected": {}, "source": "x"}) == _read(
        {"sizes": {"a": 3}}
    )


def test_both_ends_of_an_interval_live() -> None:
    assert _read([[4, 5, 95]]).buffers == (Buffer(id="0", size=95, lifetime=(4, 6)),)


@pytest.mark.parametrize(
    ("raw", "code", "place"),
    [
        (3, "wrong_root", "$"),
        ({}, "missing_field", "$.sizes"),
        ({"sizes": []}, "not_an_object", "$.sizes"),
        ({"sizes": {"a": "b"}}, "not_an_integer", "$.sizes.a"),
        ({"sizes": {"": 1}}, "empty", '$.sizes[""]'),
        ({"sizes": {"a": 1}, "edges": [["a", "z"]]}, "unknown_buffer", "$.edges[0]"),
        ({"sizes": {"a": 1}, "edges": [["a", "a"]]}, "pair_of_one", "$.edges[0]"),
        ({"sizes": {"a": 1}, "conflicts": {"a": ["z"]}}, "unknown_buffer", "$.conflicts.a"),
        ({"sizes": {"a": 1}, "conflicts": {"a": "z"}}, "not_a_list", "$.conflicts.a"),
        ({"sizes": {"a": 1}, "pools": [{"name": "p"}, {"name": "p"}]}, "duplicate_pool", "$.pools[1].name"),
        ({"sizes": {"a": 1}, "colour": 1}, "unknown_field", "$.colour"),
        ([[1, 2]], "wrong_length", "$[0]"),
        ([[1, 2, 3], [5, 2, 3]], "reversed_lifetime", "$[1]"),
    ],
)
def test_defects_have_their_place(raw: Any, code: str, place: str) -> None:
    assert told(lambda: _read(raw)) == [(code, place)]


def test_defects_are_told_in_the_terms_of_the_file() -> None:
    rows = refusal(lambda: _read([[1, 2], [5, 2, 3], []]))
    assert [issue.message for issue in rows] == [
        "expected three values, given a list of 2 values",
        "the first moment 5 is after the last, 2; give the first and then the last, both live",
        "expected three values, given an empty list",
    ]
    (issue,) = refusal(lambda: _read({"sizes": {"a": 1}, "conflicts": {"a": "z"}}))
    assert issue.message.endswith('given "z"')


def test_every_case_with_sizes_comes_back(shared_data: Path) -> None:
    facts = json.loads((shared_data / "usmp" / "facts.json").read_bytes())
    cases = {name: case for name, case in facts.items() if isinstance(case, dict) and "sizes" in case}
    assert {"mobilenet", "resnet", "inception"} <= set(cases)
    for case in cases.values():
        problem = formats.read_problem(json.dumps(case).encode())
        assert {buffer.id: buffer.size for buffer in problem.buffers} == case["sizes"]
        assert len(problem.conflicts) == len(case.get("edges", []))
        assert formats.read_problem(formats.write_problem(problem, "usmp")) == problem
    for rows in facts["intervals_inclusive"].values():
        assert len(formats.read_problem(json.dumps(rows).encode()).buffers) == len(rows)


def test_later_pools_are_to_be_small_and_then_the_preferred_ones_used(shared_data: Path) -> None:
    """As TVM's hill climb leaves it: what fits the fast memory is there, though that raises its peak."""
    case = json.loads((shared_data / "usmp" / "facts.json").read_bytes())["mobilenet"]
    problem = formats.read_problem(json.dumps(case).encode())
    assert problem.terms() == ("peak:slow_memory", "preference", "peak:fast_memory")
    for solver in ("greedy", "auto"):
        planned = plan(problem, Options(solver=solver, time_limit=60.0))
        assert [use.peak for use in planned.pools] == case["expected"]["hill_climb"]
        assert verify(problem, planned) == []


def test_only_the_objective_that_a_case_has_is_written() -> None:
    pools = (Pool(id="fast", capacity=4), Pool(id="slow"))
    case = Problem(version=1, pools=pools, buffers=(Buffer(id="a", size=3),))
    its = ("peak:slow", "preference", "peak:fast")
    assert formats.read_problem(formats.write_problem(replace(case, objective=its), "usmp")).objective == its
    for objective in (None, ("peak",)):
        other = replace(case, objective=objective)
        with pytest.raises(InputError, match="objective"):
            formats.write_problem(other, "usmp")
