"""What the service counts, for Prometheus."""

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_FAST = (0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_LONG = (0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 3600)
_GAPS = (0.0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_CHILDREN_KEPT: Final = 256


class Metrics:
    """One server's figures."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter, gauge = partial(Counter, registry=self.registry), partial(Gauge, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry)
        self.requests = counter("memstow_requests", "Requests answered.", ("method", "route", "status"))
        self.latency = histogram(
            "memstow_request_seconds",
            "From the head of a request to the head of its answer.",
            ("route",),
            buckets=_FAST,
        )
        self.queued = gauge("memstow_jobs_queued", "Jobs that wait, in the whole store.")
        self.running = gauge("memstow_jobs_running", "Jobs that run, in the whole store.")
        self.stored_bytes = gauge(
            "memstow_stored_bytes",
            "Bytes of the problems, hints, plans and events of all jobs, in the whole store.",
        )
        self.solving = gauge("memstow_solving", "Jobs that run in this server.")
        self.solved = histogram(
            "memstow_solve_seconds",
            "Time of a solve, by who found the plan and what is known of it.",
            ("solver", "status"),
            buckets=_LONG,
        )
        self.gap = histogram("memstow_deadline_gap", "Gap of plans not proven in time.", buckets=_GAPS)
        self.cache = counter("memstow_cache", "Questions that were asked before, or not.", ("result",))
        self.killed = counter(
            "memstow_children_killed", "Solving processes that gave no answer.", ("reason",)
        )
        self.store_errors = counter("memstow_store_errors", "Failures of the store.", ("kind",))
        self.taken_over = counter("memstow_jobs_taken_over", "Jobs of a dead server put back.")
        self.cluster_workers = gauge(
            "memstow_cluster_workers", "Workers of the cluster, by what they are good for.", ("standing",)
        )
        self.shortages = counter(
            "memstow_shortages",
            "Runs put back because this server lacked file handles, memory, processes or disk.",
        )
        self.callbacks = counter(
            "memstow_callbacks", "Attempts to deliver a callback, by how they ended.", ("outcome",)
        )
        self.lag = histogram("memstow_loop_lag_seconds", "How late the event loop is.", buckets=_FAST)
        self.connections = gauge("memstow_connections", "Connections that are open.")
        self.connections_refused = counter(
            "memstow_connections_refused",
            "Connections refused or ended because of a limit or of malformed HTTP.",
            ("reason",),
        )
        self.body_memory = gauge(
            "memstow_body_memory_bytes", "Bytes of request and response bodies over 64 KiB in memory."
        )
        self.streams = gauge("memstow_event_streams", "Event streams that are open.")
        # For each request: to find a child by its labels takes longer than to count.
        self._requests_of = lru_cache(_CHILDREN_KEPT)(self.requests.labels)
        self._latency_of = lru_cache(_CHILDREN_KEPT)(self.latency.labels)
        self._solved_by = lru_cache(_CHILDREN_KEPT)(self.solved.labels)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._requests_of(method, route, str(status)).inc()
        self._latency_of(route).observe(seconds)

    def solve_ended(self, solver: str | None, status: str, seconds: float, gap: float | None) -> None:
        """A solve came to its answer."""
        self._solved_by((solver or "none").split(" ")[0], status).observe(seconds)
        if status == "feasible" and gap is not None:
            self.gap.observe(gap)

    def count_cluster_workers(self, counts: Mapping[str, int]) -> None:
        """The workers of the cluster, by what they are good for."""
        for standing, count in counts.items():
            self.cluster_workers.labels(standing).set(count)

    def text(self) -> bytes:
        """All of it in the text format."""
        return generate_latest(self.registry)
