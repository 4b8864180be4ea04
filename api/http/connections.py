"""Addresses of clients, as limits count them."""

import asyncio
import ipaddress
import resource
import time
from collections import Counter
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from memstow.api.http.errors import ApiError
from memstow.api.http.settings import Settings
from memstow.api.metrics import Metrics


def network_of(host: str | None) -> str:
    """What counts as one address: of IPv6 a network of 64 bits, which one customer has."""
    if host is None or ":" not in host:
        return host or ""
    address = ipaddress.IPv6Address(host.partition("%")[0])
    return str(ipaddress.IPv6Network((int(address) >> 64 << 64, 64)))


# Exempt from the limits of requests: a busy server must not be restarted by its health check.
HEALTH_PATHS: Final = ("/livez", "/readyz")
# Connections above the limit, for those that ask for health while all others are busy.
_RESERVE: Final = 16
# File handles for everything but connections: the store, pipes of running jobs, files; and for the reserve.
_OTHER_HANDLES: Final = 96
_HANDLES_PER_JOB: Final = 8
_LONGEST_INTERVAL: Final = 1.0
_LOG_SECONDS: Final = 1.0

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

log = structlog.get_logger("memstow.http")


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What one connection may cost, and how many there may be."""

    max_connections: int
    max_per_address: int
    max_head: int
    head_seconds: float
    idle_seconds: float
    stall_seconds: float
    min_rate: int
    linger_seconds: float
    max_dropped: int
    proxies: tuple[Network, ...] = ()

    @property
    def check_interval(self) -> float:
        """Seconds between two looks at all connections: fine enough for the shortest limit."""
        shortest = min(self.head_seconds, self.idle_seconds, self.stall_seconds, self.linger_seconds)
        return min(_LONGEST_INTERVAL, max(0.01, shortest / 4))


def limits_of(settings: Settings) -> ConnectionLimits:
    """The limits of these settings, within the file handles that this process may have."""
    handles, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = max(1, handles - _OTHER_HANDLES - _HANDLES_PER_JOB * settings.slots)
    if room < settings.max_connections:
        log.warning("fewer_connections", max_connections=room, open_files=handles)
    return ConnectionLimits(
        max_connections=min(settings.max_connections, room),
        max_per_address=settings.max_connections_per_address,
        max_head=settings.max_head,
        head_seconds=settings.head_seconds,
        idle_seconds=settings.idle_seconds,
        stall_seconds=settings.stall_seconds,
        min_rate=settings.min_rate,
        linger_seconds=settings.linger_seconds,
        # The rest of a body somewhat too large is read, so that its client sees the 413.
        max_dropped=2 * settings.max_body,
        proxies=tuple(map(ipaddress.ip_network, settings.trusted_proxies)),
    )


class Checked(Protocol):
    """A connection that is looked at from time to time."""

    def check(self, now: float) -> None:
        """End it if it is too slow."""

    def may_give_way(self) -> bool:
        """Whether its client has taken all that was answered."""

    def give_way(self, problem: ApiError) -> None:
        """End it at once: another one needs its place."""


class Connections:
    """All open connections of one server.

    A connection waits while no complete head of a request is unanswered on it: it is new, is kept alive, or
    its client dribbles. Whoever waits has no right to a place: the one that has waited longest gives it to a
    new connection. So clients that send nothing keep nobody out.
    """

    def __init__(self, limits: ConnectionLimits, metrics: Metrics) -> None:
        self.limits = limits
        self._metrics = metrics
        self._open: dict[Checked, str] = {}
        self._waiting: dict[Checked, None] = {}  # who has waited longest is first
        self._by_address: Counter[str] = Counter()
        self._timer: asyncio.TimerHandle | None = None
        self._logged: dict[str, float] = {}
        self._unlogged: Counter[str] = Counter()

    def add(self, connection: Checked, host: str | None) -> ApiError | None:
        """Add a new connection; the problem when there are too many."""
        address = network_of(host)
        if self._by_address[address] >= self.limits.max_per_address and not self._is_proxy(host):
            self.refused("too_many_from_address", host)
            return _too_many("too_many_from_address", "max_connections_per_address")
        if len(self._open) >= self.limits.max_connections + _RESERVE and not self._make_room():
            self.refused("too_many_connections", host)
            return _too_many_connections()
        self._open[connection] = address
        self._waiting[connection] = None
        self._by_address[address] += 1
        self._metrics.connections.set(len(self._open))
        if self._timer is None:
            self._check_later()
        return None

    def begin_request(self, connection: Checked, path: str) -> ApiError | None:
        """The head of a request is complete; the problem when too many other connections are busy."""
        most = self.limits.max_connections
        if len(self._open) > most and path not in HEALTH_PATHS and self._busy_besides(connection) >= most:
            return _too_many_connections()
        self._waiting.pop(connection, None)
        return None

    def wait(self, connection: Checked) -> None:
        """All requests of a connection are answered."""
        if connection in self._open:
            self._waiting[connection] = None

    def remove(self, connection: Checked) -> None:
        """Forget a connection that is closed."""
        self._waiting.pop(connection, None)
        address = self._open.pop(connection, None)
        if address is None:
            return
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]
        self._metrics.connections.set(len(self._open))

    def refused(self, reason: str, host: str | None) -> None:
        """Count a refusal, and log it: at most one line a second for each reason."""
        self._metrics.connections_refused.labels(reason).inc()
        now = time.monotonic()
        if now - self._logged.get(reason, -_LOG_SECONDS) < _LOG_SECONDS:
            self._unlogged[reason] += 1
            return
        self._logged[reason] = now
        log.warning(
            "connection_refused", reason=reason, address=host, not_logged=self._unlogged.pop(reason, 0)
        )

    def _is_proxy(self, host: str | None) -> bool:
        """Whether all clients of a proxy come from this address."""
        if host is None or not self.limits.proxies:
            return False
        address = ipaddress.ip_address(host.partition("%")[0])
        return any(address in network for network in self.limits.proxies)

    def _make_room(self) -> bool:
        """End the connection that has waited longest; False when all are busy."""
        connection = next((entry for entry in self._waiting if entry.may_give_way()), None)
        if connection is None:
            return False
        address = self._open[connection]
        self.remove(connection)
        self.refused("gave_way", address)
        connection.give_way(_too_many_connections())
        return True

    def _busy_besides(self, connection: Checked) -> int:
        """How many other connections have a request, or a response that is not taken yet."""
        idle = sum(1 for entry in self._waiting if entry is not connection and entry.may_give_way())
        return len(self._open) - 1 - idle

    def _check_later(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self.limits.check_interval, self._check)

    def _check(self) -> None:
        now = asyncio.get_running_loop().time()
        for connection in list(self._open):
            connection.check(now)
        self._timer = None
        if self._open:
            self._check_later()


def _too_many(code: str, setting: str) -> ApiError:
    return ApiError(
        503,
        code,
        f"there are as many connections as the setting `{setting}` allows; try again",
        headers={"Retry-After": "1"},
    )


def _too_many_connections() -> ApiError:
    return _too_many("too_many_connections", "max_connections")
