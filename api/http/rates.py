"""How often callers may ask: requests of a key, and keys that open nothing from one address."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Final

from memstow.api.http.addresses import network_of
from memstow.api.http.errors import ApiError

_MOST_BUCKETS: Final = 10_000
_MOST_ADDRESSES: Final = 10_000
_WINDOW_SECONDS: Final = 60.0
# A good key is known on every server after so long.
_SECONDS_UNTIL_KNOWN: Final = 2


class RateLimit:
    """A bucket of tokens for each key, in the memory of this server."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str | None, tuple[float, float]] = OrderedDict()

    def count(self, key: str | None) -> None:
        """Count one request; ApiError when there were too many."""
        now = self._clock()
        tokens, at = self._buckets.pop(key, (float(self._burst), now))
        tokens = min(self._burst, tokens + (now - at) * self._rate)
        self._buckets[key] = (tokens - 1 if tokens >= 1 else tokens, now)
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        if tokens < 1:
            raise ApiError(
                429,
                "rate_limited",
                f"more than the {self._rate:g} requests a second that the setting `key_rate` allows",
                headers={"Retry-After": str(max(1, ceil((1 - tokens) / self._rate)))},
            )


@dataclass(slots=True)
class _Failures:
    """The keys from one address that opened nothing, since a moment."""

    since: float
    count: int = 0


class FailedKeys:
    """Keys that opened nothing, by address, in the memory of this server."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._failures: OrderedDict[str, _Failures] = OrderedDict()

    def note(self, address: str | None) -> bool:
        """Count a failure; whether the address reaches its limit with it."""
        network = network_of(address)
        found = self._current(network)
        if found is None:
            found = self._failures[network] = _Failures(self._clock())
        self._failures.move_to_end(network)
        if len(self._failures) > _MOST_ADDRESSES:
            self._failures.popitem(last=False)
        found.count += 1
        return found.count == self._most

    def refuses(self, address: str | None) -> bool:
        """Whether too many keys from this address opened nothing within the last minute."""
        found = self._current(network_of(address))
        return found is not None and found.count >= self._most

    def error(self) -> ApiError:
        """The refusal; a good key that nobody knows here yet passes when it comes again."""
        return ApiError(
            429,
            "too_many_failed_keys",
            f"more than the {self._most} keys a minute from this address that the setting `failed_keys` "
            "allows open nothing",
            headers={"Retry-After": str(_SECONDS_UNTIL_KNOWN)},
        )

    def _current(self, network: str) -> _Failures | None:
        found = self._failures.get(network)
        if found is not None and self._clock() - found.since >= _WINDOW_SECONDS:
            del self._failures[network]
            return None
        return found
