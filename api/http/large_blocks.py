"""Memory of large bodies goes back to the system when they are gone."""

import ctypes
from contextlib import suppress
from typing import Final

_M_MMAP_THRESHOLD: Final = -3
_LARGE: Final = 4 << 20


def return_large_blocks() -> None:
    """Have the C library map each large block by itself.

    As such blocks are freed glibc raises the size from which it does so, up to 32 MiB: bodies would then
    leave holes in the heap of every thread, which are not given back. Other C libraries have no such setting.
    """
    with suppress(AttributeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)
