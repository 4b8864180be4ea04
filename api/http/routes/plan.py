"""`POST /v1/plan`: a problem in, a plan out; what takes longer becomes a job."""

import asyncio
import json
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from memstow.api.http import schemas
from memstow.api.http.audit import note_affected
from memstow.api.http.auth import Caller
from memstow.api.http.errors import ApiError
from memstow.api.http.requests import (
    OPTION_PARAMETERS,
    SOURCE_PARAMETERS,
    CurrentService,
    FormatOfBody,
    output_format,
    read_problem_body,
    wants_fresh,
    wants_job,
)
from memstow.api.http.responses import PlanBody, job_path, job_response, plan_body
from memstow.api.http.service import Service
from memstow.api.http.submission import IDEMPOTENCY_PARAMETER, draft_of, idempotency_key_of, removed_error
from memstow.api.operations.encoding import OPTION_NAMES
from memstow.api.operations.operations import READ, REWRITE_PLAN
from memstow.api.operations.requests import ReadRequest, RewritePlanRequest
from memstow.api.operations.results import ValidatedRequest
from memstow.api.store.job import State
from memstow.api.workers.quick_solve import Answer

router = APIRouter(tags=["plan"])

_POLL_SECONDS = 0.5

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
        410,
        415,
        507,
        also={202: _ACCEPTED},
    ),
    openapi_extra={
        "parameters": [*OPTION_PARAMETERS, *SOURCE_PARAMETERS, IDEMPOTENCY_PARAMETER],
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
    service: CurrentService,
    format: FormatOfBody = None,  # noqa: A002
    output_format_name: Annotated[
        str | None,
        Query(
            alias="output_format",
            description="json, csv, structured, or source code: c-header, c-source, c-check, ld, rust.",
        ),
    ] = None,
) -> Response:
    """Plan."""
    caller = await service.caller(request)
    service.require_open()
    body, form = await read_problem_body(request, service, format)
    to = output_format(request, output_format_name)
    limits = service.limits_of(caller)
    if len(body) > service.settings.fast_body or wants_job(request):
        read = ReadRequest(body=body, form=form, limits=limits)
        validated = await service.perform(READ, read, len(body))
        return await _as_job(request, service, caller, body, validated, to)
    fresh = wants_fresh(request)
    options = tuple(request.query_params.get(name) for name in OPTION_NAMES)
    owner = caller.cache_owner
    key = (body, (owner, form.format, to, limits.time_setting, *options))
    recent = None if fresh else service.recent_plans.get(key)
    if recent is not None:
        service.metrics.cache.labels("hit").inc()
        return recent.response("hit")

    def attempt() -> tuple[PlanBody, Answer] | ValidatedRequest:
        answer = service.fast.attempt(body, form, limits, to, fresh, owner)
        if isinstance(answer, ValidatedRequest):
            return answer
        return plan_body(answer.plan, answer.format), answer

    attempted = await service.compute(attempt)
    if isinstance(attempted, ValidatedRequest):
        return await _as_job(request, service, caller, body, attempted, to)
    sent, answer = attempted
    if answer.repeatable:
        # Any other plan may be outdone by another request, or at another server.
        service.recent_plans.put(key, sent, owner)
    return sent.response("hit" if answer.cached else "miss")


async def _as_job(
    request: Request, service: Service, caller: Caller, body: bytes, validated: ValidatedRequest, to: str
) -> Response:
    draft = await draft_of(service, caller, request, validated)
    key = await service.in_thread(idempotency_key_of, request, caller, body)
    job, is_new = await service.in_thread(service.queue.submit, draft, key)
    note_affected(request.scope, job=job)
    service.runner.wake()
    seconds = service.settings.sync_seconds
    if not is_new and await service.in_thread(service.queue.get, job) is None:
        raise removed_error()
    if wants_job(request) or json.loads(draft.options)["time_limit"] > seconds:
        return await _accepted(service, job, wants_job(request))
    if not await _wait(request, service, job, seconds):
        if await request.is_disconnected():
            if is_new and key is None:
                # Nobody else knows of the job.
                await service.in_thread(service.queue.stop, job, True, 0.0)
            raise ApiError(400, "client_gone", "the client went away")
        return await _accepted(service, job, False)
    found = await service.in_thread(service.queue.get, job)
    if found is None or found.state is State.CANCELLED:
        raise _cancelled()
    if found.state is State.FAILED:
        raise error_of_job(found.error or "")
    plan = await plan_of_job(request, service, job, to)
    if plan is None:
        raise ApiError(409, "no_plan", "the job of this request has no plan")
    return plan.response("miss", {"Location": job_path(job)})


async def _wait(request: Request, service: Service, job: str, seconds: float) -> bool:
    """Wait for the end of a job; False when the time is over or the client is gone."""
    over = asyncio.ensure_future(service.hub.wait_until_over(job, seconds))
    try:
        while True:
            done, _ = await asyncio.wait({over}, timeout=_POLL_SECONDS)
            if done:
                return over.result()
            if await request.is_disconnected():
                return False
    finally:
        over.cancel()


async def _accepted(service: Service, job: str, preferred: bool) -> Response:
    """The response 202 with the job."""
    found = await service.in_thread(service.queue.get, job)
    if found is None:
        # Removed in the meantime.
        raise _cancelled()
    headers = {"Location": job_path(job), "Retry-After": "1"}
    if preferred:
        headers["Preference-Applied"] = "respond-async"
    return job_response(found, 202, headers)


def _cancelled() -> ApiError:
    return ApiError(409, "job_cancelled", "the job of this request was cancelled")


def error_of_job(error: str) -> ApiError:
    """The error of a failed job, for the client that waits for its plan."""
    code, _, message = error.partition(": ")
    match code:
        case "declined":
            return ApiError(422, code, message)
        case "out_of_memory":
            return ApiError(413, code, message)
        case "child_lost" | "stuck":
            return ApiError(500, code, message)
    return ApiError(422, "invalid_request", error)


async def plan_of_job(request: Request, service: Service, job: str, to: str) -> PlanBody | None:
    """The plan of a job in a format; a result without placements stays JSON."""
    plan = await service.document(request, job, "plan")
    if plan is None:
        return None
    found = await service.in_thread(service.queue.get, job)
    if to == "json" or found is None or found.status not in ("optimal", "feasible"):
        return await service.in_thread(plan_body, plan, "json")
    problem = await service.document(request, job, "problem") or b""
    rewrite = RewritePlanRequest(problem=problem, plan=plan, to=to)
    written = await service.perform(REWRITE_PLAN, rewrite, len(plan) + len(problem))
    return await service.in_thread(plan_body, written.body, to)
