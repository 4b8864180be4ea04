"""A short form of the mixed load that `benchmarks.load` keeps up for minutes."""

import pytest

from benchmarks.load import mixed

pytestmark = pytest.mark.campaign


def test_a_server_under_mixed_load_answers_everything_and_does_every_job() -> None:
    seen = mixed(0.15)
    assert seen.errors() == 0, (seen.statuses, seen.ends)
    assert seen.ends["done"] >= 2
    assert seen.statuses["POST /plan 200"] > 20
    assert seen.statuses["GET /metrics 200"] >= 2
    assert seen.lag > 0
    # The answers that are kept in memory, and what allocators round: no copy of everything that came by.
    assert max(seen.memory) - seen.memory[0] < 100 << 20
