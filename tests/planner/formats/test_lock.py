"""Locks: what is written is read again, and anything else is refused with an issue."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstow.planner.formats import read_plan
from memstow.planner.formats.lock import Lock, choices_of, read_lock, write_lock
from memstow.planner.model import Status
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Buffer, Problem
from memstow.planner.solve import engine

PROBLEM = Problem(
    name="line\nbreak",
    buffers=(Buffer(id="a\n  b\u2028", size=4, lifetime=(0, 2)), Buffer(id="}", size=4, lifetime=(1, 3))),
)
OPTIONS = Options(deterministic=True, seed=3, gap=0.5)
PLAN = engine.plan(PROBLEM, OPTIONS)


def test_a_lock_is_read_as_it_was_written() -> None:
    written = write_lock(PROBLEM, OPTIONS, PLAN)
    assert read_lock(written) == Lock(digest(PROBLEM), choices_of(OPTIONS), PLAN)
    assert read_plan(written, PROBLEM) == PLAN


def test_each_placement_has_a_line_so_that_a_change_is_easy_to_see() -> None:
    lines = write_lock(PROBLEM, OPTIONS, PLAN).decode().split("\n")
    assert sum(line.startswith('      {"buffer": ') for line in lines) == 2


def test_what_makes_no_difference_to_a_deterministic_plan_is_not_in_a_lock() -> None:
    other = replace(OPTIONS, time_limit=99.0, workers=7, hint=Plan(status=Status.UNKNOWN))
    assert choices_of(other) == choices_of(OPTIONS)
    assert choices_of(replace(OPTIONS, work_limit=5)) != choices_of(OPTIONS)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(_JSON, _JSON, _JSON, _JSON)
def test_anything_else_is_refused(version: object, problem: object, options: object, plan: object) -> None:
    raw = {"version": version, "problem": problem, "options": options, "plan": plan}
    for document in (raw, plan, {**raw, "more": 1}):
        with pytest.raises(InputError):
            read_lock(json.dumps(document).encode())


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"id,offset\n", b"<<<<<<< ours\n{}\n"])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        read_lock(data)
