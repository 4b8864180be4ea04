"""Short solves leave nothing behind; `python -m benchmarks.soak short` is the same at length."""

from pathlib import Path

import pytest

from benchmarks.soak import short
from memstow.planner.model import Status

pytestmark = pytest.mark.campaign

SOLVES = 400
MOST_BUFFERS = 150
GROWTH = 16 << 20
"""More than at length: with so few solves the allocator is still filling its arenas."""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_hundreds_of_short_solves_leave_no_memory_no_threads_and_no_files() -> None:
    left = short(SOLVES, MOST_BUFFERS)
    assert left.statuses.total() == SOLVES
    assert set(left.statuses) == set(Status)
    assert left.growth < GROWTH
    assert (left.threads, left.files) == (0, 0)
