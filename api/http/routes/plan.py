"""`POST /v1/plan`: a problem in, a plan out; what takes longer becomes a job."""

from fastapi import APIRouter
from starlette.responses import Response

from memstow.api.http import samples, schemas
from memstow.api.http.errors import without_plan
from memstow.api.http.operation import Call, operation
from memstow.api.http.requests import (
    CHANGE_PARAMETERS,
    FORMAT_PARAMETERS,
    NAME_PARAMETER,
    OPTION_PARAMETERS,
    SHAPES_PARAMETERS,
    SOURCE_PARAMETERS,
    read_problem_body,
    wants_fresh,
)
from memstow.api.http.responses import PlanBody, plan_body
from memstow.api.http.submission import IDEMPOTENCY_PARAMETER, JobPlan, preferences_of
from memstow.api.operations.operations import READ
from memstow.api.operations.request_types import ReadRequest, ValidatedRequest
from memstow.api.workers.quick_solve import Answer

router = APIRouter(tags=["plan"])

_ACCEPTED = {
    "description": "It takes longer: a job, at `Location`.",
    "content": {"application/json": {"schema": schemas.ref("Job"), "example": samples.JOB}},
    "headers": {"Location": {"schema": {"type": "string"}}},
}
_PREFER = {
    "name": "Prefer",
    "in": "header",
    "required": False,
    "description": "`respond-async`: a job at once; `wait=N`: wait at most N seconds; both: wait, then a job",
    "schema": {"type": "string"},
}


@operation(
    router,
    "POST /v1/plan",
    "plan",
    "A problem in, a plan out",
    schemas.answers(
        "The plan.",
        samples.PLAN,
        schemas.a_plan(),
        400,
        410,
        415,
        507,
        also={202: _ACCEPTED},
        as_text=samples.PLAN_CSV,
        as_source=samples.SOURCE_CODE,
        as_model=True,
        headers=schemas.PLAN_HEADERS,
    ),
    description="That nothing fits is an answer (200, status `infeasible`), not an error. A problem that "
    "is not solved at once becomes a job, for which the request waits. If it is not done by then, the "
    "response is the best plan so far, with `Memstow-Final: false` and the `Location` of the job that goes "
    "on. Without a plan, for a deterministic run, and with `Prefer: respond-async` it is the job (202). "
    "With another `output_format` than `json`, 200 is the final plan in that format, or the best so far with "
    "`Prefer: wait=N`. Where there is none, the response is an error (422 `infeasible` or `no_plan_found`), "
    "and 503 `plan_not_ready` with `Retry-After` while the job goes on.",
    makes_work=True,
    parameters=[
        *FORMAT_PARAMETERS,
        *OPTION_PARAMETERS,
        *CHANGE_PARAMETERS,
        *SOURCE_PARAMETERS,
        *SHAPES_PARAMETERS,
        NAME_PARAMETER,
        IDEMPOTENCY_PARAMETER,
        _PREFER,
    ],
    body=schemas.enveloped(
        {
            "problem": schemas.any_problem(),
            "target": schemas.target(),
            "options": schemas.ref("Options"),
            **schemas.SHAPES_MEMBERS,
        },
        ["problem"],
        {"problem": samples.PROBLEM, "options": {"time_limit": 5.0}},
    ),
)
async def plan(call: Call) -> Response:
    """Plan."""
    request, service, caller, share = call.request, call.service, call.caller, call.share
    query = request.query_params
    body, form = await read_problem_body(request, service, query.get("format"))
    to = form.plan_form
    limits = service.limits_of(caller)
    preferences = preferences_of(request)
    as_job = JobPlan(call, to, preferences, body if form.rewrites_model else None)
    slow = len(body) > service.settings.fast_body or form.is_model or b'"symbols"' in body
    if slow or preferences.at_once:
        read = ReadRequest(body=body, form=form, limits=limits)
        validated = await service.read(request, READ, read, len(body), share)
        return await as_job.response(body, validated)
    fresh = wants_fresh(request)
    owner = caller.cache_owner
    query_string: bytes = request.scope["query_string"]
    key = (body, (owner, form.format, to, limits.time_setting, query_string.decode("latin-1")))
    recent = None if fresh else service.recent_plans.get(key)
    if recent is not None:
        service.metrics.cache.labels("hit").inc()
        return recent.response("hit")

    def at_once() -> tuple[PlanBody, Answer] | None:
        answer = service.fast.at_once(body, form, limits, to, fresh, owner)
        return None if answer is None else (plan_body(answer.plan, answer.format), answer)

    def attempt() -> tuple[PlanBody, Answer] | ValidatedRequest:
        answer = service.fast.attempt(body, form, limits, to, fresh, owner)
        if isinstance(answer, ValidatedRequest):
            return answer
        if answer.format != to:
            raise without_plan(answer.plan)
        return plan_body(answer.plan, answer.format), answer

    attempted = await service.compute(attempt, share, at_once)
    if isinstance(attempted, ValidatedRequest):
        return await as_job.response(body, attempted)
    sent, answer = attempted
    if answer.repeatable:
        # Any other plan may be outdone by another request, or at another server.
        service.recent_plans.put(key, sent, owner)
    return sent.response("hit" if answer.cached else "miss")
