"""Liveness, readiness and metrics."""

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from memstow.api.http import schemas
from memstow.api.http.errors import ApiError
from memstow.api.http.requests import CurrentService, require_known
from memstow.api.http.responses import json_response
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
