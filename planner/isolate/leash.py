"""What a child does so that it never outlives its parent and never crowds out its neighbours.

Two independent ways, since each has a gap: the kernel's signal at the parent's death (Linux only), and a
thread that sees the end of the pipe from the parent (which needs the interpreter to get a turn).
"""

import contextlib
import os
import signal

from solvers.models.die_with_parent import ask_for_death

_NICER = 5
# Address space is more than memory: threads reserve stacks and arenas that they never touch.
_ADDRESS_SPACE_ABOVE = 8 << 30


def die_with_parent(parent: int) -> None:
    """Be killed when the process that started this one ends; end at once if it has ended already."""
    ask_for_death()
    if os.getppid() != parent:
        os._exit(1)


def end_group() -> None:
    """Kill this process and all that it started; not more, should it not lead a group of its own."""
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


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
