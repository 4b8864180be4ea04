"""The app of one server: what is around every request, routes, error handlers, and its OpenAPI document.

The middleware is two plain ASGI layers, because each layer costs time at a thousand requests a second. The
outer one does the id of a request, its log line, metrics, security headers, and errors that nothing else
caught; the inner one serves most requests, which need nothing more of the framework.

`python -m memstow.api.http.app FILE` writes that document, as `GET /openapi.json` returns it.
"""

import random
import re
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import structlog
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import memstow
from memstow.api import tracing
from memstow.api.http import errors, schemas
from memstow.api.http.bodies import (
    UNCOUNTED,
    CompressedBody,
    MemoryBudget,
    coding_for,
    is_compressible,
    is_stream,
    reservation_of,
    reserve,
    with_vary,
)
from memstow.api.http.connections import HEALTH_PATHS
from memstow.api.http.errors import IS_HEAD, REQUEST_ID, ApiError, api_error_of, error_response
from memstow.api.http.logs import begin_record, write_record
from memstow.api.http.operation import WholePaths
from memstow.api.http.requests import HEADERS, TabledHeaders
from memstow.api.http.responses import JsonObject
from memstow.api.http.routes import admin, batches, fronts, jobs, plan, reference, tools, unversioned
from memstow.api.http.schemas import pretty
from memstow.api.http.service import DrainSignal, open_service
from memstow.api.http.settings import Settings
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


class _Sender:
    """Sends one response: adds headers, keeps its body within the memory budget, and measures."""

    __slots__ = (
        "_begin",
        "_compressed",
        "_headers",
        "_receive",
        "_request_id",
        "_scope",
        "_send",
        "replaced",
        "seconds",
        "status",
    )

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, request_id: str, headers: TabledHeaders
    ) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._request_id = request_id
        self._headers = headers
        self._compressed: CompressedBody | None = None
        self._begin = time.perf_counter()
        self.replaced = False
        self.status = 0
        self.seconds = 0.0

    async def __call__(self, message: Message) -> None:
        """Send one message of the app."""
        if self.replaced:
            return
        if message["type"] == "http.response.start":
            await self._start(message)
            return
        if self._compressed is None or message["type"] != "http.response.body":
            await self._send_body(message)
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        if IS_HEAD not in self._scope:
            async for piece in self._compressed.pieces(body, more):
                await self._send_body({**message, "body": piece, "more_body": True})
        if not more:
            await self._send({**message, "body": b""})

    async def _send_body(self, message: Message) -> None:
        body = message.get("body", b"")
        if len(body) <= UNCOUNTED:
            await self._send(message)
            return
        # In pieces: the server waits between them for a client that reads slowly, and copies nothing.
        last = (len(body) - 1) // UNCOUNTED
        for number in range(last + 1):
            piece = body[number * UNCOUNTED : (number + 1) * UNCOUNTED]
            more = number < last or message.get("more_body", False)
            await self._send({**message, "body": piece, "more_body": more})

    async def error(self, error: ApiError) -> None:
        """Send an error response."""
        await error_response(error, self._request_id)(self._scope, self._receive, self)

    async def _start(self, message: Message) -> None:
        headers = list(message.get("headers", ()))
        own = dict(headers)
        try:
            reservation_of(self._scope).require_response(int(own.get(b"content-length", 0)))
        except ApiError as error:
            await self.error(error)
            self.replaced = True
            return
        self.status = message["status"]
        self.seconds = time.perf_counter() - self._begin
        if is_compressible(self.status, own):
            headers = with_vary(headers)
            coding = coding_for(self._headers)
            if coding is not None:
                self._compressed = CompressedBody(coding, is_stream(own))
                headers = self._compressed.headers(headers)
        headers += [pair for pair in _DEFAULTS if pair[0] not in own]
        headers.append((b"x-request-id", self._request_id.encode()))
        message["headers"] = headers
        await self._send(message)


class RequestMiddleware:
    """The outermost layer of the app."""

    def __init__(self, app: ASGIApp, metrics: Metrics, body_memory: MemoryBudget, settings: Settings) -> None:
        self._app = app
        self._metrics = metrics
        self._body_memory = body_memory
        self._max_body = settings.max_body
        self._origins = settings.cors_origins
        self._max_concurrent = settings.max_concurrent_requests
        self._concurrent = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD":
            # Handled like GET; the server leaves the body out.
            scope = {**scope, "method": "GET", IS_HEAD: True}
        headers = scope[HEADERS] = TabledHeaders(scope)
        header = headers.get("x-request-id", "")
        request_id = header if _ID.fullmatch(header) else _new_id()
        scope[REQUEST_ID] = request_id
        begin_record(scope)
        reservation = reserve(scope, self._body_memory)
        sender = _Sender(scope, receive, send, request_id, headers)
        self._concurrent += 1
        with tracing.request(scope["method"], scope["path"], headers) as span:
            bound = structlog.contextvars.bind_contextvars(request=request_id, **tracing.log_ids())
            try:
                refused = self._refused(scope, headers)
                if refused is not None:
                    await sender.error(refused)
                else:
                    await self._app(scope, receive, sender)
            except Exception as error:
                log.exception("defect")
                if not sender.status:
                    await sender.error(api_error_of(error))
            finally:
                self._concurrent -= 1
                reservation.release()
                route = getattr(scope.get("route"), "path", "none")
                tracing.end_request(span, scope["method"], route, sender.status)
                self._record(scope, route, sender)
                structlog.contextvars.reset_contextvars(**bound)

    def _refused(self, scope: Scope, headers: TabledHeaders) -> ApiError | None:
        if self._concurrent > self._max_concurrent and scope["path"] not in HEALTH_PATHS:
            return ApiError(
                503,
                "too_many_requests",
                f"the server handles the {self._max_concurrent} requests that the setting "
                "`max_concurrent_requests` allows; try again",
                headers={"Retry-After": "1"},
            )
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

    def _record(self, scope: Scope, route: str, sender: _Sender) -> None:
        status = sender.status or 499
        seconds = sender.seconds
        self._metrics.answered(scope["method"][:10], route, status, seconds)
        write_record(scope, status)
        log.info("request", method=scope["method"], route=route, status=status, seconds=round(seconds, 6))


_DESCRIPTION = """Plans where every buffer of a program lives in memory: which pool, at which offset.

Every error is `application/problem+json`. Bodies may be gzip; large responses and event streams are zstd or
gzip where the client accepts that. Where the server has keys, send `Authorization: Bearer KEY` or
`X-API-Key: KEY`."""


def create_app(settings: Settings | None = None) -> FastAPI:
    """The app of one server. Its service is open while the app runs."""
    chosen = settings or Settings()
    metrics, drain = Metrics(), DrainSignal()
    body_memory = MemoryBudget(chosen.body_memory, metrics.body_memory)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service = await open_service(chosen, metrics, drain)
        app.state.service = service
        try:
            yield
        finally:
            await service.stop()

    middleware = [Middleware(RequestMiddleware, metrics, body_memory, chosen)]
    if chosen.cors_origins:
        allowed = ["GET", "POST", "PATCH", "DELETE"]
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=chosen.cors_origins,
                allow_methods=allowed,
                allow_headers=["*"],
                expose_headers=[
                    "Location",
                    "ETag",
                    "Retry-After",
                    "X-Request-ID",
                    "Memstow-Cache",
                    "Memstow-Final",
                    "Preference-Applied",
                ],
            )
        )
    routers = (
        plan.router,
        jobs.router,
        fronts.router,
        batches.router,
        tools.router,
        reference.router,
        admin.keys_router,
        admin.router,
        unversioned.router,
        unversioned.page_router,
    )
    routes = [route for router in routers for route in router.routes]
    middleware.append(Middleware(WholePaths, routes))
    app = FastAPI(
        title="memstow",
        version=memstow.__version__,
        description=_DESCRIPTION,
        lifespan=lifespan,
        middleware=middleware,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        # Spans of ours tell more, and never what a body holds.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.drain = drain
    app.state.metrics = metrics
    # As they are: a router that is included is looked through with each request.
    app.router.routes.extend(routes)
    errors.install_handlers(app, app.router.routes)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _openapi(app: FastAPI) -> JsonObject:
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        events = document["paths"]["/v1/jobs/{job}/events"]["get"]["responses"]["200"]["content"]
        # A word of OpenAPI 3.2, in a document of 3.1: generators of clients refuse it.
        del events["text/event-stream"]["itemSchema"]
        components = document.setdefault("components", {})
        components["schemas"] = {
            name: schema
            for name, schema in {**components.get("schemas", {}), **schemas.schemas()}.items()
            if name not in ("HTTPValidationError", "ValidationError")
        }
        components["securitySchemes"] = {
            "key": {"type": "http", "scheme": "bearer"},
            "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        }
        document["security"] = [{"key": []}, {"header": []}, {}]
        schemas.tidy(document)
        app.openapi_schema = document
    return app.openapi_schema


def main(file: str) -> None:
    """Write the OpenAPI document to a file."""
    Path(file).write_text(pretty(create_app(Settings()).openapi()), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
