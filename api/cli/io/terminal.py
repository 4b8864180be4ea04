"""What can be shown where: terminals, encodings, and text that must not drive a terminal."""

import os
import sys
from typing import TextIO

NARROWEST = 40
WIDEST = 120
USUAL = 80

_PROBE = "░▒▓█▁▇─╱╌━…"


def is_terminal(stream: TextIO) -> bool:
    """Whether a person watches the stream; a closed one is not watched."""
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def draws_unicode(stream: TextIO) -> bool:
    """Whether the stream's encoding has the characters that pictures are drawn with."""
    try:
        _PROBE.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def columns(stream: TextIO) -> int:
    """How wide to draw: the terminal's width within reason, and 80 where there is no terminal."""
    chosen = os.environ.get("COLUMNS", "")
    if chosen.isdecimal() and int(chosen) > 0:
        width = int(chosen)
    else:
        try:
            width = os.get_terminal_size(stream.fileno()).columns or USUAL
        except (OSError, ValueError, AttributeError):
            width = USUAL
    return max(NARROWEST, min(width, WIDEST))


def complain(message: str) -> None:
    """A message to the person on the error stream, one that may be gone."""
    try:
        sys.stderr.write(f"memstow: {message}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        # With nowhere to complain, the exit code has to say it all.
        return
