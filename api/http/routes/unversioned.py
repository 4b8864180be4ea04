"""Addresses outside of /v1: liveness, readiness, metrics; the web page; the document of operations."""

from typing import Annotated, Final

from fastapi import APIRouter, Path, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import HTMLResponse, Response

from memstow.api.http import schemas
from memstow.api.http.errors import ApiError
from memstow.api.http.operation import Call, operation
from memstow.api.http.requests import require_known
from memstow.api.http.responses import JsonObject, json_response
from memstow.api.page import assets
from memstow.api.store.keys import Role

router = APIRouter(tags=["health"])

_OK: Final[JsonObject] = {"status": "ok"}
_SCHEMA: Final = {"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}}


@operation(
    router,
    "GET /livez",
    "livez",
    "Whether the process lives",
    schemas.answers("It lives.", _OK, _SCHEMA),
    role=None,
)
async def livez(_call: Call) -> JsonObject:
    """Live."""
    return _OK


@operation(
    router,
    "GET /readyz",
    "readyz",
    "Whether it should get requests: store and cluster answer, it is not ending",
    schemas.answers("It should.", _OK, _SCHEMA),
    role=None,
)
async def readyz(call: Call) -> JsonObject:
    """Ready."""
    reason = await call.service.not_ready()
    if reason is not None:
        raise ApiError(503, reason, f"not ready: {reason.replace('_', ' ')}", headers={"Retry-After": "1"})
    return _OK


@operation(
    router,
    "GET /metrics",
    "metrics",
    "The figures of this server, for Prometheus",
    schemas.answers("The figures.", "memstow_jobs_queued 0.0\n", {"type": "string"}, media_type="text/plain"),
    description="Where there are keys, this needs one with the role `admin`.",
    role=Role.ADMIN,
)
async def metrics(call: Call) -> Response:
    """Metrics."""
    return Response(call.service.metrics.text(), media_type=CONTENT_TYPE_LATEST)


page_router = APIRouter(tags=["start"])

_MEDIA_TYPES: Final = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
_FOREVER: Final = "public, max-age=31536000, immutable"
_PAGES: Final[dict[str, tuple[str, ...]]] = {
    "/new": ("example", "job"),
    "/jobs": ("state", "batch", "digest", "search", "cursor"),
    "/compare": ("a", "b"),
    "/reference": (),
}
"""The addresses of the editor, the jobs, two plans beside each other and the operations; with the parameters
that the script of the page reads there."""


@operation(
    page_router,
    "GET /",
    "start",
    "The web page",
    schemas.answers("The page.", "<!doctype html>", {"type": "string"}, media_type="text/html"),
    role=None,
)
async def start(_call: Call) -> Response:
    """The page: it shows plans that are dropped on it."""
    return _page()


@page_router.get("/jobs/{job}", include_in_schema=False)
async def job(request: Request, job: Annotated[str, Path(max_length=100)]) -> Response:  # noqa: ARG001
    """The page with one job, which asks for it by the key that it is given."""
    require_known(request)
    return _page()


def _add_page(path: str, parameters: tuple[str, ...]) -> None:
    @page_router.get(path, include_in_schema=False)
    async def page(request: Request) -> Response:
        require_known(request, *parameters)
        return _page()


for _path, _parameters in _PAGES.items():
    _add_page(_path, _parameters)


def _page() -> HTMLResponse:
    """The same document at each address: its script draws what belongs there."""
    headers = {"Content-Security-Policy": assets.POLICY, "Cache-Control": "no-cache"}
    return HTMLResponse(assets.served_page(), headers=headers)


@page_router.get("/page/{name}", include_in_schema=False)
async def page_file(request: Request, name: Annotated[str, Path(max_length=100)]) -> Response:
    """The script or the style of the page. Their names change with their content."""
    require_known(request)
    content = assets.asset(name)
    if content is None:
        raise ApiError(404, "no_such_file", "the page has no file of this name; it may be of another version")
    media_type = _MEDIA_TYPES[name.rpartition(".")[2]]
    return Response(content, headers={"Cache-Control": _FOREVER}, media_type=media_type)


@page_router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> Response:
    """Every operation, as OpenAPI."""
    require_known(request)
    return json_response(request.app.openapi())
