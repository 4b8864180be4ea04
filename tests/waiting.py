"""Waiting in tests: for what is waited for, never for a time.

The limit is there so that a defect ends too. It is far above what the busiest machine needs.
"""

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE = 240.0
_LOOK_SECONDS = 0.02

T = TypeVar("T")


def wait_for(found: Callable[[], T], what: str) -> T:
    """Wait until there is something, and return it."""
    end = time.monotonic() + PATIENCE
    while not (it := found()):
        if time.monotonic() > end:
            raise AssertionError(f"waited {PATIENCE:g} s for {what}")
        time.sleep(_LOOK_SECONDS)
    return it
