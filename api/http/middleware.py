"""Around every request: its id, its log line, metrics, security headers, and errors that nothing else caught.

One plain ASGI middleware, because each layer costs time at a thousand requests a second.
"""

import random
import re
import time
from dataclasses import dataclass
from typing import Final

import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memstow.api.http.errors import REQUEST_ID, ApiError, api_error_of, error_response
from memstow.api.metrics import Metrics

_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,64}")
_SAFE: Final = ("GET", "HEAD", "OPTIONS")
_DEFAULTS: Final = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
        b"frame-ancestors 'none'",
    ),
)

log = structlog.get_logger("memstow.http")


def _new_id() -> str:
    """An id that may be guessed: secure randomness would block the event loop for a moment."""
    return f"{random.getrandbits(128):032x}"


@dataclass(slots=True)
class _ResponseStart:
    """The status of a response, and how long it took to begin."""

    status: int = 0
    seconds: float = 0.0


class RequestMiddleware:
    """The outermost layer of the app."""

    def __init__(self, app: ASGIApp, metrics: Metrics, max_body: int, origins: tuple[str, ...]) -> None:
        self._app = app
        self._metrics = metrics
        self._max_body = max_body
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD":
            # Handled like GET; the server leaves the body out.
            scope = {**scope, "method": "GET"}
        begin = time.perf_counter()
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if _ID.fullmatch(given) else _new_id()
        scope[REQUEST_ID] = request_id
        started = _ResponseStart()

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                started.status = message["status"]
                started.seconds = time.perf_counter() - begin
                own = message.get("headers", ())
                named = {name for name, _ in own}
                added = [pair for pair in _DEFAULTS if pair[0] not in named]
                message["headers"] = [*own, *added, (b"x-request-id", request_id.encode())]
            await send(message)

        with structlog.contextvars.bound_contextvars(request=request_id):
            try:
                refused = self._refused(scope, headers)
                if refused is not None:
                    await error_response(refused, request_id)(scope, receive, sending)
                else:
                    await self._app(scope, receive, sending)
            except Exception as error:
                log.exception("defect")
                if not started.status:
                    await error_response(api_error_of(error), request_id)(scope, receive, sending)
            finally:
                self._record(scope, started)

    def _refused(self, scope: Scope, headers: Headers) -> ApiError | None:
        length = headers.get("content-length", "")
        if length.isdecimal() and (len(length) > 18 or int(length) > self._max_body):
            return ApiError(
                413,
                "body_too_large",
                f"{length[:18]} bytes are more than the {self._max_body} that the setting `max_body` allows",
                headers={"Connection": "close"},
            )
        origin = headers.get("origin")
        if origin is not None and scope["method"] not in _SAFE and origin not in self._origins:
            # A page from elsewhere must not call the server on behalf of whoever looks at it.
            host = origin.partition("://")[2]
            if host != headers.get("host"):
                return ApiError(
                    403, "foreign_origin", "pages of this origin may not call the server; see `cors_origins`"
                )
        return None

    def _record(self, scope: Scope, started: _ResponseStart) -> None:
        route = getattr(scope.get("route"), "path", "none")
        status = started.status or 499
        seconds = started.seconds
        self._metrics.requests.labels(scope["method"][:10], route, str(status)).inc()
        self._metrics.latency.labels(route).observe(seconds)
        log.info("request", method=scope["method"], route=route, status=status, seconds=round(seconds, 6))
