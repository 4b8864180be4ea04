"""Fronts: a problem in, a job that finds the front of two terms, and the front so far."""

import hashlib
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from memstow.api.http import samples, schemas
from memstow.api.http.errors import ApiError
from memstow.api.http.operation import Call, operation
from memstow.api.http.requests import (
    CHANGE_PARAMETERS,
    FRONT_PARAMETERS,
    NAME_PARAMETER,
    OPTION_PARAMETERS,
    FormatOfBody,
    read_problem_body,
)
from memstow.api.http.responses import job_path, media_type_of_plan
from memstow.api.http.submission import (
    CALLBACK_PARAMETER,
    IDEMPOTENCY_PARAMETER,
    current_version,
    nothing_yet,
    submit_job,
)
from memstow.api.operations.operations import WRITE_FRONT
from memstow.api.operations.plan_forms import PAGE
from memstow.api.operations.request_types import WriteFrontRequest
from memstow.api.store.keys import Role
from memstow.planner.model.front import FORMATS

router = APIRouter(tags=["fronts"])


@operation(
    router,
    "POST /v1/fronts",
    "submit_front",
    "Put a problem into the queue, to find the front of two terms",
    schemas.answers("The job.", samples.JOB, schemas.ref("Job"), 400, 410, 415, 507, status=202),
    description="The answer is a job like any other: it has a state and events, `point` for each point that "
    "is found, and can be stopped. What is found so far is at `/v1/jobs/{job}/front`; a run that is "
    "interrupted goes on from there. The time limit is for all points together. With `targets`, there is a "
    "front in the memories of each, and the answer tells which is the smallest that will do.",
    makes_work=True,
    parameters=[
        *FRONT_PARAMETERS,
        *OPTION_PARAMETERS,
        *CHANGE_PARAMETERS,
        NAME_PARAMETER,
        CALLBACK_PARAMETER,
        IDEMPOTENCY_PARAMETER,
    ],
    body=schemas.enveloped(
        {
            "problem": schemas.problem(),
            "target": schemas.target(),
            "options": schemas.ref("Options"),
            "front": schemas.ref("FrontOptions"),
            "targets": schemas.targets(),
            "priority": schemas.PRIORITY,
        },
        ["problem"],
        {
            "problem": samples.TWO_POOLS,
            "options": {"time_limit": 60.0},
            "front": {"terms": ["peak:fast", "placement_cost"], "within": 1.5},
        },
    ),
)
async def submit(call: Call, format: FormatOfBody = None) -> Response:  # noqa: A002
    """Submit."""
    body, form = await read_problem_body(call.request, call.service, format, "priority", front=True)
    return await submit_job(call, body, form)


@operation(
    router,
    "GET /v1/jobs/{job}/front",
    "get_job_front",
    "The front of a job: the points so far, or all of them",
    schemas.answers(
        "The front.",
        samples.FRONT,
        {"anyOf": [schemas.ref("Front"), schemas.ref("ViewDocument")]},
        404,
        409,
        also={304: {"description": "The front is the one you have."}},
        as_text=samples.FRONT_CSV,
        as_picture=True,
        headers=schemas.PLAN_HEADERS,
    ),
    description="`Memstow-Final` says whether there can still be more. With `If-None-Match` an unchanged "
    "front is answered with 304.",
    role=Role.READ,
)
async def get_front(
    call: Call,
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
    service, known = call.service, await call.job(job)
    if output_format not in (*FORMATS, PAGE):
        raise ApiError(422, "unknown_format", f"fronts can be had as {', '.join((*FORMATS, PAGE))}")
    if not known.is_front:
        raise ApiError(409, "no_front", f"the job is for a plan, which is at {job_path(known.id)}/plan")
    front = await service.document(call.request, known.id, "plan")
    if front is None:
        raise nothing_yet(known, "front", "point")
    tag = f'"{hashlib.sha256(front).hexdigest()[:32]}-{output_format}"'

    async def written() -> tuple[bytes, str]:
        if output_format == "json":
            return front, media_type_of_plan("json")
        for_page = output_format == PAGE
        problem = await service.document(call.request, known.id, "problem") if for_page else None
        write = WriteFrontRequest(
            front=front, to=output_format, problem=problem, options=known.options if problem else None
        )
        size = len(front) + len(problem or b"")
        document = await service.perform(WRITE_FRONT, write, size, call.share)
        return document.body, media_type_of_plan("json" if for_page else output_format)

    return await current_version(call, known, tag, written)
