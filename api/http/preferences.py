"""The header `Prefer` (RFC 7240): whether and how long a request waits for its job."""

import re
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request

_ASYNC: Final = "respond-async"
_WAIT: Final = re.compile(r'wait\s*=\s*"?(\d{1,9})"?')


@dataclass(frozen=True, slots=True)
class Preferences:
    """The preferences of a request that are heeded; unknown ones are ignored, as the RFC says."""

    respond_async: bool = False
    wait: int | None = None
    """Seconds."""

    @property
    def at_once(self) -> bool:
        """Whether the client wants a job without any attempt before."""
        return self.respond_async and self.wait is None

    @property
    def applied(self) -> str | None:
        """The value of `Preference-Applied`."""
        wait = [] if self.wait is None else [f"wait={self.wait}"]
        return ", ".join([_ASYNC] * self.respond_async + wait) or None

    def seconds_to_wait(self, time_limit: float, most: float) -> float | None:
        """Seconds to wait for a job with this time limit; None: the response is the job, at once."""
        if self.wait is not None:
            return min(float(self.wait), most)
        return None if self.respond_async or time_limit > most else most


def preferences_of(request: Request) -> Preferences:
    """The preferences of a request."""
    given = [
        token.partition(";")[0].strip().lower()
        for line in request.headers.getlist("prefer")
        for token in line.split(",")
    ]
    waits = [int(found.group(1)) for token in given if (found := _WAIT.fullmatch(token))]
    # Of a preference given twice the first counts.
    return Preferences(_ASYNC in given, waits[0] if waits else None)
