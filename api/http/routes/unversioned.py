"""Addresses outside of /v1: liveness, readiness, metrics; the web page; the document of operations."""

from typing import Annotated, Final

from fastapi import APIRouter, Path, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import HTMLResponse, Response

from memstow.api.http import schemas
from memstow.api.http.errors import ApiError
from memstow.api.http.requests import CurrentService, require_known
from memstow.api.http.responses import json_response
from memstow.api.page import assets
from memstow.api.store.keys import Role

router = APIRouter(tags=["health"])

_OK = {"status": "ok"}
_SCHEMA = {"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}}


@router.get(
    "/livez",
    operation_id="livez",
    openapi_extra=schemas.WITHOUT_KEY,
    summary="Whether the process lives",
    response_class=Response,
    responses=schemas.answers(200, "It lives.", _OK, _SCHEMA),
)
async def livez(request: Request) -> Response:
    """Live."""
    require_known(request)
    return json_response(_OK)


@router.get(
    "/readyz",
    operation_id="readyz",
    openapi_extra=schemas.WITHOUT_KEY,
    summary="Whether it should get requests: store and cluster answer, it is not ending",
    response_class=Response,
    responses=schemas.answers(200, "It should.", _OK, _SCHEMA),
)
async def readyz(request: Request, service: CurrentService) -> Response:
    """Ready."""
    require_known(request)
    reason = await service.not_ready()
    if reason is not None:
        raise ApiError(503, reason, f"not ready: {reason.replace('_', ' ')}", headers={"Retry-After": "1"})
    return json_response(_OK)


@router.get(
    "/metrics",
    operation_id="metrics",
    summary="The figures of this server, for Prometheus",
    description="Where there are keys, this needs one with the role `admin`.",
    response_class=Response,
    responses=schemas.answers(
        200, "The figures.", "memstow_jobs_queued 0.0\n", {"type": "string"}, "text/plain"
    ),
)
async def metrics(request: Request, service: CurrentService) -> Response:
    """Metrics."""
    require_known(request)
    await service.caller(request, Role.ADMIN)
    return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)


page_router = APIRouter(tags=["start"])

_MEDIA_TYPES: Final = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
_FOREVER: Final = "public, max-age=31536000, immutable"


@page_router.get(
    "/",
    operation_id="start",
    openapi_extra=schemas.WITHOUT_KEY,
    summary="The web page",
    response_class=HTMLResponse,
    responses=schemas.answers(200, "The page.", "<!doctype html>", {"type": "string"}, "text/html"),
)
async def start(request: Request) -> HTMLResponse:
    """The page: it shows plans that are dropped on it."""
    require_known(request)
    return _page()


@page_router.get("/new", include_in_schema=False)
async def new(request: Request) -> HTMLResponse:
    """The page with the editor: `example` or `job` names what is written in it at first."""
    require_known(request, "example", "job")
    return _page()


@page_router.get("/jobs", include_in_schema=False)
async def jobs(request: Request) -> HTMLResponse:
    """The page with the jobs; it takes the filters of `/v1/jobs`."""
    require_known(request, "state", "batch", "digest", "search", "cursor")
    return _page()


@page_router.get("/jobs/{job}", include_in_schema=False)
async def job(request: Request, job: Annotated[str, Path(max_length=100)]) -> HTMLResponse:  # noqa: ARG001
    """The page with one job, which asks for it by the key that it is given."""
    require_known(request)
    return _page()


@page_router.get("/compare", include_in_schema=False)
async def compare(request: Request) -> HTMLResponse:
    """The page with two plans beside each other: of the jobs `a` and `b`, or two that are dropped on it."""
    require_known(request, "a", "b")
    return _page()


@page_router.get("/reference", include_in_schema=False)
async def reference(request: Request) -> HTMLResponse:
    """The page with every operation."""
    require_known(request)
    return _page()


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
