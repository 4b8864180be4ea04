"""`/` and the other addresses of the web page, its files, and the document of every operation."""

from typing import Annotated, Final

from fastapi import APIRouter, Path, Request
from starlette.responses import HTMLResponse, Response

from memstow.api.http import schemas
from memstow.api.http.errors import ApiError
from memstow.api.http.requests import require_known
from memstow.api.http.responses import json_response
from memstow.api.page import assets

router = APIRouter(tags=["start"])

_MEDIA_TYPES: Final = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
_FOREVER: Final = "public, max-age=31536000, immutable"


@router.get(
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


@router.get("/new", include_in_schema=False)
async def new(request: Request) -> HTMLResponse:
    """The page with the editor: `example` or `job` names what is written in it at first."""
    require_known(request, "example", "job")
    return _page()


@router.get("/jobs", include_in_schema=False)
async def jobs(request: Request) -> HTMLResponse:
    """The page with the jobs; it takes the filters of `/v1/jobs`."""
    require_known(request, "state", "batch", "digest", "search", "cursor")
    return _page()


@router.get("/jobs/{job}", include_in_schema=False)
async def job(request: Request, job: Annotated[str, Path(max_length=100)]) -> HTMLResponse:  # noqa: ARG001
    """The page with one job, which asks for it by the key that it is given."""
    require_known(request)
    return _page()


@router.get("/compare", include_in_schema=False)
async def compare(request: Request) -> HTMLResponse:
    """The page with two plans beside each other: of the jobs `a` and `b`, or two that are dropped on it."""
    require_known(request, "a", "b")
    return _page()


@router.get("/reference", include_in_schema=False)
async def reference(request: Request) -> HTMLResponse:
    """The page with every operation."""
    require_known(request)
    return _page()


def _page() -> HTMLResponse:
    """The same document at each address: its script draws what belongs there."""
    headers = {"Content-Security-Policy": assets.POLICY, "Cache-Control": "no-cache"}
    return HTMLResponse(assets.served_page(), headers=headers)


@router.get("/page/{name}", include_in_schema=False)
async def page_file(request: Request, name: Annotated[str, Path(max_length=100)]) -> Response:
    """The script or the style of the page. Their names change with their content."""
    require_known(request)
    content = assets.asset(name)
    if content is None:
        raise ApiError(404, "no_such_file", "the page has no file of this name; it may be of another version")
    media_type = _MEDIA_TYPES[name.rpartition(".")[2]]
    return Response(content, headers={"Cache-Control": _FOREVER}, media_type=media_type)


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> Response:
    """Every operation, as OpenAPI."""
    require_known(request)
    return json_response(request.app.openapi())
