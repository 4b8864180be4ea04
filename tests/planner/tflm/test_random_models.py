"""Random models in TensorFlow Lite Micro: the same outputs with a plan, never more memory than without."""

import os
import time
from pathlib import Path

from tests.planner.tflm.campaign import compare
from tests.planner.tflm.running import needs_runtime

pytestmark = needs_runtime
_AT_ONCE = 20


def test_fuzz_random_models_give_the_same_outputs_in_less_memory(tmp_path: Path) -> None:
    seconds = float(os.environ.get("MEMSTOW_FUZZ_SECONDS", "0"))
    until = time.monotonic() + seconds
    planned = saved = first = 0
    while first == 0 or time.monotonic() < until:
        carried, less = compare(range(first, first + _AT_ONCE), tmp_path)
        planned, saved, first = planned + carried, saved + less, first + _AT_ONCE
    print(f"{first} models, {planned} with a plan, {saved} bytes less")  # noqa: T201
    assert planned
    assert saved > 0
