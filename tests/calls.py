"""Counts function calls: a measure of work that does not depend on the machine."""

import sys
from collections.abc import Callable
from types import FrameType


def calls_of(perform: Callable[[], object], builtin: str | None = None) -> int:
    """How many Python functions are called; with a name, how often the built-in function of that name is."""
    calls = 0

    def count(_frame: FrameType, event: str, called: object) -> None:
        nonlocal calls
        if builtin is None:
            calls += event == "call"
        elif event == "c_call":
            calls += getattr(called, "__name__", None) == builtin

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        perform()
    finally:
        sys.setprofile(before)
    return calls
