"""The open connections of a server: how many there may be, and which are too slow."""

import asyncio
import ipaddress
import resource
import time
from collections import Counter
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from memstow.api.http.addresses import network_of
from memstow.api.http.errors import ApiError
from memstow.api.http.settings import Settings
from memstow.api.metrics import Metrics

# File handles for everything but connections: the store, pipes of running jobs, files.
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


class Connections:
    """All open connections of one server."""

    def __init__(self, limits: ConnectionLimits, metrics: Metrics) -> None:
        self.limits = limits
        self._metrics = metrics
        self._open: dict[Checked, str] = {}
        self._by_address: Counter[str] = Counter()
        self._timer: asyncio.TimerHandle | None = None
        self._logged: dict[str, float] = {}
        self._unlogged: Counter[str] = Counter()

    def add(self, connection: Checked, host: str | None) -> ApiError | None:
        """Add a new connection; the problem when there are too many."""
        address = network_of(host)
        if len(self._open) >= self.limits.max_connections:
            return self._too_many("too_many_connections", host, "max_connections")
        if self._by_address[address] >= self.limits.max_per_address and not self._is_proxy(host):
            return self._too_many("too_many_from_address", host, "max_connections_per_address")
        self._open[connection] = address
        self._by_address[address] += 1
        self._metrics.connections.set(len(self._open))
        if self._timer is None:
            self._check_later()
        return None

    def remove(self, connection: Checked) -> None:
        """Forget a connection that is closed."""
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

    def _too_many(self, reason: str, host: str | None, setting: str) -> ApiError:
        self.refused(reason, host)
        return ApiError(
            503,
            reason,
            f"there are as many connections as the setting `{setting}` allows; try again",
            headers={"Retry-After": "1"},
        )

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
