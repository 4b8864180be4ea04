"""Tools that respond at once: verify, inspect, convert, tile, build, evaluate a plan of formulas."""

from dataclasses import replace
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Query
from starlette.responses import Response

from memstow.api import options
from memstow.api.http import samples, schemas
from memstow.api.http.errors import ApiError
from memstow.api.http.operation import Call, operation
from memstow.api.http.requests import (
    CHANGE_PARAMETERS,
    FormatOfBody,
    dims_in,
    form_of_document,
    listed_in,
    model_or_json,
    parameter,
    query_of,
)
from memstow.api.http.responses import MEDIA_TYPES, document_response
from memstow.api.operations.operations import BUILD, CONVERT, EVALUATE, INSPECT, TILE, VERIFY, Answer
from memstow.api.operations.request_types import (
    BodyForm,
    BuildRequest,
    ConvertRequest,
    Document,
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
    {"problem": schemas.problem(), "target": schemas.target()}, ["problem"], {"problem": samples.PROBLEM}
)

_CONVERTED = schemas.answers(
    "The problem.", samples.PROBLEM, schemas.ref("Problem"), 400, 415, as_text=samples.CSV
)
for _name in ("structured", "executorch", "usmp"):
    _CONVERTED[200]["content"][MEDIA_TYPES[_name]] = {"schema": {}, "example": schemas.EXAMPLES_ALONE[_name]}

R = TypeVar("R", VerifyRequest, InspectRequest, BuildRequest)


@operation(
    router,
    "POST /v1/verify",
    "verify",
    "Judge a plan from anyone",
    schemas.answers(
        "The verdict.",
        samples.VERDICT,
        {"anyOf": [schemas.ref("Verdict"), schemas.ref("ViewDocument")]},
        400,
        415,
    ),
    description="That a plan is not valid is an answer (200, `valid` false), not an error. `claims` says of "
    "each thing that the plan says whether it was checked; `checked` is whether all were. With `recheck` the "
    "solvers are asked to check what is only claimed; never for longer than `sync_seconds`. A model is "
    "judged by the memory plan that it carries, and the plan of a problem with `symbols` at all values that "
    "they take, without `target`, `hint` and `recheck`. Of a `graph` a `tiling`, as `/v1/tile` answers it, "
    "may take the place of the plan, without `hint` and `recheck`. `output_format=page` is the verdict as "
    "the page of this service reads it, without `hint` and `recheck`.",
    body=schemas.enveloped(
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
    call: Call,
    recheck: Annotated[bool, query_of(options.RECHECK)] = False,
    time_limit: Annotated[float, query_of(options.RECHECK_TIME, le=None, allow_inf_nan=False)] = 10.0,
    output_format: Annotated[Literal["json", "page"], Query(description="Form of the verdict.")] = "json",
) -> Response:
    """Judge."""
    _refuse_unused_limit(call, "recheck", recheck)
    form = BodyForm(format=model_or_json(call.request))
    verify = VerifyRequest(body=await call.body(), form=form, limits=call.service.limits)
    verify = replace(verify, for_page=output_format == "page")
    return await _searched(call, VERIFY, verify, "recheck_seconds", time_limit if recheck else None)


@operation(
    router,
    "POST /v1/inspect",
    "inspect",
    "What is in a problem: counts, sizes, bounds, the hardest moments, what it needs",
    schemas.answers(
        "The facts.",
        {"name": "first", "objective": ["peak"], "peak_live": 12288},
        {"type": "object"},
        400,
        415,
    ),
    description="With `needs` the solvers are asked for the smallest capacity of each pool, the others as "
    "given, for constraints whose removal alone lets a plan exist, and for the fewest buffers that must "
    "change where more is live than a pool can hold; never for longer than `sync_seconds`.",
    parameters=CHANGE_PARAMETERS,
    body=_ALONE,
)
async def inspect(
    call: Call,
    rows: Annotated[int, query_of(options.ROWS)] = 5,
    needs: Annotated[bool, query_of(options.NEEDS)] = False,
    time_limit: Annotated[float, query_of(options.NEEDS_TIME, le=None, allow_inf_nan=False)] = 10.0,
    without: Annotated[list[str] | None, query_of(options.WITHOUT)] = None,
    format: FormatOfBody = None,  # noqa: A002
) -> Response:
    """Inspect."""
    _refuse_unused_limit(call, "needs", needs)
    form = form_of_document(call.request, format)
    inspect = InspectRequest(
        body=await call.body(),
        form=form,
        limits=call.service.limits,
        rows=rows,
        without=tuple(without or ()),
    )
    return await _searched(call, INSPECT, inspect, "needs_seconds", time_limit if needs else None)


def _refuse_unused_limit(call: Call, action: str, is_wanted: bool) -> None:
    """Refuse a time limit without that which it limits."""
    if not is_wanted and "time_limit" in call.request.query_params:
        message = f"it limits `{action}`: ask for that as well, or leave it out"
        raise InputError.single("unused_option", "query.time_limit", message)


async def _searched(
    call: Call, operation: Answer[R, Document], request: R, member: str, seconds: float | None
) -> Response:
    """Carry out an operation; with `seconds`, which become a member of its request, solvers search.

    They do no longer than a request may wait for its plan.
    """
    service, size = call.service, len(request.body)
    if seconds is None:
        return await call.perform(operation, request, size)
    most = min(seconds, service.settings.sync_seconds, service.limits_of(call.caller).max_time_limit)

    def searching(seconds: float) -> R:
        members: dict[str, Any] = {member: seconds}
        return replace(request, **members)

    return document_response(await service.search(operation, request, size, call.share, searching, most))


@operation(
    router,
    "POST /v1/convert",
    "convert",
    "A problem in another format",
    _CONVERTED,
    description="What the other format has no place for is refused by name.",
    parameters=CHANGE_PARAMETERS,
    body=_ALONE,
)
async def convert(
    call: Call,
    to: Annotated[str, query_of(options.TO)] = "csv",
    format: FormatOfBody = None,  # noqa: A002
    channels: Annotated[bool, query_of(options.CHANNELS)] = False,
) -> Response:
    """Convert."""
    if to not in _WRITTEN:
        raise ApiError(422, "unknown_format", f"use one of {', '.join(_WRITTEN)}")
    form = form_of_document(call.request, format)
    body = await call.body()
    convert = ConvertRequest(body=body, form=form, limits=call.service.limits, to=to, channels=channels)
    return await call.perform(CONVERT, convert, len(body))


@operation(
    router,
    "POST /v1/tile",
    "tile",
    "Operators of a graph in tiles that fit a small memory, and move as few bytes as possible",
    schemas.answers(
        "The tiles: of one operator, or `tilings` of all.",
        samples.TILING,
        schemas.ref("Tilings"),
        400,
        415,
    ),
    description="Of one operator, or of all: the tile, the order of the loops, the buffers with their "
    "offsets, what each step covers, and the bytes that move. That an operator has no tiles, or none that "
    "fit, is an answer (`why_not`, `needs`), not an error.",
    parameters=[parameter(options.TARGET), parameter(options.DIM)],
    body=schemas.of_graph(samples.LAYER),
)
async def tile(
    call: Call,
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
    form = form_of_document(call.request, format)
    tile = TileRequest(
        body=await call.body(),
        form=form,
        limits=call.service.limits,
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
    return await call.perform(TILE, tile, len(tile.body))


@operation(
    router,
    "POST /v1/build",
    "build",
    "A model as a program in C that runs in the memory that was planned for it",
    schemas.answers(
        "The files of the program.", None, schemas.BYTES, 400, 415, 422, media_type="application/zip"
    ),
    description="The same as `memstow build`, without the program that checks outputs: a service does not "
    "run models. Nothing that fits is an error (422, `nothing_fits`) that says the least that would. Never "
    "longer than `sync_seconds`.",
    parameters=[
        parameter(options.TARGET),
        parameter(options.PROGRAM_WITH),
        parameter(options.PROGRAM_EXTERNAL),
        parameter(options.DIM),
    ],
    body=schemas.of_model(),
)
async def build(
    call: Call,
    name: Annotated[str, query_of(options.PROGRAM)] = "model",
    capacity: Annotated[int | None, query_of(options.PROGRAM_CAPACITY)] = None,
    point: Annotated[int | None, query_of(options.PROGRAM_POINT)] = None,
    order: Annotated[Literal["given", "free", "lpmf", "dfs"], query_of(options.PROGRAM_ORDER)] = "free",
    kernels: Annotated[Literal["own", "cmsis-nn"], query_of(options.PROGRAM_KERNELS)] = "own",
    deterministic: Annotated[bool, query_of(options.DETERMINISTIC)] = False,
    seed: Annotated[int, query_of(options.SEED)] = 0,
    time_limit: Annotated[float, query_of(options.BUILD_TIME, le=None, allow_inf_nan=False)] = 10.0,
) -> Response:
    """Build."""
    query = call.request.query_params
    if "target" in query and capacity is not None:
        message = "the target says how large its memories are; leave this or `target` out"
        raise InputError.single("unused_option", "query.capacity", message)
    if deterministic and "time_limit" in query:
        message = "a deterministic run ends by its work; leave this or `deterministic` out"
        raise InputError.single("unused_option", "query.time_limit", message)
    build = BuildRequest(
        body=await call.body(),
        form=BodyForm(format="tflite", dims=dims_in(call.request, "onnx")),
        limits=call.service.limits,
        name=name,
        capacity=capacity,
        point=point,
        target=query.get("target"),
        generators=listed_in(call.request, "generators"),
        external=listed_in(call.request, "external"),
        kernels=kernels,
        order=order,
        deterministic=deterministic,
        seed=seed,
    )
    return await _searched(call, BUILD, build, "build_seconds", time_limit)


@operation(
    router,
    "POST /v1/evaluate",
    "evaluate",
    "The ordinary plan of a plan of formulas, at a value of every symbol",
    schemas.answers("The plan.", samples.PLAN_AT, schemas.ref("Plan"), 400, 415),
    description="Of a problem with symbols and its plan. The plan that is returned is for the problem at "
    "these values; it was judged as such, and has its figures and bounds.",
    takes_json=True,
    body=schemas.of_symbols(samples.SYMBOLIC, samples.SYMBOLIC_PLAN, samples.AT),
)
async def evaluate(call: Call) -> Response:
    """Lay out a plan at values of the symbols."""
    evaluate = EvaluateRequest(body=await call.body(), limits=call.service.limits)
    return await call.perform(EVALUATE, evaluate, len(evaluate.body))
