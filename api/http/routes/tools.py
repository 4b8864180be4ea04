"""Tools that respond at once: verify, inspect, convert, tile operators, evaluate a plan of formulas."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Request
from starlette.responses import Response

from memstow.api import options
from memstow.api.http import samples, schemas
from memstow.api.http.bodies import read_body
from memstow.api.http.callers import Caller
from memstow.api.http.errors import ApiError
from memstow.api.http.fair_threads import share_of
from memstow.api.http.requests import (
    CHANGE_PARAMETERS,
    CurrentService,
    FormatOfBody,
    form_of_document,
    model_or_json,
    query_of,
    require_json,
    require_known,
)
from memstow.api.http.responses import MEDIA_TYPES, document_response
from memstow.api.http.service import Service
from memstow.api.operations.body_parts import CHANGES
from memstow.api.operations.operations import CONVERT, EVALUATE, INSPECT, TILE, VERIFY
from memstow.api.operations.request_types import (
    BodyForm,
    ConvertRequest,
    EvaluateRequest,
    InspectRequest,
    TileRequest,
    VerifyRequest,
)
from memstow.planner import formats
from memstow.planner.model.errors import InputError

router = APIRouter(tags=["tools"])

_WRITTEN = (*formats.names(), "graph")
_ALONE = schemas.enveloped(
    {"problem": schemas.problem(), "target": schemas.target()},
    ["problem"],
    {"problem": samples.PROBLEM},
) | {"parameters": CHANGE_PARAMETERS}

_CONVERTED = schemas.answers(
    200,
    "The problem.",
    samples.PROBLEM,
    schemas.ref("Problem"),
    "application/json",
    400,
    415,
    as_text=samples.CSV,
)
for _name in ("structured", "executorch", "usmp"):
    _CONVERTED[200]["content"][MEDIA_TYPES[_name]] = {"schema": {}, "example": schemas.EXAMPLES_ALONE[_name]}


@router.post(
    "/v1/verify",
    operation_id="verify",
    summary="Judge a plan from anyone",
    description="That a plan is not valid is an answer (200, `valid` false), not an error. `claims` says of "
    "each thing that the plan says whether it was checked; `checked` is whether all were. With `recheck` the "
    "solvers are asked to check what is only claimed; never for longer than `sync_seconds`. A model is "
    "judged by the memory plan that it carries, and the plan of a problem with `symbols` at all values that "
    "they take, without `target`, `hint` and `recheck`. Of a `graph` a `tiling`, as `/v1/tile` answers it, "
    "may take the place of the plan, without `hint` and `recheck`.",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The verdict.",
        samples.VERDICT,
        schemas.ref("Verdict"),
        "application/json",
        400,
        415,
    ),
    openapi_extra=schemas.enveloped(
        {
            "problem": schemas.any_problem(),
            "target": schemas.target(),
            "plan": schemas.any_plan(),
            "hint": schemas.plan(),
        },
        ["problem", "plan"],
        {"problem": samples.PROBLEM, "plan": samples.PLAN},
        alone=False,
        models=("tflite",),
        tiles=True,
    ),
)
async def verify(
    request: Request,
    service: CurrentService,
    recheck: Annotated[bool, query_of(options.RECHECK)] = False,
    time_limit: Annotated[float, query_of(options.RECHECK_TIME, le=None, allow_inf_nan=False)] = 10.0,
) -> Response:
    """Judge."""
    require_known(request, "recheck", "time_limit")
    if not recheck and "time_limit" in request.query_params:
        message = "it limits `recheck`: ask for that as well, or leave it out"
        raise InputError.single("unused_option", "query.time_limit", message)
    caller = await service.caller(request)
    form = BodyForm(format=model_or_json(request))
    body = await read_body(request, service.settings)
    share = share_of(caller, request)
    verify = VerifyRequest(body=body, form=form, limits=service.limits)
    if not recheck:
        return document_response(await service.perform(VERIFY, verify, len(body), share))
    most = _bounded(service, caller, time_limit)
    found = await service.search(
        VERIFY, verify, len(body), share, lambda seconds: replace(verify, recheck_seconds=seconds), most
    )
    return document_response(found)


@router.post(
    "/v1/inspect",
    operation_id="inspect",
    summary="What is in a problem: counts, sizes, bounds, the hardest moments, what it needs",
    description="With `needs` the solvers are asked for the smallest capacity of each pool, the others as "
    "given, for constraints whose removal alone lets a plan exist, and for the fewest buffers that must "
    "change where more is live than a pool can hold; never for longer than `sync_seconds`.",
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
    service: CurrentService,
    rows: Annotated[int, query_of(options.ROWS)] = 5,
    needs: Annotated[bool, query_of(options.NEEDS)] = False,
    time_limit: Annotated[float, query_of(options.NEEDS_TIME, le=None, allow_inf_nan=False)] = 10.0,
    without: Annotated[list[str] | None, query_of(options.WITHOUT)] = None,
    format: FormatOfBody = None,  # noqa: A002
) -> Response:
    """Inspect."""
    require_known(request, "rows", "needs", "time_limit", "without", "format", "dim", *CHANGES)
    if not needs and "time_limit" in request.query_params:
        message = "it limits `needs`: ask for that as well, or leave it out"
        raise InputError.single("unused_option", "query.time_limit", message)
    caller = await service.caller(request)
    form = form_of_document(request, format)
    body = await read_body(request, service.settings)
    share = share_of(caller, request)
    inspect = InspectRequest(
        body=body, form=form, limits=service.limits, rows=rows, without=tuple(without or ())
    )
    if not needs:
        return document_response(await service.perform(INSPECT, inspect, len(body), share))
    most = _bounded(service, caller, time_limit)
    found = await service.search(
        INSPECT, inspect, len(body), share, lambda seconds: replace(inspect, needs_seconds=seconds), most
    )
    return document_response(found)


@router.post(
    "/v1/convert",
    operation_id="convert",
    summary="A problem in another format",
    description="What the other format has no place for is refused by name.",
    response_class=Response,
    responses=_CONVERTED,
    openapi_extra=_ALONE,
)
async def convert(
    request: Request,
    service: CurrentService,
    to: Annotated[str, query_of(options.TO)] = "csv",
    format: FormatOfBody = None,  # noqa: A002
    channels: Annotated[bool, query_of(options.CHANNELS)] = False,
) -> Response:
    """Convert."""
    require_known(request, "to", "format", "dim", "channels", *CHANGES)
    caller = await service.caller(request)
    if to not in _WRITTEN:
        raise ApiError(422, "unknown_format", f"use one of {', '.join(_WRITTEN)}")
    form = form_of_document(request, format)
    body = await read_body(request, service.settings)
    convert = ConvertRequest(body=body, form=form, limits=service.limits, to=to, channels=channels)
    return document_response(await service.perform(CONVERT, convert, len(body), share_of(caller, request)))


@router.post(
    "/v1/tile",
    operation_id="tile",
    summary="Operators of a graph in tiles that fit a small memory, and move as few bytes as possible",
    description="Of one operator, or of all: the tile, the order of the loops, the buffers with their "
    "offsets, what each step covers, and the bytes that move. That an operator has no tiles, or none that "
    "fit, is an answer (`why_not`, `needs`), not an error.",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The tiles: of one operator, or `tilings` of all.",
        samples.TILING,
        schemas.ref("Tilings"),
        "application/json",
        400,
        415,
    ),
    openapi_extra=schemas.of_graph(samples.LAYER) | {"parameters": CHANGE_PARAMETERS},
)
async def tile(
    request: Request,
    service: CurrentService,
    operator: Annotated[str | None, query_of(options.OPERATOR)] = None,
    pool: Annotated[str | None, query_of(options.POOL)] = None,
    capacity: Annotated[int | None, query_of(options.ROOM)] = None,
    home: Annotated[str | None, query_of(options.HOME)] = None,
    objective: Annotated[str, query_of(options.OBJECTIVE)] = "bytes,tiles",
    double_buffer: Annotated[bool, query_of(options.DOUBLE_BUFFER)] = True,
    im2col: Annotated[str, query_of(options.IM2COL)] = "0",
    multiple: Annotated[str | None, query_of(options.MULTIPLE)] = None,
    front: Annotated[bool, query_of(options.TILE_FRONT)] = False,
    format: FormatOfBody = None,  # noqa: A002
) -> Response:
    """Find tiles."""
    require_known(request, *(option.name for option in options.TILES), "format", "dim", *CHANGES)
    caller = await service.caller(request)
    form = form_of_document(request, format)
    body = await read_body(request, service.settings)
    tile = TileRequest(
        body=body,
        form=form,
        limits=service.limits,
        operator=operator,
        pool=pool,
        home=home,
        capacity=capacity,
        objective=objective,
        multiple=multiple,
        im2col=im2col,
        double_buffer=double_buffer,
        front=front,
    )
    return document_response(await service.perform(TILE, tile, len(body), share_of(caller, request)))


@router.post(
    "/v1/evaluate",
    operation_id="evaluate",
    summary="The ordinary plan of a plan of formulas, at a value of every symbol",
    description="Of a problem with symbols and its plan. The plan that is returned is for the problem at "
    "these values; it was judged as such, and has its figures and bounds.",
    response_class=Response,
    responses=schemas.answers(
        200, "The plan.", samples.PLAN_AT, schemas.ref("Plan"), "application/json", 400, 415
    ),
    openapi_extra=schemas.of_symbols(samples.SYMBOLIC, samples.SYMBOLIC_PLAN, samples.AT),
)
async def evaluate(request: Request, service: CurrentService) -> Response:
    """Lay out a plan at values of the symbols."""
    require_known(request)
    caller = await service.caller(request)
    require_json(request)
    body = await read_body(request, service.settings)
    evaluate = EvaluateRequest(body=body, limits=service.limits)
    return document_response(await service.perform(EVALUATE, evaluate, len(body), share_of(caller, request)))


def _bounded(service: Service, caller: Caller, seconds: float) -> float:
    """The time for the solvers: no more than a request may wait for its plan."""
    return min(seconds, service.settings.sync_seconds, service.limits_of(caller).max_time_limit)
