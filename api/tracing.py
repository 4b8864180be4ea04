"""Traces for OpenTelemetry: what a request and its job spend their time on, in this server and its children.

Off unless `start` is called. Then nothing of the SDK is imported, and a span costs one look at a variable.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from typing import TYPE_CHECKING, Final, TypeVar, overload

from memstow.planner.model.options import Phase

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, Tracer

Attributes = Mapping[str, str | int | float | bool]
T = TypeVar("T")

_NANO: Final = 1_000_000_000
_NONE: Final[Attributes] = {}
_NO_SPAN: Final = nullcontext()
# A collector that does not answer must not delay the end of the server for longer.
_EXPORT_SECONDS: Final = 3.0
# Asked every few seconds: traced only where the caller has a trace.
_PROBES: Final = frozenset({"/livez", "/readyz", "/metrics"})


class _Tracing:
    """Where spans go."""

    def __init__(self, provider: "TracerProvider") -> None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self.provider = provider
        self.tracer: Tracer = provider.get_tracer("memstow")
        self.form = TraceContextTextMapPropagator()


_tracing: _Tracing | None = None


def start(url: str, share: float) -> None:
    """Send traces to a collector, by OTLP over HTTP."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = _provider(share)
    # Bounded: spans that come faster than the collector takes them are dropped.
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(url, timeout=_EXPORT_SECONDS)))
    _set(_Tracing(provider))


def start_with(exporter: "SpanExporter", share: float = 1.0) -> None:
    """Hand each span to this exporter when it ends."""
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    provider = _provider(share)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    _set(_Tracing(provider))


def stop() -> None:
    """Send what is left, for a moment; no spans from now on."""
    if _tracing is not None:
        tracing = _tracing
        _set(None)
        tracing.provider.shutdown()


def _set(tracing: _Tracing | None) -> None:
    global _tracing
    _tracing = tracing


def _provider(share: float) -> "TracerProvider":
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio

    import memstow

    own = Resource({"service.name": "memstow", "service.version": memstow.__version__})
    # OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME take precedence.
    resource = own.merge(OTELResourceDetector().detect())
    return TracerProvider(ParentBasedTraceIdRatio(share), resource, shutdown_on_exit=False)


# Roots


def request(method: str, path: str, headers: Mapping[str, str]) -> "AbstractContextManager[Span | None]":
    """The span of a request, in the trace of its caller if they have one."""
    if _tracing is None:
        return _NO_SPAN
    traceparent = headers.get("traceparent")
    if traceparent is None and path in _PROBES:
        return _NO_SPAN
    from opentelemetry.trace import SpanKind

    about = {"http.request.method": method, "url.path": path}
    return _tracing.tracer.start_as_current_span(
        method, _context(_tracing, traceparent), SpanKind.SERVER, attributes=about, record_exception=False
    )


def end_request(span: "Span | None", method: str, route: str, status: int) -> None:
    """Note what came of a request."""
    if span is None:
        return
    span.update_name(f"{method} {route}")
    span.set_attributes({"http.route": route, "http.response.status_code": status})
    if status >= 500:
        from opentelemetry.trace import StatusCode

        span.set_status(StatusCode.ERROR)


@contextmanager
def job(traceparent: str | None, queued: float | None, about: Attributes) -> "Iterator[None]":
    """The span of a run of a job, in the trace of its request; `queued`: since when it waited."""
    if _tracing is None:
        yield
        return
    context, begin = _context(_tracing, traceparent), time.time_ns()
    if queued is not None:
        since = min(begin, int(queued * _NANO))
        _tracing.tracer.start_span("queue", context, attributes=about, start_time=since).end(begin)
    with _tracing.tracer.start_as_current_span("job", context, attributes=about):
        yield


def _context(tracing: _Tracing, traceparent: str | None) -> "Context":
    from opentelemetry.context import Context

    carrier = {} if traceparent is None else {"traceparent": traceparent}
    return tracing.form.extract(carrier, Context())


# Within a root


def span(name: str, about: Attributes = _NONE) -> "AbstractContextManager[Span | None]":
    """A span of the current request or job; none outside of them."""
    if _tracing is None or not is_recording():
        return _NO_SPAN
    return _tracing.tracer.start_as_current_span(name, attributes=about, record_exception=False)


def is_recording() -> bool:
    """Whether there is a current span that somebody will see."""
    if _tracing is None:
        return False
    from opentelemetry.trace import get_current_span

    return get_current_span().is_recording()


def trace_id() -> str | None:
    """The id of the current trace, for logs and problem documents."""
    if _tracing is None:
        return None
    from opentelemetry.trace import format_trace_id, get_current_span

    context = get_current_span().get_span_context()
    return format_trace_id(context.trace_id) if context.is_valid else None


def log_ids() -> dict[str, str]:
    """The id of the current trace as lines of the log have it; nothing without a trace."""
    trace = trace_id()
    return {} if trace is None else {"trace": trace}


def traceparent() -> str | None:
    """The current span as W3C writes it, for whoever continues the trace."""
    if _tracing is None:
        return None
    carrier: dict[str, str] = {}
    _tracing.form.inject(carrier)
    return carrier.get("traceparent")


def carried(call: Callable[[], T]) -> Callable[[], T]:
    """The call, with the current span if another thread makes it."""
    if _tracing is None:
        return call
    context = copy_context()
    return lambda: context.run(call)


@overload
def solve(listener: None = None) -> AbstractContextManager[Callable[[object], None] | None]: ...
@overload
def solve(listener: Callable[[T], None]) -> AbstractContextManager[Callable[[T], None]]: ...
def solve(listener: Callable[[T], None] | None = None) -> AbstractContextManager[Callable[[T], None] | None]:
    """A span for a solve with one for each of its phases, wherever it runs: its events say when each began.

    The block passes on what it is given: the listener, or one in front of it.
    """
    if _tracing is None or not is_recording():
        return nullcontext(listener)
    return _traced_solve(_tracing, listener)


@contextmanager
def _traced_solve(tracing: _Tracing, listener: Callable[[T], None] | None) -> Iterator[Callable[[T], None]]:
    with tracing.tracer.start_as_current_span("solve", record_exception=False):
        phases = _Phases(tracing.tracer)

        def listen(update: T) -> None:
            if isinstance(update, Phase) and not update.is_note:
                phases.begin(update)
            if listener is not None:
                listener(update)

        try:
            yield listen
        finally:
            phases.end()


class _Phases:
    """Spans for the phases of one solve, which follow each other."""

    def __init__(self, tracer: "Tracer") -> None:
        from opentelemetry.context import get_current

        self._tracer = tracer
        self._parent = get_current()
        self._begin: int | None = None
        self._open: Span | None = None

    def begin(self, phase: Phase) -> None:
        """A phase begins. Events come from other threads and processes: their times count from the first."""
        offset = int(phase.seconds * _NANO)
        if self._begin is None:
            self._begin = time.time_ns() - offset
        at = self._begin + offset
        self._close(at)
        self._open = self._tracer.start_span(phase.name, self._parent, start_time=at)

    def end(self) -> None:
        """The solve is over."""
        self._close(time.time_ns())

    def _close(self, at: int) -> None:
        if self._open is not None:
            self._open.end(at)
            self._open = None
