"""Properties of terminals: width, encoding, and messages on standard error."""

import os
import sys
from typing import TextIO

NARROWEST = 40
WIDEST = 120
USUAL = 80

_PROBE = "░▒▓█▁▇─╱╌━…"


def is_terminal(stream: TextIO) -> bool:
    """Whether the stream is a terminal; False for a closed stream."""
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def draws_unicode(stream: TextIO) -> bool:
    """Whether the encoding of the stream has the characters used in pictures."""
    try:
        _PROBE.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def columns(stream: TextIO) -> int:
    """The width of the terminal within limits, or 80 without a terminal."""
    chosen = os.environ.get("COLUMNS", "")
    if chosen.isdecimal() and int(chosen) > 0:
        width = int(chosen)
    else:
        try:
            width = os.get_terminal_size(stream.fileno()).columns or USUAL
        except (OSError, ValueError, AttributeError):
            width = USUAL
    return max(NARROWEST, min(width, WIDEST))


def print_error(message: str) -> None:
    """Print a message to standard error, unless it is closed."""
    try:
        sys.stderr.write(f"memstow: {message}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        # With nowhere to print_error, the exit code has to say it all.
        return
