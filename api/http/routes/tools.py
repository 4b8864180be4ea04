"""What is done with a problem or a plan at once: judge, inspect, convert."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from memstow.api.http import schemas
from memstow.api.http.auth import Caller
from memstow.api.http.errors import ProblemError
from memstow.api.http.request_body import MEDIA_TYPES, format_of, read_body, require_json
from memstow.api.http.requests import FormatOfBody, Here
from memstow.api.http.service import Service
from memstow.api.operations.body import Form
from memstow.api.operations.operations import CONVERT, INSPECT, VERIFY
from memstow.api.operations.results import Document
from memstow.planner import formats

router = APIRouter(tags=["tools"])

_ALONE = schemas.enveloped(
    {"problem": schemas.ref("Problem"), "target": schemas.target()},
    ["problem"],
    {"problem": schemas.PROBLEM},
)


@router.post(
    "/v1/verify",
    operation_id="verify",
    summary="Judge a plan from anyone",
    description="That a plan is not valid is an answer (200, `valid` false), not an error. `claims` says of "
    "each thing that the plan says whether it was checked; `checked` is whether all were. With `recheck` the "
    "solvers are asked to check what is only claimed; never for longer than `sync_seconds`.",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The verdict.",
        schemas.VERDICT,
        schemas.ref("Verdict"),
        "application/json",
        400,
        415,
    ),
    openapi_extra=schemas.enveloped(
        {
            "problem": schemas.ref("Problem"),
            "target": schemas.target(),
            "plan": schemas.ref("Plan"),
            "hint": schemas.ref("Plan"),
        },
        ["problem", "plan"],
        {"problem": schemas.PROBLEM, "plan": schemas.PLAN},
        alone=False,
    ),
)
async def verify(
    request: Request,
    service: Here,
    recheck: Annotated[bool, Query(description="Also solve again to check what is only claimed.")] = False,
    time_limit: Annotated[
        float, Query(ge=0, allow_inf_nan=False, description="Seconds that `recheck` may take.")
    ] = 10.0,
) -> Response:
    """Judge."""
    caller = await service.caller(request)
    require_json(request)
    body = await read_body(request, service.settings)
    seconds = _bounded(service, caller, time_limit)
    arguments = {**_arguments(service, body, None), "recheck": seconds if recheck else None}
    return _sent(await service.operate(VERIFY, arguments, len(body), seconds if recheck else 0.0))


@router.post(
    "/v1/inspect",
    operation_id="inspect",
    summary="What is in a problem: counts, sizes, bounds, the hardest moments, what it needs",
    description="With `needs` the solvers are asked for the smallest capacity of each pool, the others as "
    "given, and for constraints whose removal alone lets a plan exist; never for longer than `sync_seconds`.",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The facts.",
        {"name": "first", "objective": ["peak"], "peak_live": 12288},
        {"type": "object"},
        "application/json",
        400,
        415,
    ),
    openapi_extra=_ALONE,
)
async def inspect(
    request: Request,
    service: Here,
    rows: Annotated[int, Query(ge=0, le=1000, description="Hardest moments to list.")] = 5,
    needs: Annotated[bool, Query(description="Also say what it would take for a plan to exist.")] = False,
    time_limit: Annotated[
        float, Query(ge=0, allow_inf_nan=False, description="Seconds that `needs` may take.")
    ] = 10.0,
    format: FormatOfBody = None,  # noqa: A002
) -> Response:
    """Inspect."""
    caller = await service.caller(request)
    form = format_of(request, format)
    body = await read_body(request, service.settings)
    seconds = _bounded(service, caller, time_limit)
    arguments = {**_arguments(service, body, form), "rows": rows, "needs": seconds if needs else None}
    return _sent(await service.operate(INSPECT, arguments, len(body), seconds if needs else 0.0))


@router.post(
    "/v1/convert",
    operation_id="convert",
    summary="A problem in another format",
    description="What the other format has no place for is refused by name.",
    response_class=Response,
    responses=schemas.answers(200, "The problem.", schemas.CSV, {"type": "string"}, "text/csv", 400, 415),
    openapi_extra=_ALONE,
)
async def convert(
    request: Request,
    service: Here,
    to: Annotated[str, Query(description="json, csv, structured, executorch or usmp.")] = "csv",
    format: FormatOfBody = None,  # noqa: A002
) -> Response:
    """Convert."""
    await service.caller(request)
    if to not in formats.names():
        raise ProblemError(422, "unknown_format", f"use one of {', '.join(formats.names())}")
    form = format_of(request, format)
    body = await read_body(request, service.settings)
    arguments = {**_arguments(service, body, form), "to": to}
    return _sent(await service.operate(CONVERT, arguments, len(body)))


def _bounded(service: Service, caller: Caller, seconds: float) -> float:
    """What is asked of the solvers on the side may take as long as a request that waits for its plan."""
    return min(seconds, service.settings.sync_seconds, service.limits_of(caller).max_time_limit)


def _arguments(service: Service, body: bytes, form: str | None) -> dict[str, Any]:
    return {"body": body, "form": Form(format=form), "limits": service.limits}


def _sent(document: Document) -> Response:
    name = document.format
    media_type = "application/json" if name == "json" else MEDIA_TYPES[name]
    return Response(document.body, media_type=media_type)
