"""What a child does so that it never outlives its parent and never crowds out its neighbours.

The end of the pipe from the parent tells that it is gone, and leaves time to clear away what was written; a
clock outside the interpreter ends the process even while a back end keeps the interpreter from running.
"""

import contextlib
import faulthandler
import os
import shutil
import signal
import sys

_NICER = 5
_PR_SET_CHILD_SUBREAPER = 36
_LATE_SECONDS = 10.0
# Address space is more than memory: threads reserve stacks and arenas that they never touch.
_ADDRESS_SPACE_ABOVE = 8 << 30


def end_everything() -> None:
    """Remove the temporary folder, and kill this process with all that it started.

    Should it not lead a group of its own, it ends alone.
    """
    folder = os.environ.get("MEMSTOW_FOLDER")
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def end_after(seconds: float) -> None:
    """End this process then, whatever it does. Its parent should have done so by that time."""
    faulthandler.dump_traceback_later(seconds + _LATE_SECONDS, exit=True, file=open(os.devnull, "w"))  # noqa: SIM115


def be_modest() -> None:
    """Give way to the parent, for processors and when the machine runs out of memory."""
    with contextlib.suppress(OSError):
        os.nice(_NICER)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def limit_memory(limit: int) -> None:
    """A hard stop well above the limit; the limit itself is watched by the parent."""
    import resource

    with contextlib.suppress(OSError, ValueError):
        most = limit + _ADDRESS_SPACE_ABOVE
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def adopt_orphans() -> None:
    """Become the parent of all descendants whose own parent ends, so that none can get away."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
