"""Points in time and spans of days as people write them."""

import re
from datetime import UTC, datetime
from typing import Final

from memstow.planner.model.errors import InputError
from memstow.planner.reading.printable import shown

_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_SPAN: Final = re.compile(r"(\d{1,9})([smhdw])", re.ASCII)
_LONGEST: Final = 100 * 366 * 86_400


def span(text: str, path: str) -> float:
    """The seconds of 90s, 30m, 12h, 7d or 4w."""
    seconds = _seconds(text)
    if seconds is None:
        raise InputError.single("bad_span", path, f"{shown(text)} is not a time, such as 12h, 7d or 4w")
    return seconds


def moment(text: str, path: str, at: float) -> float:
    """Seconds since 1970, after `at`: of a span from then on, or of a date or time, in UTC unless it says."""
    seconds = _seconds(text)
    found = at + seconds if seconds is not None else _timestamp(text)
    if found is None:
        message = f"{shown(text)} is not a time, such as 30d, 2027-01-31 or 2027-01-31T12:00:00Z"
        raise InputError.single("bad_moment", path, message)
    if found <= at:
        raise InputError.single("past_moment", path, f"{shown(text)} is over already")
    return found


def _seconds(text: str) -> float | None:
    match = _SPAN.fullmatch(text.strip())
    return None if match is None else float(min(int(match[1]) * _SECONDS[match[2]], _LONGEST))


def _timestamp(text: str) -> float | None:
    try:
        read = datetime.fromisoformat(text.strip())
        return (read if read.tzinfo is not None else read.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
