"""What the exit code of `memstow` says."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes; scripts rely on them, so a number never changes its meaning."""

    DONE = 0
    """A plan was found, or the command did what was asked."""
    INVALID = 1
    """`verify`: the plan breaks the problem's constraints."""
    USAGE = 2
    """The input or the arguments are wrong."""
    INFEASIBLE = 3
    """Proven: nothing fits."""
    UNKNOWN = 4
    """No plan was found and no proof either."""
    WORSE = 5
    """`bench compare`, `bench run --interleave`: something got worse."""
    DEFECT = 70
    """A defect of memstow itself (EX_SOFTWARE of sysexits)."""
    INTERRUPTED = 130
    """Ctrl-C (128 + SIGINT)."""
    BROKEN_PIPE = 141
    """Whoever read the output went away (128 + SIGPIPE)."""
