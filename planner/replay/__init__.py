"""The library that gives a step which repeats the addresses of a plan, in programs without Python too.

In: a step table (`planner/formats/step_table.py`) and the allocations and frees of a running step; out:
addresses. `native/memstow_replay.h` says what it does.
"""

from pathlib import Path


def library_path() -> Path:
    """Where the library is installed: among the native modules of this package, which builds put together."""
    from memstow.planner.plain import _columns

    return Path(_columns.__file__).parents[1] / "replay" / "libmemstow_replay.so"
