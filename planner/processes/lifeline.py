"""Limits that a child sets itself, so that it never outlives its parent or slows other processes down.

The end of the pipe from the parent means that the parent is gone, and leaves time to remove files; a timer
outside the interpreter ends the process even while a back end blocks the interpreter.
"""

import contextlib
import faulthandler
import os
import signal
import sys

from memstow.planner.processes import folder

_NICER = 5
_MUCH_NICER = 10
_PR_SET_CHILD_SUBREAPER = 36
# Longer than the patience of a parent that sees the child wait for a processor: the parent is to end it, and
# knows why. This is for a parent that cannot.
_LATE_SECONDS = 75.0
# Address space is more than memory: threads reserve stacks and arenas that they never touch.
_ADDRESS_SPACE_ABOVE = 8 << 30


def end_everything() -> None:
    """Remove the temporary folder, and kill this process and its group.

    A process that does not lead a group ends alone.
    """
    folder.move_out()
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def end_after(seconds: float) -> None:
    """End this process after this time and a little more, if its parent has not done so."""
    faulthandler.dump_traceback_later(seconds + _LATE_SECONDS, exit=True, file=open(os.devnull, "w"))  # noqa: SIM115


def be_modest() -> None:
    """Lower the priority below the parent's, and be the first to be killed when memory runs out."""
    with contextlib.suppress(OSError):
        os.nice(_NICER)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def step_back() -> None:
    """Lower the priority further: long work should not slow down short work in other children."""
    with contextlib.suppress(OSError):
        os.nice(_MUCH_NICER)


def limit_memory(limit: int) -> None:
    """Set a hard limit well above this one, which the parent enforces."""
    import resource

    with contextlib.suppress(OSError, ValueError):
        most = limit + _ADDRESS_SPACE_ABOVE
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def adopt_orphans() -> None:
    """Become the parent of all descendants whose own parent ends, so that each can be killed."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
