"""A run is killed when it is later than what its size allows, and not before."""

import time

import pytest

from memstow.planner.bench.supervisor import RunBatch
from tests.planner.bench.requests import given, solver, task


@pytest.mark.parametrize(("buffers", "late"), [(0, 2.0), (1_000_000, 52.0)])
def test_a_run_may_be_late_by_a_share_of_its_time_and_by_its_buffers(buffers: int, late: float) -> None:
    batch = RunBatch([task(given(), solver("greedy", time_limit=4.0, deterministic=False))], 0.0)
    before = time.monotonic()
    problem = {"kind": "problem", "features": {"buffers": buffers}}
    batch.receive({"kind": "batch", "messages": [problem]})
    assert before <= batch.until - (4.0 + late) <= time.monotonic()


def test_a_deterministic_run_has_an_hour() -> None:
    batch = RunBatch([task(given(), solver("greedy", time_limit=4.0, deterministic=True))], 0.0)
    before = time.monotonic()
    batch.receive({"kind": "batch", "messages": [{"kind": "problem", "features": {"buffers": 5}}]})
    assert before <= batch.until - 3600.0 <= time.monotonic()
