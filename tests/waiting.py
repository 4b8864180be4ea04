"""Waiting in tests: for what is waited for, never for a time.

The limit is there so that a defect ends too. It is far above what the busiest machine needs.
"""

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE = 240.0
_LOOK_SECONDS = 0.02
# The longer it takes already, the longer nobody looks: looks at a busy machine make it busier.
_OF_WAITED = 0.1
_MOST_SECONDS = 0.25

T = TypeVar("T")


def wait_for(result: Callable[[], T], what: str) -> T:
    """Wait until there is something, and return it."""
    begin = time.monotonic()
    while not (value := result()):
        waited = time.monotonic() - begin
        if waited > PATIENCE:
            raise AssertionError(f"waited {PATIENCE:g} s for {what}")
        time.sleep(min(max(_LOOK_SECONDS, _OF_WAITED * waited), _MOST_SECONDS))
    return value
