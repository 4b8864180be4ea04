"""What a job works on and what it has found: its problem and its plan."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from memstow.api.http import samples, schemas
from memstow.api.http.errors import ApiError
from memstow.api.http.job_plans import FINAL, plan_of_job
from memstow.api.http.parameters import SOURCE_PARAMETERS
from memstow.api.http.requests import (
    CurrentService,
    FormatOfPlan,
    find_job,
    output_format,
    require_known,
)
from memstow.api.http.responses import job_path, matching_tag
from memstow.api.operations import plan_forms
from memstow.api.store.keys import Role

router = APIRouter(tags=["jobs"])


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
