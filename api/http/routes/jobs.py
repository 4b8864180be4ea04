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
from memstow.api.http.operation import Call, operation
from memstow.api.http.requests import (
    CHANGE_PARAMETERS,
    NAME_PARAMETER,
    OPTION_PARAMETERS,
    SHAPES_PARAMETERS,
    SOURCE_PARAMETERS,
    FormatOfBody,
    FormatOfPlan,
    output_format,
    read_problem_body,
    require_known,
    service_of,
)
from memstow.api.http.responses import JsonObject, job_json, job_path, json_response, tag_of_view
from memstow.api.http.submission import (
    CALLBACK_PARAMETER,
    IDEMPOTENCY_PARAMETER,
    current_version,
    nothing_yet,
    plan_in_form,
    plan_of_job,
    submit_job,
)
from memstow.api.operations import plan_forms
from memstow.api.operations.encoding import PROOF
from memstow.api.operations.envelope import LONGEST_NAME
from memstow.api.store.keys import Role
from memstow.api.store.queue import Filter
from memstow.api.store.tables import Job, State, Stop
from memstow.planner.model.errors import InputError
from memstow.planner.model.printable import printable

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


@operation(
    router,
    "POST /v1/jobs",
    "submit_job",
    "Put a problem into the queue",
    schemas.answers("The job.", samples.JOB, _JOB, 400, 410, 415, 507, status=202),
    description="A job that was answered with 202 is not lost, whatever happens to the server. With an "
    "`Idempotency-Key` the same request may be sent again: it is the same job. With "
    "`output_format=tflite` the job keeps the model of the body, so that its plan can be had as one. With "
    "`proof=true` what is left of its time goes to a proof, which is about the problem as `problem` has it.",
    makes_work=True,
    parameters=[
        *OPTION_PARAMETERS,
        *CHANGE_PARAMETERS,
        *SHAPES_PARAMETERS,
        NAME_PARAMETER,
        CALLBACK_PARAMETER,
        IDEMPOTENCY_PARAMETER,
    ],
    unlisted=plan_forms.PARAMETERS,
    body=schemas.enveloped(
        {
            "problem": schemas.any_problem(),
            "target": schemas.target(),
            "options": schemas.ref("Options"),
            **schemas.SHAPES_MEMBERS,
            "priority": schemas.PRIORITY,
            "hint_job": {"type": "string", "description": "A job whose plan is where to start."},
        },
        ["problem"],
        {"problem": samples.PROBLEM, "options": {"time_limit": 60.0}, "priority": 1},
    ),
)
async def submit(
    call: Call,
    format: FormatOfBody = None,  # noqa: A002
    output_format_name: FormatOfJob = None,
    proof: Annotated[bool, Query(description="Write a proof of the plan as well.")] = False,
) -> Response:
    """Submit."""
    _require_form_of_job(call.request, output_format_name)
    body, form = await read_problem_body(call.request, call.service, format, "priority", "hint_job")
    return await submit_job(call, body, replace(form, proof=proof))


@operation(
    router,
    "GET /v1/jobs",
    "list_jobs",
    "Jobs, newest first",
    schemas.answers(
        "A page of jobs; `next` is the cursor of the one behind it.",
        {"jobs": [samples.JOB], "next": None},
        {
            "type": "object",
            "required": ["jobs", "next"],
            "properties": {"jobs": {"type": "array", "items": _JOB}, "next": {"type": ["string", "null"]}},
        },
    ),
    role=Role.READ,
)
async def list_jobs(
    call: Call,
    state: OfState = None,
    batch: OfBatch = None,
    digest: OfDigest = None,
    search: ByWhatIsShown = None,
    limit: Annotated[int, Query(ge=1, le=500, description="Jobs in a page.")] = 50,
    cursor: Annotated[str | None, Query(max_length=200, description="`next` of the page before.")] = None,
) -> Response:
    """List."""
    before = None if cursor is None else _place_of(cursor)
    wanted = replace(_wanted(call.caller, state, batch, digest, search), before=before, nameless=True)
    jobs = await call.service.in_thread(call.service.queue.page, wanted, limit)
    following = _cursor_at(jobs[-1]) if len(jobs) == limit else None

    def page() -> Response:
        return json_response({"jobs": [job_json(job) for job in jobs], "next": following})

    # Five hundred jobs take longer to write than other requests should wait.
    return await call.service.compute(page, call.share)


@operation(
    router,
    "DELETE /v1/jobs",
    "end_jobs",
    "Stop several jobs and keep their best plans, or remove all of them",
    schemas.answers(
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
    description="Those that all of the parameters describe, of which there must be one, as for the list of "
    f"jobs; the newest first, and at most {_MOST_ENDED} in a request: where there may be `more`, send it "
    "again.",
)
async def end_jobs(
    call: Call,
    ids: Annotated[str | None, Query(description="Ids of jobs, with commas between.")] = None,
    state: OfState = None,
    batch: OfBatch = None,
    digest: OfDigest = None,
    search: BySearch = None,
    discard: Annotated[bool, Query(description="Remove the jobs and their plans.")] = False,
) -> JsonObject:
    """End several."""
    named = None if ids is None else ids.split(",")
    if all(entry is None for entry in (named, state, batch, digest, search)):
        message = f"it would end all jobs: say which by one of {', '.join(('ids', *_FILTERS))}"
        raise InputError.single("missing_parameter", "query", message)
    if named is not None and len(named) > _MOST_ENDED:
        message = f"{len(named):,} ids are more than the {_MOST_ENDED} that one request may have"
        raise InputError.single("too_many", "query.ids", message)
    wanted = _wanted(call.caller, state, batch, digest, search)
    if named is not None:
        wanted = replace(wanted, ids=tuple(_storable(name) for name in named))
    service = call.service
    keep = service.settings.keep_seconds
    ended: list[str] = []
    more = True
    while more and len(ended) < _MOST_ENDED:
        part = await service.in_thread(service.queue.stop_all, wanted, discard, keep, _ENDED_AT_ONCE)
        for job in part:
            _stop_run(call, job, discard)
        ended += part
        more = len(part) == _ENDED_AT_ONCE
        if ended:
            call.note(jobs=",".join(ended))
    return {"jobs": ended, "more": more}


@operation(
    router,
    "GET /v1/jobs/{job}",
    "get_job",
    "One job: its state and the best so far",
    schemas.answers("The job.", samples.JOB, _JOB, 404),
    role=Role.READ,
)
async def get_job(call: Call, job: str) -> JsonObject:
    """Look."""
    return job_json(await call.job(job))


@operation(
    router,
    "DELETE /v1/jobs/{job}",
    "end_job",
    "Stop a job and keep its best plan, or remove all of it",
    schemas.answers(
        "The job as it is now; one that runs ends in a moment.",
        samples.JOB,
        _JOB,
        404,
        also=schemas.REMOVED,
    ),
)
async def end_job(
    call: Call,
    job: str,
    discard: Annotated[bool, Query(description="Remove the job and its plan.")] = False,
) -> Response | JsonObject:
    """End."""
    service, before = call.service, await call.job(job)
    call.note(job=before.id)
    await service.in_thread(service.queue.stop, before.id, discard, service.settings.keep_seconds)
    _stop_run(call, before.id, discard)
    if discard:
        return Response(None, 204)
    after = await service.in_thread(service.queue.get, before.id)
    return job_json(after or before)


def _stop_run(call: Call, job: str, discard: bool) -> None:
    """End the run of a job that is stopped, and tell who follows it."""
    call.service.runner.request_stop(job, Stop.DISCARD if discard else Stop.KEEP)
    call.service.hub.notify(job)


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


@operation(
    router,
    "GET /v1/jobs/{job}/problem",
    "get_job_problem",
    "The problem of a job",
    schemas.answers(
        "The problem, or the graph.",
        samples.PROBLEM,
        schemas.any_document(),
        404,
    ),
    role=Role.READ,
)
async def get_problem(call: Call, job: str) -> Response:
    """The problem."""
    known = await call.job(job)
    body = await call.service.document(call.request, known.id, "problem")
    if body is None:
        raise ApiError(404, "no_such_job", "the job was removed")
    return Response(body, media_type="application/json")


@operation(
    router,
    "GET /v1/jobs/{job}/plan",
    "get_job_plan",
    "The plan of a job: the best so far, or the last",
    schemas.answers(
        "The plan.",
        samples.PLAN,
        {"anyOf": [*schemas.a_plan()["anyOf"], schemas.ref("ViewDocument")]},
        404,
        409,
        also={304: {"description": "The plan is the one you have."}},
        as_text=samples.PLAN_CSV,
        as_source=samples.SOURCE_CODE,
        as_model=True,
        headers=schemas.PLAN_HEADERS,
    ),
    description="`Memstow-Final` says whether it can still become better. With `If-None-Match` an unchanged "
    "plan is answered with 304. Where a job has ended without a plan, an `output_format` other than `json` "
    "and `page` is an error (422 `infeasible` or `no_plan_found`). `page` is JSON for the page of this "
    "service: the plan with what the judge says of it.",
    role=Role.READ,
    parameters=SOURCE_PARAMETERS,
)
async def get_plan(call: Call, job: str, output_format_name: FormatOfPlan = None) -> Response:
    """The plan."""
    known = await call.job(job)
    to = output_format(call.request, output_format_name, own_page=True)
    if known.is_front:
        raise ApiError(409, "is_front", f"the job is for a front, which is at {job_path(known.id)}/front")
    if to == plan_forms.PAGE:
        return await _view(call, known)
    # A result without placements is an error in other forms: it is told as the last word only when it is.
    plan = await plan_of_job(call, known, to, planned=to != "json" and not known.over)
    if plan is None:
        raise nothing_yet(known, "plan", "plan")

    async def written() -> tuple[bytes, str]:
        return plan.body, plan.media_type

    return await current_version(call, known, plan.etag, written, {"Vary": "Accept"})


@operation(
    router,
    "GET /v1/jobs/{job}/proof",
    "get_job_proof",
    "The proof of a job's plan",
    schemas.answers("The proof.", None, schemas.BYTES, 404, 409, media_type="application/octet-stream"),
    description="Of a job that was submitted with `proof=true`, when it has ended. It is about the bytes at "
    "`problem`, and the plan names its SHA-256.",
    role=Role.READ,
)
async def get_proof(call: Call, job: str) -> Response:
    """The proof."""
    known = await call.job(job)
    if not known.wants_proof:
        raise ApiError(409, "no_proof", "the job was submitted without `proof=true`")
    proof = await call.service.document(call.request, known.id, PROOF)
    if proof is not None:
        return Response(proof, media_type="application/octet-stream")
    if known.over:
        raise ApiError(409, "no_proof", "nothing could be proven within the limits of the job")
    raise nothing_yet(known, "proof", "proof")


async def _view(call: Call, job: Job) -> Response:
    """The plan as the page shows it; pages ask again and again, and to judge a plan takes long."""
    stored = await call.service.document(call.request, job.id, "plan")
    if stored is None:
        raise nothing_yet(job, "plan", "plan")

    async def judged() -> tuple[bytes, str]:
        plan = await plan_in_form(call, job, stored, plan_forms.PAGE)
        return plan.body, plan.media_type

    return await current_version(call, job, tag_of_view(stored), judged, {"Vary": "Accept"})


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
    job_there = await Call(request, caller).job(job)
    text = last_event_id or ""
    after = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
    if job_there.over and after:
        last = await service.in_thread(service.events.last_numbers, [job_there.id])
        if after >= last.get(job_there.id, 0):
            raise NoMoreEventsError
    return _Position(job_there.id, after, caller)


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
