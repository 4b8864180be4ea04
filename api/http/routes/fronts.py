"""Fronts: a problem in, a job that finds the front of two terms, and the front so far."""

import hashlib
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from memstow.api.http import samples, schemas
from memstow.api.http.errors import ApiError
from memstow.api.http.fair_threads import share_of
from memstow.api.http.logs import note_affected
from memstow.api.http.requests import (
    CHANGE_PARAMETERS,
    FRONT_PARAMETERS,
    NAME_PARAMETER,
    OPTION_PARAMETERS,
    CurrentService,
    FormatOfBody,
    find_job,
    read_problem_body,
    require_known,
)
from memstow.api.http.responses import job_path, job_response, matching_tag, media_type_of_plan
from memstow.api.http.submission import (
    CALLBACK,
    CALLBACK_PARAMETER,
    FINAL,
    IDEMPOTENCY_PARAMETER,
    draft_of,
    find_submitted,
    idempotency_key_of,
    removed_error,
)
from memstow.api.operations.operations import PAGE, READ, WRITE_FRONT
from memstow.api.operations.request_types import ReadRequest, WriteFrontRequest
from memstow.api.store.keys import Role
from memstow.planner.model.front import FORMATS

router = APIRouter(tags=["fronts"])

_JOB: Final = schemas.ref("Job")
_FOR_PAGE: Final = {
    "type": "object",
    "description": "With `output_format=page`: the front, the problems or graphs that its plans are for, and "
    "for each point which of them.",
    "required": ["name", "front", "of"],
    "properties": {
        "name": {"type": "string"},
        "front": schemas.ref("Front"),
        "problems": {"type": "array", "items": schemas.ref("Problem")},
        "graphs": {"type": "array", "items": schemas.ref("Graph")},
        "of": {"type": "array", "items": {"type": ["integer", "null"]}},
    },
}


@router.post(
    "/v1/fronts",
    operation_id="submit_front",
    summary="Put a problem into the queue, to find the front of two terms",
    description="The answer is a job like any other: it has a state and events, `point` for each point that "
    "is found, and can be stopped. What is found so far is at `/v1/jobs/{job}/front`; a run that is "
    "interrupted goes on from there. The time limit is for all points together. With `targets`, there is a "
    "front in the memories of each, and the answer tells which is the smallest that will do.",
    status_code=202,
    response_class=Response,
    responses=schemas.answers(202, "The job.", samples.JOB, _JOB, "application/json", 400, 410, 415, 507),
    openapi_extra={
        "parameters": [
            *FRONT_PARAMETERS,
            *OPTION_PARAMETERS,
            *CHANGE_PARAMETERS,
            NAME_PARAMETER,
            CALLBACK_PARAMETER,
            IDEMPOTENCY_PARAMETER,
        ],
        **schemas.enveloped(
            {
                "problem": schemas.problem(),
                "target": schemas.target(),
                "options": schemas.ref("Options"),
                "front": schemas.ref("FrontOptions"),
                "targets": schemas.targets(),
                "priority": {"type": "integer", "minimum": -100, "maximum": 100, "default": 0},
            },
            ["problem"],
            {
                "problem": samples.TWO_POOLS,
                "options": {"time_limit": 60.0},
                "front": {"terms": ["peak:fast", "placement_cost"], "within": 1.5},
            },
        ),
    },
)
async def submit(
    request: Request,
    service: CurrentService,
    format: FormatOfBody = None,  # noqa: A002
) -> Response:
    """Submit."""
    caller = await service.caller(request)
    service.require_open()
    body, form = await read_problem_body(request, service, format, "priority", front=True, names=[CALLBACK])
    key = await service.in_thread(idempotency_key_of, request, caller, body)
    earlier = await find_submitted(service, key)
    if earlier is not None:
        job = earlier
    else:
        read = ReadRequest(body=body, form=form, limits=service.limits_of(caller))
        validated = await service.read(request, READ, read, len(body), share_of(caller, request))
        draft = await draft_of(service, caller, request, validated)
        job, _ = await service.in_thread(service.queue.submit, draft, key)
        service.runner.wake()
    note_affected(request.scope, job=job)
    found = await service.in_thread(service.queue.get, job)
    if found is None:
        raise removed_error()
    return job_response(found, 202, {"Location": job_path(job)})


@router.get(
    "/v1/jobs/{job}/front",
    operation_id="get_job_front",
    summary="The front of a job: the points so far, or all of them",
    description="`Memstow-Final` says whether there can still be more. With `If-None-Match` an unchanged "
    "front is answered with 304.",
    response_class=Response,
    responses={
        **schemas.answers(
            200,
            "The front.",
            samples.FRONT,
            {"anyOf": [schemas.ref("Front"), _FOR_PAGE]},
            "application/json",
            404,
            409,
            also={304: {"description": "The front is the one you have."}},
            as_text=samples.FRONT_CSV,
            as_picture=True,
            headers=schemas.PLAN_HEADERS,
        ),
    },
)
async def get_front(
    request: Request,
    service: CurrentService,
    job: str,
    output_format: Annotated[
        str,
        Query(
            description="Format of the front. `page` is JSON for the page of this service: the front with "
            "what each of its plans is for, of several targets that of the smallest that will do.",
            json_schema_extra={"enum": [*FORMATS, PAGE]},
        ),
    ] = "json",
) -> Response:
    """The front."""
    require_known(request, "output_format")
    caller = await service.caller(request, Role.READ)
    found = await find_job(service, caller, job)
    if output_format not in (*FORMATS, PAGE):
        raise ApiError(422, "unknown_format", f"fronts can be had as {', '.join((*FORMATS, PAGE))}")
    if not found.is_front:
        raise ApiError(409, "no_front", f"the job is for a plan, which is at {job_path(found.id)}/plan")
    front = await service.document(request, found.id, "plan")
    if front is None:
        if found.error is not None:
            raise ApiError(409, "job_failed", found.error)
        if found.over:
            raise ApiError(409, "job_cancelled", f"the job is {found.state.value}, and ended without a point")
        message = f"the job is {found.state.value} and has no points yet"
        raise ApiError(409, "no_front_yet", message, headers={"Retry-After": "1"})
    tag = f'"{hashlib.sha256(front).hexdigest()[:32]}-{output_format}"'
    headers = {
        "ETag": tag,
        "Cache-Control": "private, no-cache",
        FINAL: "true" if found.over else "false",
    }
    held = matching_tag(", ".join(request.headers.getlist("if-none-match")), tag)
    if held is not None:
        return Response(None, 304, headers | {"ETag": held})
    if output_format != "json":
        problem = await service.document(request, found.id, "problem") if output_format == PAGE else None
        write = WriteFrontRequest(
            front=front, to=output_format, problem=problem, options=found.options if problem else None
        )
        size = len(front) + len(problem or b"")
        written = await service.perform(WRITE_FRONT, write, size, share_of(caller, request))
        front = written.body
    media = media_type_of_plan("json" if output_format == PAGE else output_format)
    return Response(front, 200, headers, media)
