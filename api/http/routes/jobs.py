"""Jobs: put in, look at, follow, end."""

import base64
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.responses import Response

from memstow.api.http import schemas
from memstow.api.http.errors import NothingMoreError, ProblemError
from memstow.api.http.requests import (
    OPTION_PARAMETERS,
    FormatOfBody,
    Here,
    as_json,
    form_of,
    job_for,
    job_json,
    job_path,
    output_format,
    service_of,
)
from memstow.api.http.routes.plan import plan_in
from memstow.api.http.submission import IDEMPOTENCY_PARAMETER, draft_of, made_before, promise_of
from memstow.api.operations.operations import READ
from memstow.api.store.job import Job, State, Stop
from memstow.api.store.queue import Filter

router = APIRouter(tags=["jobs"])

_JOB = schemas.ref("Job")


@router.post(
    "/v1/jobs",
    operation_id="submit_job",
    summary="Put a problem into the queue",
    description="A job that was answered with 202 is not lost, whatever happens to the server. With an "
    "`Idempotency-Key` the same request may be sent again: it is the same job.",
    status_code=202,
    response_class=Response,
    responses=schemas.answers(202, "The job.", schemas.JOB, _JOB, "application/json", 400, 415),
    openapi_extra={
        "parameters": [
            *OPTION_PARAMETERS,
            IDEMPOTENCY_PARAMETER,
        ],
        **schemas.enveloped(
            {
                "problem": schemas.ref("Problem"),
                "target": schemas.target(),
                "options": schemas.ref("Options"),
                "priority": {"type": "integer", "minimum": -100, "maximum": 100, "default": 0},
                "hint_job": {"type": "string", "description": "A job whose plan is where to start."},
            },
            ["problem"],
            {"problem": schemas.PROBLEM, "options": {"time_limit": 60.0}, "priority": 1},
        ),
    },
)
async def submit(
    request: Request,
    service: Here,
    format: FormatOfBody = None,  # noqa: A002
) -> Response:
    """Put in."""
    caller = await service.caller(request)
    service.require_open()
    body, form = await form_of(request, service, format, "priority", "hint_job")
    promise = await service.in_thread(promise_of, request, caller, body)
    made = await made_before(service, promise)
    if made is not None:
        job = made
    else:
        arguments = {"body": body, "form": form, "limits": service.limits_of(caller)}
        accepted = await service.operate(READ, arguments, len(body))
        draft = await draft_of(service, caller, request, accepted)
        job, _ = await service.in_thread(service.queue.submit, draft, promise)
        service.runner.wake()
    found = await service.in_thread(service.queue.get, job)
    return as_json({"id": job} if found is None else job_json(found), 202, {"Location": job_path(job)})


@router.get(
    "/v1/jobs",
    operation_id="list_jobs",
    summary="Jobs, newest first",
    response_class=Response,
    responses=schemas.answers(
        200,
        "A page of jobs; `next` is the cursor of the one behind it.",
        {"jobs": [schemas.JOB], "next": None},
        {
            "type": "object",
            "required": ["jobs", "next"],
            "properties": {"jobs": {"type": "array", "items": _JOB}, "next": {"type": ["string", "null"]}},
        },
    ),
)
async def list_jobs(
    request: Request,
    service: Here,
    state: Annotated[State | None, Query(description="Only jobs in this state.")] = None,
    batch: Annotated[str | None, Query(max_length=40, description="Only jobs of this batch.")] = None,
    digest: Annotated[str | None, Query(max_length=64, description="Only jobs of this problem.")] = None,
    limit: Annotated[int, Query(ge=1, le=500, description="Jobs in a page.")] = 50,
    cursor: Annotated[str | None, Query(max_length=200, description="`next` of the page before.")] = None,
) -> Response:
    """List."""
    caller = await service.caller(request)
    wanted = Filter(
        key_id=None if caller.admin else caller.key_id,
        state=state,
        batch_id=_storable(batch),
        digest=_storable(digest),
        before=None if cursor is None else _place(cursor),
    )
    found: list[Job] = await service.in_thread(service.queue.page, wanted, limit)
    behind = _cursor(found[-1]) if len(found) == limit else None
    return as_json({"jobs": [job_json(job) for job in found], "next": behind})


@router.get(
    "/v1/jobs/{job}",
    operation_id="get_job",
    summary="One job: its state and the best so far",
    response_class=Response,
    responses=schemas.answers(200, "The job.", schemas.JOB, _JOB, "application/json", 404),
)
async def get_job(request: Request, service: Here, job: str) -> Response:
    """Look."""
    caller = await service.caller(request)
    return as_json(job_json(await job_for(service, caller, job)))


@router.get(
    "/v1/jobs/{job}/problem",
    operation_id="get_job_problem",
    summary="The problem of a job",
    response_class=Response,
    responses=schemas.answers(
        200, "The problem.", schemas.PROBLEM, schemas.ref("Problem"), "application/json", 404
    ),
)
async def get_problem(request: Request, service: Here, job: str) -> Response:
    """The problem."""
    caller = await service.caller(request)
    found = await job_for(service, caller, job)
    body = await service.document(request, found.id, "problem")
    if body is None:
        raise ProblemError(404, "no_such_job", "the job was removed")
    return Response(body, media_type="application/json")


@router.get(
    "/v1/jobs/{job}/plan",
    operation_id="get_job_plan",
    summary="The plan of a job: the best so far, or the last",
    description="`Memstow-Final` says whether it can still become better. With `If-None-Match` an unchanged "
    "plan is answered with 304.",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The plan.",
        schemas.PLAN,
        schemas.ref("Plan"),
        "application/json",
        404,
        409,
        also={304: {"description": "The plan is the one you have."}},
    ),
)
async def get_plan(
    request: Request,
    service: Here,
    job: str,
    format: Annotated[str | None, Query(description="json, csv or structured.")] = None,  # noqa: A002
) -> Response:
    """The plan."""
    caller = await service.caller(request)
    found = await job_for(service, caller, job)
    answer = await plan_in(request, service, found.id, output_format(request, format))
    if answer is None:
        if found.error is not None:
            raise ProblemError(409, "job_failed", found.error)
        raise ProblemError(
            409,
            "no_plan_yet",
            f"the job is {found.state.value} and has no plan yet",
            headers={"Retry-After": "1"},
        )
    headers = {
        "ETag": answer.etag,
        "Cache-Control": "private, no-cache",
        "Memstow-Final": "true" if found.over else "false",
    }
    if answer.etag in request.headers.get("if-none-match", ""):
        return Response(None, 304, headers)
    return Response(answer.body, 200, headers, answer.media_type)


@dataclass(frozen=True, slots=True)
class _Followed:
    """A job, and the last of its events that the caller has."""

    job: str
    after: int


async def _followed(
    request: Request,
    job: str,
    last_event_id: Annotated[str | None, Header(description="The last event that was received.")] = None,
) -> _Followed:
    """Asked before the stream begins: an error is then still an answer of its own, and so is the end."""
    service = service_of(request)
    caller = await service.caller(request)
    service.require_open()
    found = await job_for(service, caller, job)
    given = last_event_id or ""
    after = int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else 0
    if found.over and after:
        last = await service.in_thread(service.queue.last_events, [found.id])
        if after >= last.get(found.id, 0):
            raise NothingMoreError
    return _Followed(found.id, after)


@router.get(
    "/v1/jobs/{job}/events",
    operation_id="get_job_events",
    summary="What happens to a job, as it happens",
    description="Server-sent events: `phase`, `incumbent`, `bound`, and `done` at the end. `Last-Event-ID` "
    "resumes; behind the last event the answer is 204, by which a browser knows not to come again.",
    response_class=EventSourceResponse,
    responses={
        200: {
            "description": "The stream.",
            "content": {
                "text/event-stream": {
                    "example": 'id: 3\nevent: incumbent\ndata: {"value": 12288, "seconds": 0.1}\n\n'
                }
            },
        },
        204: {"description": "The job is over, and you have all of its events."},
        **schemas.errors(404),
    },
)
async def events(
    request: Request, followed: Annotated[_Followed, Depends(_followed)]
) -> AsyncIterator[ServerSentEvent]:
    """Follow."""
    service = service_of(request)
    service.metrics.streams.inc()
    try:
        yield ServerSentEvent(comment="memstow", retry=1000)
        async for number, kind, data in service.hub.follow(followed.job, followed.after):
            yield ServerSentEvent(id=str(number), event=kind, raw_data=data)
    finally:
        service.metrics.streams.dec()


@router.delete(
    "/v1/jobs/{job}",
    operation_id="end_job",
    summary="Stop a job and keep its best plan, or remove all of it",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The job as it is now; one that runs ends in a moment.",
        schemas.JOB,
        _JOB,
        "application/json",
        404,
        also={204: {"description": "It is removed, or will be in a moment."}},
    ),
)
async def end_job(
    request: Request,
    service: Here,
    job: str,
    discard: Annotated[bool, Query(description="Remove the job and its plan.")] = False,
) -> Response:
    """End."""
    caller = await service.caller(request)
    found = await job_for(service, caller, job)
    await service.in_thread(service.queue.stop, found.id, discard, service.settings.keep_seconds)
    service.runner.nudge(found.id, Stop.DISCARD if discard else Stop.KEEP)
    service.hub.nudge(found.id)
    if discard:
        return Response(None, 204)
    now = await service.in_thread(service.queue.get, found.id)
    return as_json(job_json(now or found))


def _storable(text: str | None) -> str | None:
    """A text that no store refuses; one with other characters matches nothing."""
    return text if text is None or (text.isalnum() and text.isascii()) else "-"


def _cursor(job: Job) -> str:
    return base64.urlsafe_b64encode(json.dumps([job.created, job.id]).encode()).decode()


def _place(cursor: str) -> tuple[float, str]:
    try:
        place: Any = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        match place:
            case [float(created) | int(created), str(name)] if name.isalnum() and abs(created) < 1e12:
                return float(created), name
    except (ValueError, RecursionError):
        pass
    raise ProblemError(422, "bad_cursor", "take the cursor from `next` of the page before")
