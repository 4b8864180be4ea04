"""Recorded steps of training: sizes from 512 bytes to gigabytes, and one fullest moment in each iteration."""

from pathlib import Path

import pytest

import memstow
from memstow import Options, Status


@pytest.mark.parametrize(
    ("name", "live"),
    [
        ("fullstep_ctx256", 54_959_401_472),
        ("training_1024", 24_209_134_592),
        ("training_128", 7_015_301_632),
    ],
)
def test_recorded_steps_are_packed_at_their_live_bytes(shared_data: Path, name: str, live: int) -> None:
    problem = memstow.read_problem((shared_data / "torch" / f"{name}.csv").read_bytes())
    plan = memstow.plan(problem, Options(deterministic=True))
    assert plan.status is Status.OPTIMAL
    assert plan.pools[0].peak == live
