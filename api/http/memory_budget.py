"""One limit on the memory that all request and response bodies of a server take together."""

from typing import Final

from prometheus_client import Gauge
from starlette.types import Scope

from memstow.api.http.errors import ApiError

# Bodies up to this size are not counted: the number of connections bounds them, and small requests
# are served while large ones fill the budget.
UNCOUNTED: Final = 1 << 16
_SCOPE_KEY: Final = "memstow.body_memory"
_RETRY_SECONDS: Final = 2


class MemoryBudget:
    """Bytes of bodies in memory, counted on the event loop."""

    def __init__(self, limit: int, gauge: Gauge | None = None) -> None:
        self.limit = limit
        self.used = 0
        self._gauge = gauge

    def resize(self, before: int, after: int) -> None:
        """Change one reservation from `before` to `after` bytes; a ApiError when there is no room.

        A request that has the budget to itself always gets what it needs, so that one document larger
        than the budget can still be read.
        """
        others = self.used - before
        if after > before and others and others + after > self.limit:
            raise ApiError(
                503,
                "memory_full",
                f"bodies of other requests fill the {self.limit:,} bytes of the setting `body_memory`; "
                "try again",
                headers={"Retry-After": str(_RETRY_SECONDS)},
            )
        self.used = others + after
        if self._gauge is not None:
            self._gauge.set(self.used)


class Reservation:
    """The part of the budget that one request uses, until it is released."""

    __slots__ = ("_budget", "_request", "_reserved", "_response")

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self._request = 0
        self._response = 0
        self._reserved = 0

    def add_request(self, size: int) -> None:
        """Count more bytes of the request body."""
        self._resize(self._request + size, self._response)

    def require_response(self, size: int) -> None:
        """Make the reservation cover a response body of this size."""
        if size > self._response:
            self._resize(self._request, size)

    def release(self) -> None:
        """Return everything to the budget."""
        self._resize(0, 0)

    def _resize(self, request: int, response: int) -> None:
        needed = max(0, request - UNCOUNTED) + max(0, response - UNCOUNTED)
        if needed != self._reserved:
            self._budget.resize(self._reserved, needed)
            self._reserved = needed
        self._request, self._response = request, response


def reserve(scope: Scope, budget: MemoryBudget) -> Reservation:
    """A new reservation for the request of this scope."""
    reservation = Reservation(budget)
    scope[_SCOPE_KEY] = reservation
    return reservation


def reservation_of(scope: Scope) -> Reservation:
    """The reservation of the request of this scope."""
    found: Reservation = scope[_SCOPE_KEY]
    return found
