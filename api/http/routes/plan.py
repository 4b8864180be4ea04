"""`POST /v1/plan`: a problem in, a plan out; what takes longer becomes a job."""

import asyncio
import json
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from memstow.api.http import schemas
from memstow.api.http.answer_cache import Ready, ready
from memstow.api.http.auth import Caller
from memstow.api.http.errors import ProblemError
from memstow.api.http.requests import (
    OPTION_PARAMETERS,
    FormatOfBody,
    Here,
    as_json,
    form_of,
    job_json,
    job_path,
    output_format,
    plan_media_type,
    wants_fresh,
)
from memstow.api.http.service import Service
from memstow.api.http.submission import IDEMPOTENCY_PARAMETER, draft_of, promise_of
from memstow.api.operations.answers import Accepted
from memstow.api.operations.operations import READ, REWRITE_PLAN
from memstow.api.operations.requests import OPTION_NAMES
from memstow.api.store.job import State
from memstow.api.workers.quick_solve import Tried

router = APIRouter(tags=["plan"])

_LOOK_SECONDS = 0.5

_ACCEPTED = {
    "description": "It takes longer: a job, at `Location`.",
    "content": {"application/json": {"schema": schemas.ref("Job"), "example": schemas.JOB}},
    "headers": {"Location": {"schema": {"type": "string"}}},
}


@router.post(
    "/v1/plan",
    operation_id="plan",
    summary="A problem in, a plan out",
    description="That nothing fits is an answer (200, status `infeasible`), not an error. A problem that "
    "takes longer than the server waits, or one sent with `Prefer: respond-async`, becomes a job.",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The plan.",
        schemas.PLAN,
        schemas.ref("Plan"),
        "application/json",
        400,
        415,
        also={202: _ACCEPTED},
    ),
    openapi_extra={
        "parameters": [*OPTION_PARAMETERS, IDEMPOTENCY_PARAMETER],
        **schemas.enveloped(
            {
                "problem": schemas.ref("Problem"),
                "target": schemas.target(),
                "options": schemas.ref("Options"),
            },
            ["problem"],
            {"problem": schemas.PROBLEM, "options": {"time_limit": 5.0}},
        ),
    },
)
async def plan(
    request: Request,
    service: Here,
    format: FormatOfBody = None,  # noqa: A002
    output_format_name: Annotated[
        str | None, Query(alias="output_format", description="json, csv or structured.")
    ] = None,
) -> Response:
    """Plan."""
    caller = await service.caller(request)
    service.require_open()
    body, form = await form_of(request, service, format)
    to = output_format(request, output_format_name)
    fresh = wants_fresh(request)
    limits = service.limits_of(caller)
    if len(body) > service.settings.fast_body or "respond-async" in request.headers.get("prefer", ""):
        accepted = await service.operate(READ, {"body": body, "form": form, "limits": limits}, len(body))
        return await _as_job(request, service, caller, body, accepted, to)
    options = tuple(request.query_params.get(name) for name in OPTION_NAMES)
    key = (body, (form.format, to, limits.time_setting, *options))
    remembered = None if fresh else service.remembered.find(key)
    if remembered is not None:
        service.metrics.cache.labels("hit").inc()
        return _sent(remembered, "hit")

    def attempt() -> tuple[Tried, Ready | None]:
        tried = service.fast.attempt(body, form, limits, to, fresh)
        return tried, None if tried.plan is None else ready(tried.plan, plan_media_type(tried.format))

    tried, answer = await service.quickly(attempt)
    if answer is None:
        assert tried.draft is not None  # noqa: S101
        return await _as_job(request, service, caller, body, tried.draft, to)
    if tried.final:
        # Nothing else is: a better plan of the problem may be found by another question, or another server.
        service.remembered.keep(key, answer)
    return _sent(answer, "hit" if tried.cached else "miss")


async def _as_job(
    request: Request, service: Service, caller: Caller, body: bytes, accepted: Accepted, to: str
) -> Response:
    draft = await draft_of(service, caller, request, accepted)
    promise = await service.in_thread(promise_of, request, caller, body)
    job, made = await service.in_thread(service.queue.submit, draft, promise)
    service.runner.wake()
    wanted = request.headers.get("prefer", "")
    seconds = service.settings.sync_seconds
    if "respond-async" in wanted or json.loads(draft.options)["time_limit"] > seconds:
        return await _accepted(service, job, "respond-async" in wanted)
    if not await _waited(request, service, job, seconds):
        if await request.is_disconnected():
            if made and promise is None:
                # Nobody can know of it: it would run for no one.
                await service.in_thread(service.queue.stop, job, True, 0.0)
            raise ProblemError(400, "client_gone", "the client went away")
        return await _accepted(service, job, False)
    found = await service.in_thread(service.queue.get, job)
    if found is None or found.state is State.CANCELLED:
        raise _cancelled()
    if found.state is State.FAILED:
        raise failure_of(found.error or "")
    answer = await plan_in(request, service, job, to)
    if answer is None:
        raise ProblemError(409, "no_plan", "the job of this request has no plan")
    return _sent(answer, "miss", {"Location": job_path(job)})


async def _waited(request: Request, service: Service, job: str, seconds: float) -> bool:
    """Whether the job is over in time, with a client that still waits."""
    over = asyncio.ensure_future(service.hub.over(job, seconds))
    try:
        while True:
            done, _ = await asyncio.wait({over}, timeout=_LOOK_SECONDS)
            if done:
                return over.result()
            if await request.is_disconnected():
                return False
    finally:
        over.cancel()


async def _accepted(service: Service, job: str, preferred: bool) -> Response:
    found = await service.in_thread(service.queue.get, job)
    if found is None:
        # Removed meanwhile: there is nothing to come back for.
        raise _cancelled()
    headers = {"Location": job_path(job), "Retry-After": "1"}
    if preferred:
        headers["Preference-Applied"] = "respond-async"
    return as_json(job_json(found), 202, headers)


def _cancelled() -> ProblemError:
    return ProblemError(409, "job_cancelled", "the job of this request was cancelled")


def failure_of(error: str) -> ProblemError:
    """The error of a job as the answer to who waited for it."""
    code, _, message = error.partition(": ")
    match code:
        case "declined":
            return ProblemError(422, code, message)
        case "out_of_memory":
            return ProblemError(413, code, message)
        case "child_lost" | "stuck":
            return ProblemError(500, code, message)
    return ProblemError(422, "invalid_request", error)


async def plan_in(request: Request, service: Service, job: str, to: str) -> Ready | None:
    """The plan of a job in a format; as JSON where it says that there is none."""
    body = await service.document(request, job, "plan")
    if body is None:
        return None
    found = await service.in_thread(service.queue.get, job)
    if to == "json" or found is None or found.status not in ("optimal", "feasible"):
        return await service.in_thread(ready, body, plan_media_type("json"))
    problem = await service.document(request, job, "problem")
    arguments = {"problem": problem or b"", "plan": body, "to": to}
    written = await service.operate(REWRITE_PLAN, arguments, len(body) + len(problem or b""))
    return await service.in_thread(ready, written.body, plan_media_type(to))


def _sent(answer: Ready, cache: str, headers: dict[str, str] | None = None) -> Response:
    return Response(
        answer.body,
        200,
        {
            "ETag": answer.etag,
            "Memstow-Cache": cache,
            "Cache-Control": "private, no-cache",
            **(headers or {}),
        },
        answer.media_type,
    )
