"""Jobs: submit, list, look at, stop."""

import base64
import json
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from memstow.api.http import samples, schemas
from memstow.api.http.audit import note_affected
from memstow.api.http.errors import ApiError
from memstow.api.http.parameters import CHANGE_PARAMETERS, OPTION_PARAMETERS, SHAPES_PARAMETERS
from memstow.api.http.requests import (
    CurrentService,
    FormatOfBody,
    FormatOfPlan,
    find_job,
    output_format,
    read_problem_body,
    require_known,
)
from memstow.api.http.responses import job_json, job_path, job_response, json_response
from memstow.api.http.shares import share_of
from memstow.api.http.submission import (
    CALLBACK,
    CALLBACK_PARAMETER,
    IDEMPOTENCY_PARAMETER,
    draft_of,
    find_submitted,
    idempotency_key_of,
    removed_error,
)
from memstow.api.operations.operations import READ
from memstow.api.operations.requests import ReadRequest
from memstow.api.store.job import Job, State, Stop
from memstow.api.store.keys import Role
from memstow.api.store.queue import Filter

router = APIRouter(tags=["jobs"])

_JOB = schemas.ref("Job")


@router.post(
    "/v1/jobs",
    operation_id="submit_job",
    summary="Put a problem into the queue",
    description="A job that was answered with 202 is not lost, whatever happens to the server. With an "
    "`Idempotency-Key` the same request may be sent again: it is the same job. With "
    "`output_format=tflite` the job keeps the model of the body, so that its plan can be had as one.",
    status_code=202,
    response_class=Response,
    responses=schemas.answers(202, "The job.", samples.JOB, _JOB, "application/json", 400, 410, 415, 507),
    openapi_extra={
        "parameters": [
            *OPTION_PARAMETERS,
            *CHANGE_PARAMETERS,
            *SHAPES_PARAMETERS,
            CALLBACK_PARAMETER,
            IDEMPOTENCY_PARAMETER,
        ],
        **schemas.enveloped(
            {
                "problem": schemas.any_problem(),
                "target": schemas.target(),
                "options": schemas.ref("Options"),
                **schemas.SHAPES_MEMBERS,
                "priority": {"type": "integer", "minimum": -100, "maximum": 100, "default": 0},
                "hint_job": {"type": "string", "description": "A job whose plan is where to start."},
                "members": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 64,
                    "default": 1,
                    "description": "Runs that solve it together, where the server has a cluster.",
                },
            },
            ["problem"],
            {"problem": samples.PROBLEM, "options": {"time_limit": 60.0}, "priority": 1},
        ),
    },
)
async def submit(
    request: Request,
    service: CurrentService,
    format: FormatOfBody = None,  # noqa: A002
    output_format_name: FormatOfPlan = None,
) -> Response:
    """Submit."""
    caller = await service.caller(request)
    service.require_open()
    output_format(request, output_format_name)
    body, form = await read_problem_body(
        request, service, format, "priority", "hint_job", "members", names=[CALLBACK]
    )
    key = await service.in_thread(idempotency_key_of, request, caller, body)
    earlier = await find_submitted(service, key)
    if earlier is not None:
        job = earlier
    else:
        read = ReadRequest(body=body, form=form, limits=service.limits_of(caller))
        validated = await service.read(request, READ, read, len(body), share_of(caller, request))
        draft = await draft_of(service, caller, request, validated, body if form.rewrites_model else None)
        job, _ = await service.in_thread(service.queue.submit, draft, key)
        service.runner.wake()
    note_affected(request.scope, job=job)
    found = await service.in_thread(service.queue.get, job)
    if found is None:
        raise removed_error()
    return job_response(found, 202, {"Location": job_path(job)})


@router.get(
    "/v1/jobs",
    operation_id="list_jobs",
    summary="Jobs, newest first",
    response_class=Response,
    responses=schemas.answers(
        200,
        "A page of jobs; `next` is the cursor of the one behind it.",
        {"jobs": [samples.JOB], "next": None},
        {
            "type": "object",
            "required": ["jobs", "next"],
            "properties": {"jobs": {"type": "array", "items": _JOB}, "next": {"type": ["string", "null"]}},
        },
    ),
)
async def list_jobs(
    request: Request,
    service: CurrentService,
    state: Annotated[State | None, Query(description="Only jobs in this state.")] = None,
    batch: Annotated[str | None, Query(max_length=40, description="Only jobs of this batch.")] = None,
    digest: Annotated[str | None, Query(max_length=64, description="Only jobs of this problem.")] = None,
    limit: Annotated[int, Query(ge=1, le=500, description="Jobs in a page.")] = 50,
    cursor: Annotated[str | None, Query(max_length=200, description="`next` of the page before.")] = None,
) -> Response:
    """List."""
    require_known(request, "state", "batch", "digest", "limit", "cursor")
    caller = await service.caller(request, Role.READ)
    wanted = Filter(
        key_id=None if caller.admin else caller.key_id,
        state=state,
        batch_id=_storable(batch),
        digest=_storable(digest),
        before=None if cursor is None else _place_of(cursor),
    )
    found = await service.in_thread(service.queue.page, wanted, limit)
    following = _cursor_at(found[-1]) if len(found) == limit else None

    def page() -> Response:
        return json_response({"jobs": [job_json(job) for job in found], "next": following})

    # Five hundred jobs take longer to write than other requests should wait.
    return await service.compute(page, share_of(caller, request))


@router.get(
    "/v1/jobs/{job}",
    operation_id="get_job",
    summary="One job: its state and the best so far",
    response_class=Response,
    responses=schemas.answers(200, "The job.", samples.JOB, _JOB, "application/json", 404),
)
async def get_job(request: Request, service: CurrentService, job: str) -> Response:
    """Look."""
    require_known(request)
    caller = await service.caller(request, Role.READ)
    return job_response(await find_job(service, caller, job))


@router.delete(
    "/v1/jobs/{job}",
    operation_id="end_job",
    summary="Stop a job and keep its best plan, or remove all of it",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The job as it is now; one that runs ends in a moment.",
        samples.JOB,
        _JOB,
        "application/json",
        404,
        also={204: {"description": "It is removed, or will be in a moment."}},
    ),
)
async def end_job(
    request: Request,
    service: CurrentService,
    job: str,
    discard: Annotated[bool, Query(description="Remove the job and its plan.")] = False,
) -> Response:
    """End."""
    require_known(request, "discard")
    caller = await service.caller(request)
    found = await find_job(service, caller, job)
    note_affected(request.scope, job=found.id)
    await service.in_thread(service.queue.stop, found.id, discard, service.settings.keep_seconds)
    service.runner.request_stop(found.id, Stop.DISCARD if discard else Stop.KEEP)
    service.hub.notify(found.id)
    if discard:
        return Response(None, 204)
    now = await service.in_thread(service.queue.get, found.id)
    return job_response(now or found)


def _storable(text: str | None) -> str | None:
    """A text that every store accepts; other characters match nothing."""
    return text if text is None or (text.isalnum() and text.isascii()) else "-"


def _cursor_at(job: Job) -> str:
    return base64.urlsafe_b64encode(json.dumps([job.created, job.id]).encode()).decode()


def _place_of(cursor: str) -> tuple[float, str]:
    try:
        place = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        match place:
            case [float(created) | int(created), str(name)] if name.isalnum() and abs(created) < 1e12:
                return float(created), name
    except (ValueError, RecursionError):
        pass
    raise ApiError(422, "bad_cursor", "take the cursor from `next` of the page before")
