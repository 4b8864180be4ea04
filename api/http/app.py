"""Creates the app: routes, error handlers, middleware, and its OpenAPI document."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.middleware import Middleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.cors import CORSMiddleware

import memstow
from memstow.api.http import errors, schemas
from memstow.api.http.bodies import MemoryBudget
from memstow.api.http.middleware import RequestMiddleware
from memstow.api.http.responses import JsonObject
from memstow.api.http.routes import (
    admin,
    batches,
    fronts,
    health,
    home,
    job_documents,
    job_events,
    jobs,
    keys,
    plan,
    reference,
    tools,
)
from memstow.api.http.service import DrainSignal, open_service
from memstow.api.http.settings import Settings
from memstow.api.metrics import Metrics

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

    middleware = [
        Middleware(RequestMiddleware, metrics, body_memory, chosen),
        Middleware(RequestBodyLimitMiddleware, max_body_size=chosen.max_body),
    ]
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
    groups = (
        plan,
        jobs,
        job_documents,
        job_events,
        fronts,
        batches,
        tools,
        reference,
        keys,
        admin,
        health,
        home,
    )
    errors.install_handlers(app, [route for group in groups for route in group.router.routes])
    for group in groups:
        app.include_router(group.router)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _openapi(app: FastAPI) -> JsonObject:
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        events = made["paths"]["/v1/jobs/{job}/events"]["get"]["responses"]["200"]["content"]
        # A word of OpenAPI 3.2, in a document of 3.1: generators of clients refuse it.
        del events["text/event-stream"]["itemSchema"]
        components = made.setdefault("components", {})
        components["schemas"] = {
            name: schema
            for name, schema in {**components.get("schemas", {}), **schemas.schemas()}.items()
            if name not in ("HTTPValidationError", "ValidationError")
        }
        components["securitySchemes"] = {
            "key": {"type": "http", "scheme": "bearer"},
            "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        }
        made["security"] = [{"key": []}, {"header": []}, {}]
        schemas.tidy(made)
        app.openapi_schema = made
    return app.openapi_schema
