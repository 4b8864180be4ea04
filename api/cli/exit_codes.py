"""The exit codes of `memstow`."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes; scripts rely on them, so a number never changes its meaning."""

    DONE = 0
    """A plan was found, or the command succeeded."""
    INVALID = 1
    """`verify`: the plan breaks the problem's constraints."""
    USAGE = 2
    """The input or the arguments are wrong."""
    INFEASIBLE = 3
    """Proven infeasible: no plan exists."""
    UNKNOWN = 4
    """Neither a plan nor a proof was found."""
    WORSE = 5
    """`bench compare`, `bench run --interleave`: something got worse."""
    NOT_WORKING = 6
    """`doctor`: something does not work that has to, or that was asked for."""
    DEFECT = 70
    """A defect of memstow itself (EX_SOFTWARE of sysexits)."""
    INTERRUPTED = 130
    """Ctrl-C (128 + SIGINT)."""
    BROKEN_PIPE = 141
    """The reader of the output closed it (128 + SIGPIPE)."""
