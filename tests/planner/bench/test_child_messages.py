"""A run is killed when it is later than what its size allows, and not before."""

import time

import pytest

from memstow.planner.bench.runs.child_messages import Course


@pytest.mark.parametrize(("buffers", "late"), [(0, 2.0), (1_000_000, 52.0)])
def test_a_run_may_be_late_by_a_share_of_its_time_and_by_its_buffers(buffers: int, late: float) -> None:
    course = Course([{"asked": {"options": {"time_limit": 4.0}}}], 0.0)
    before = time.monotonic()
    problem = {"kind": "problem", "features": {"buffers": buffers}}
    course.hear({"kind": "told", "messages": [problem]})
    assert before <= course.until - (4.0 + late) <= time.monotonic()


def test_a_deterministic_run_has_an_hour() -> None:
    course = Course([{"asked": {"options": {"time_limit": 4.0, "deterministic": True}}}], 0.0)
    before = time.monotonic()
    course.hear({"kind": "told", "messages": [{"kind": "problem", "features": {"buffers": 5}}]})
    assert before <= course.until - 3600.0 <= time.monotonic()
