"""Asks the kernel to kill a process when its parent ends, for children and processes that they start."""

import ctypes
import signal
import sys

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def ask_for_death() -> None:
    """Be killed when the thread that started this process ends; this survives `exec`."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
