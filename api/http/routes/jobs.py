"""Jobs: submit, list, look at, stop; what a job works on and has found; what happens to it, as events."""

import base64
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.responses import Response

from memstow.api.http import samples, schemas
from memstow.api.http.callers import Caller
from memstow.api.http.errors import IS_HEAD, ApiError, NoMoreEventsError
from memstow.api.http.fair_threads import share_of
from memstow.api.http.logs import note_affected
from memstow.api.http.requests import (
    CHANGE_PARAMETERS,
    NAME_PARAMETER,
    OPTION_PARAMETERS,
    SHAPES_PARAMETERS,
    SOURCE_PARAMETERS,
    CurrentService,
    FormatOfBody,
    FormatOfPlan,
    find_job,
    output_format,
    read_problem_body,
    require_known,
    service_of,
)
from memstow.api.http.responses import job_json, job_path, job_response, json_response, matching_tag
from memstow.api.http.submission import (
    CALLBACK,
    CALLBACK_PARAMETER,
    FINAL,
    IDEMPOTENCY_PARAMETER,
    draft_of,
    find_submitted,
    idempotency_key_of,
    plan_of_job,
    removed_error,
)
from memstow.api.operations import plan_forms
from memstow.api.operations.body import LONGEST_NAME
from memstow.api.operations.operations import READ
from memstow.api.operations.request_types import ReadRequest
from memstow.api.store.keys import Role
from memstow.api.store.queue import Filter
from memstow.api.store.tables import Job, State, Stop
from memstow.planner.model.errors import InputError
from memstow.planner.reading.printable import printable

router = APIRouter(tags=["jobs"])

_JOB = schemas.ref("Job")
_MOST_ENDED: Final = 500
# Nobody else writes to the store meanwhile: it takes some milliseconds for each.
_ENDED_AT_ONCE: Final = 20
# What describes jobs, in the list and where several are ended.
_FILTERS: Final = ("state", "batch", "digest", "search")
OfState = Annotated[State | None, Query(description="Only jobs in this state.")]
OfBatch = Annotated[str | None, Query(max_length=40, description="Only jobs of this batch.")]
OfDigest = Annotated[str | None, Query(max_length=64, description="Only jobs of this problem.")]
BySearch = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=LONGEST_NAME,
        description="Only jobs with this text in their name, in upper or lower case.",
    ),
]
FormatOfJob = Annotated[
    str | None,
    Query(
        alias="output_format",
        description="`tflite`: keep the model of the body, so that its plan can be had as one.",
        json_schema_extra={"enum": ["json", plan_forms.MODEL]},
    ),
]

ByWhatIsShown = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=LONGEST_NAME,
        description="Only jobs with this text in their name, in upper or lower case; and those whose id "
        "begins with it, from eight digits on. One without a name is called after its buffers and its id, "
        "such as `454 buffers, job 9cfda5a2`.",
    ),
]


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
            NAME_PARAMETER,
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
    output_format_name: FormatOfJob = None,
) -> Response:
    """Submit."""
    caller = await service.caller(request)
    service.require_open()
    _require_form_of_job(request, output_format_name)
    body, form = await read_problem_body(request, service, format, "priority", "hint_job", names=[CALLBACK])
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
    state: OfState = None,
    batch: OfBatch = None,
    digest: OfDigest = None,
    search: ByWhatIsShown = None,
    limit: Annotated[int, Query(ge=1, le=500, description="Jobs in a page.")] = 50,
    cursor: Annotated[str | None, Query(max_length=200, description="`next` of the page before.")] = None,
) -> Response:
    """List."""
    require_known(request, *_FILTERS, "limit", "cursor")
    caller = await service.caller(request, Role.READ)
    before = None if cursor is None else _place_of(cursor)
    wanted = replace(_wanted(caller, state, batch, digest, search), before=before, nameless=True)
    found = await service.in_thread(service.queue.page, wanted, limit)
    following = _cursor_at(found[-1]) if len(found) == limit else None

    def page() -> Response:
        return json_response({"jobs": [job_json(job) for job in found], "next": following})

    # Five hundred jobs take longer to write than other requests should wait.
    return await service.compute(page, share_of(caller, request))


@router.delete(
    "/v1/jobs",
    operation_id="end_jobs",
    summary="Stop several jobs and keep their best plans, or remove all of them",
    description="Those that all of the parameters describe, of which there must be one, as for the list of "
    f"jobs; the newest first, and at most {_MOST_ENDED} in a request: where there may be `more`, send it "
    "again.",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The jobs that were stopped, or with `discard` removed; those that run end in a moment.",
        {"jobs": [samples.JOB_ID], "more": False},
        {
            "type": "object",
            "required": ["jobs", "more"],
            "properties": {
                "jobs": {"type": "array", "items": {"type": "string"}, "description": "Their ids."},
                "more": {"type": "boolean"},
            },
        },
    ),
)
async def end_jobs(
    request: Request,
    service: CurrentService,
    ids: Annotated[str | None, Query(description="Ids of jobs, with commas between.")] = None,
    state: OfState = None,
    batch: OfBatch = None,
    digest: OfDigest = None,
    search: BySearch = None,
    discard: Annotated[bool, Query(description="Remove the jobs and their plans.")] = False,
) -> Response:
    """End several."""
    require_known(request, "ids", *_FILTERS, "discard")
    caller = await service.caller(request)
    named = None if ids is None else ids.split(",")
    if all(entry is None for entry in (named, state, batch, digest, search)):
        message = f"it would end all jobs: say which by one of {', '.join(('ids', *_FILTERS))}"
        raise InputError.single("missing_parameter", "query", message)
    if named is not None and len(named) > _MOST_ENDED:
        message = f"{len(named):,} ids are more than the {_MOST_ENDED} that one request may have"
        raise InputError.single("too_many", "query.ids", message)
    wanted = _wanted(caller, state, batch, digest, search)
    if named is not None:
        wanted = replace(wanted, ids=tuple(_storable(name) for name in named))
    queue, keep = service.queue, service.settings.keep_seconds
    found: list[str] = []
    more = True
    while more and len(found) < _MOST_ENDED:
        part = await service.in_thread(queue.stop_all, wanted, discard, keep, _ENDED_AT_ONCE)
        for job in part:
            service.runner.request_stop(job, Stop.DISCARD if discard else Stop.KEEP)
            service.hub.notify(job)
        found += part
        more = len(part) == _ENDED_AT_ONCE
        if found:
            note_affected(request.scope, jobs=",".join(found))
    return json_response({"jobs": found, "more": more})


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


def _require_form_of_job(request: Request, name: str | None) -> None:
    """Refuse what would be said in vain: the plan is written when it is fetched."""
    output_format(request, name)
    if name not in (None, "json", plan_forms.MODEL):
        message = "the answer is a job, and its plan is at /v1/jobs/JOB/plan: give output_format there"
        raise InputError.single("unused_parameter", "query.output_format", message)


def _wanted(
    caller: Caller, state: State | None, batch: str | None, digest: str | None, search: str | None
) -> Filter:
    """The jobs that a query describes, among those of the caller."""
    return Filter(
        key_id=None if caller.admin else caller.key_id,
        state=state,
        batch_id=None if batch is None else _storable(batch),
        digest=None if digest is None else _storable(digest),
        search=None if search is None else printable(search, LONGEST_NAME),
    )


def _storable(text: str) -> str:
    """A text that every store accepts; other characters match nothing."""
    return text if text.isalnum() and text.isascii() else "-"


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


@router.get(
    "/v1/jobs/{job}/problem",
    operation_id="get_job_problem",
    summary="The problem of a job",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The problem, or the graph.",
        samples.PROBLEM,
        {"anyOf": [schemas.ref("Problem"), schemas.ref("Graph"), schemas.ref("SymbolicProblem")]},
        "application/json",
        404,
    ),
)
async def get_problem(request: Request, service: CurrentService, job: str) -> Response:
    """The problem."""
    require_known(request)
    caller = await service.caller(request, Role.READ)
    found = await find_job(service, caller, job)
    body = await service.document(request, found.id, "problem")
    if body is None:
        raise ApiError(404, "no_such_job", "the job was removed")
    return Response(body, media_type="application/json")


@router.get(
    "/v1/jobs/{job}/plan",
    operation_id="get_job_plan",
    summary="The plan of a job: the best so far, or the last",
    description="`Memstow-Final` says whether it can still become better. With `If-None-Match` an unchanged "
    "plan is answered with 304. Where a job has ended without a plan, an `output_format` other than `json` "
    "is an error (422 `infeasible` or `no_plan_found`).",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The plan.",
        samples.PLAN,
        schemas.a_plan(),
        "application/json",
        404,
        409,
        also={304: {"description": "The plan is the one you have."}},
        as_text=samples.PLAN_CSV,
        as_source=samples.SOURCE_CODE,
        as_model=True,
        headers=schemas.PLAN_HEADERS,
    ),
    openapi_extra={"parameters": SOURCE_PARAMETERS},
)
async def get_plan(
    request: Request,
    service: CurrentService,
    job: str,
    output_format_name: FormatOfPlan = None,
) -> Response:
    """The plan."""
    require_known(request, "output_format", *plan_forms.PARAMETERS)
    caller = await service.caller(request, Role.READ)
    found = await find_job(service, caller, job)
    to = output_format(request, output_format_name)
    if found.is_front:
        raise ApiError(409, "is_front", f"the job is for a front, which is at {job_path(found.id)}/front")
    # A result without placements is an error in other forms: it is told as the last word only when it is.
    planned = to != "json" and not found.over
    plan = await plan_of_job(service, request, caller, found, to, planned=planned)
    if plan is None:
        if found.error is not None:
            raise ApiError(409, "job_failed", found.error)
        if found.over:
            raise ApiError(409, "job_cancelled", f"the job is {found.state.value}, and ended without a plan")
        raise ApiError(
            409,
            "no_plan_yet",
            f"the job is {found.state.value} and has no plan yet",
            headers={"Retry-After": "1"},
        )
    headers = {
        "ETag": plan.etag,
        "Cache-Control": "private, no-cache",
        "Vary": "Accept",
        FINAL: "true" if found.over else "false",
    }
    held = matching_tag(", ".join(request.headers.getlist("if-none-match")), plan.etag)
    if held is not None:
        return Response(None, 304, headers | {"ETag": held})
    return Response(plan.body, 200, headers, plan.media_type)


@dataclass(frozen=True, slots=True)
class _Position:
    """A job, and the number of the last event that the caller has."""

    job: str
    after: int
    caller: Caller


async def _position(
    request: Request,
    job: str,
    last_event_id: Annotated[str | None, Header(description="The last event that was received.")] = None,
) -> _Position:
    """A dependency, because errors and 204 are possible only before the stream begins."""
    require_known(request)
    service = service_of(request)
    caller = await service.caller(request, Role.READ)
    service.require_open()
    found = await find_job(service, caller, job)
    given = last_event_id or ""
    after = int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else 0
    if found.over and after:
        last = await service.in_thread(service.events.last_numbers, [found.id])
        if after >= last.get(found.id, 0):
            raise NoMoreEventsError
    return _Position(found.id, after, caller)


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
                    "example": 'id: 3\nevent: incumbent\ndata: {"value": 12288, "seconds": 0.1}\n\n',
                }
            },
        },
        204: {"description": "The job is over, and you have all of its events."},
        **schemas.errors(404),
    },
)
async def events(
    request: Request, position: Annotated[_Position, Depends(_position)]
) -> AsyncIterator[ServerSentEvent]:
    """Follow."""
    service = service_of(request)
    if request.scope.get(IS_HEAD):
        # The headers are all there is to send.
        return
    service.metrics.streams.inc()
    try:
        with service.callers.watch(position.caller) as watch:
            yield ServerSentEvent(comment="memstow", retry=1000)
            async for event in service.hub.follow(position.job, position.after, lambda: watch.ended):
                yield ServerSentEvent(id=str(event.number), event=event.kind, raw_data=event.data)
    finally:
        service.metrics.streams.dec()
