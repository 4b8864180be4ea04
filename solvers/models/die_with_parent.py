"""The kernel's signal at the parent's death, for a child and for what a back end starts itself."""

import ctypes
import signal
import sys

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def ask_for_death() -> None:
    """Be killed when the thread that started this process ends. It holds for what is executed later, too."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
