"""A short run of the fuzzing that `make fuzz` does for minutes."""

import os

from tests.fuzz.fuzz_readers import check, run
from tests.fuzz.seeds import PLANS, PROBLEMS


def test_the_inputs_that_fuzzing_starts_from_are_sound() -> None:
    for data in PROBLEMS + PLANS:
        assert check(data) > 0


def test_fuzz_readers() -> None:
    seconds = float(os.environ.get("MEMSTOW_FUZZ_SECONDS", "5"))
    tried, came_out = run(seconds, seed=20_261_120)
    assert tried
    assert came_out
