"""How often one key may ask: a bucket of tokens for each, in this server's memory."""

import time
from collections import OrderedDict
from collections.abc import Callable
from math import ceil
from typing import Final

from memstow.api.http.errors import ProblemError

_MOST_BUCKETS: Final = 10_000


class Rate:
    """Counts requests by key."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str | None, tuple[float, float]] = OrderedDict()

    def count(self, key: str | None) -> None:
        """Count one request; refuse it when there were too many."""
        now = self._clock()
        tokens, at = self._buckets.pop(key, (float(self._burst), now))
        tokens = min(self._burst, tokens + (now - at) * self._rate)
        self._buckets[key] = (tokens - 1 if tokens >= 1 else tokens, now)
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        if tokens < 1:
            raise ProblemError(
                429,
                "rate_limited",
                f"more than the {self._rate:g} requests a second that the setting `key_rate` allows",
                headers={"Retry-After": str(max(1, ceil((1 - tokens) / self._rate)))},
            )
