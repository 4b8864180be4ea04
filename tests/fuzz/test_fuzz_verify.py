"""A short run of the fuzzing of `memstow verify` that `make fuzz` does for minutes."""

import os

import pytest

from tests.fuzz.fuzz_verify import run


def test_fuzz_verify_ends_with_a_verdict_or_an_error() -> None:
    seconds = float(os.environ.get("MEMSTOW_FUZZ_SECONDS", "5"))
    tried, verdicts = run(seconds, seed=20_261_123)
    assert tried
    assert verdicts


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(4))
def test_many_wrong_documents_end_with_a_verdict_or_an_error(seed: int) -> None:
    assert run(60, seed)
