"""Batches: many problems with many settings, each pair a job."""

import csv
import io
from collections import Counter
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from memstow.api.http import schemas
from memstow.api.http.auth import Caller
from memstow.api.http.errors import ProblemError
from memstow.api.http.request_body import read_body, require_json
from memstow.api.http.requests import Here, as_json, job_json
from memstow.api.http.service import Service
from memstow.api.http.submission import IDEMPOTENCY_PARAMETER, made_before, promise_of
from memstow.api.operations.body import LONGEST_NAME
from memstow.api.operations.operations import READ_MANY
from memstow.api.store.job import Draft, Job, State, Stop, moment
from memstow.api.store.queue import Idempotency
from memstow.planner.reading.printable import printable

router = APIRouter(tags=["batches"])

_EXAMPLE: dict[str, Any] = {
    "id": schemas.JOB_ID,
    "name": "nightly",
    "created": "2026-11-20T09:00:00.000Z",
    "jobs": 2,
    "states": {"done": 1, "running": 1},
    "done": False,
    "table": {
        "first": {"quick": {"job": schemas.JOB_ID, "state": "done", "status": "optimal", "peak": 12288}}
    },
}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["id", "jobs", "states", "done", "table"],
    "properties": {
        "id": {"type": "string"},
        "name": {"type": ["string", "null"]},
        "created": {"type": "string", "format": "date-time"},
        "jobs": {"type": "integer"},
        "states": {"type": "object", "additionalProperties": {"type": "integer"}},
        "done": {"type": "boolean"},
        "table": {"type": "object", "description": "By problem, then by setting."},
    },
}
_COLUMNS = (
    "problem",
    "setting",
    "job",
    "state",
    "status",
    "value",
    "peak",
    "bound",
    "gap",
    "solver",
    "seconds",
    "error",
)


@router.post(
    "/v1/batches",
    operation_id="submit_batch",
    summary="Many problems with many settings",
    description="All of its jobs are put into the queue, or none. Each is solved anew, so that they can be "
    "compared.",
    status_code=202,
    response_class=Response,
    responses=schemas.answers(202, "The batch.", _EXAMPLE, _SCHEMA, "application/json", 400, 415),
    openapi_extra={"parameters": [IDEMPOTENCY_PARAMETER]}
    | schemas.enveloped(
        {
            "name": {"type": "string", "minLength": 1, "maxLength": 200},
            "priority": {"type": "integer", "minimum": -100, "maximum": 100, "default": 0},
            "problems": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "required": ["problem"],
                    "properties": {"name": {"type": "string"}, "problem": schemas.ref("Problem")},
                },
            },
            "settings": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "required": ["options"],
                    "properties": {"name": {"type": "string"}, "options": schemas.ref("Options")},
                },
            },
        },
        ["problems"],
        {
            "name": "nightly",
            "problems": [{"name": "first", "problem": schemas.PROBLEM}],
            "settings": [
                {"name": "quick", "options": {"time_limit": 1.0}},
                {"name": "greedy", "options": {"solver": "greedy"}},
            ],
        },
        alone=False,
    ),
)
async def submit_batch(request: Request, service: Here) -> Response:
    """Put in."""
    caller = await service.caller(request)
    service.require_open()
    require_json(request)
    body = await read_body(request, service.settings)
    promise = await service.in_thread(promise_of, request, caller, body)
    batch = await made_before(service, promise) or await _put(service, caller, body, promise)
    document = await _described(service, caller, batch)
    return as_json(document, 202, {"Location": f"/v1/batches/{batch}"})


async def _put(service: Service, caller: Caller, body: bytes, promise: Idempotency | None) -> str:
    arguments = {"body": body, "limits": service.limits_of(caller)}
    read = await service.operate(READ_MANY, arguments, len(body))
    drafts = [
        Draft(
            problem=accepted.problem,
            digest=accepted.digest,
            cache_key=accepted.cache_key,
            buffers=accepted.buffers,
            options=accepted.options,
            hint=accepted.hint,
            priority=read.priority or 0,
            key_id=caller.key_id,
            name=printable(accepted.name or "", LONGEST_NAME),
            setting=printable(accepted.setting or "", LONGEST_NAME),
            term=accepted.term,
            fresh=True,
        )
        for accepted in read.jobs
    ]
    title = None if read.name is None else printable(read.name, LONGEST_NAME)
    batch: str
    batch, _ = await service.in_thread(service.queue.submit_batch, caller.key_id, title, drafts, promise)
    service.runner.wake()
    return batch


@router.get(
    "/v1/batches/{batch}",
    operation_id="get_batch",
    summary="How far a batch is, and its table",
    response_class=Response,
    responses=schemas.answers(200, "The batch.", _EXAMPLE, _SCHEMA, "application/json", 404),
)
async def get_batch(request: Request, service: Here, batch: str) -> Response:
    """Look."""
    caller = await service.caller(request)
    return as_json(await _described(service, caller, batch))


@router.get(
    "/v1/batches/{batch}/results",
    operation_id="get_batch_results",
    summary="The results of a batch, a job a line",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The results.",
        {"results": [{"problem": "first", "setting": "quick", "job": schemas.JOB_ID, "status": "optimal"}]},
        {"type": "object"},
        "application/json",
        404,
    ),
)
async def get_results(
    request: Request,
    service: Here,
    batch: str,
    format: Annotated[Literal["json", "csv"], Query(description="json or csv.")] = "json",  # noqa: A002
) -> Response:
    """Results."""
    caller = await service.caller(request)
    _, jobs = await _batch_for(service, caller, batch)
    rows = [_row(job) for job in jobs]
    if format == "json":
        return as_json({"results": rows})
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return Response(text.getvalue().encode(), media_type="text/csv")


@router.delete(
    "/v1/batches/{batch}",
    operation_id="end_batch",
    summary="Stop all jobs of a batch and keep their best plans, or remove all of it",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The batch as it is now.",
        _EXAMPLE,
        _SCHEMA,
        "application/json",
        404,
        also={204: {"description": "It is removed, or will be in a moment."}},
    ),
)
async def end_batch(
    request: Request,
    service: Here,
    batch: str,
    discard: Annotated[bool, Query(description="Remove the jobs and their plans.")] = False,
) -> Response:
    """End."""
    caller = await service.caller(request)
    _, jobs = await _batch_for(service, caller, batch)
    await service.in_thread(service.queue.stop_batch, batch, discard, service.settings.keep_seconds)
    for job in jobs:
        if job.state is State.RUNNING:
            service.runner.nudge(job.id, Stop.DISCARD if discard else Stop.KEEP)
    if discard:
        return Response(None, 204)
    return as_json(await _described(service, caller, batch))


async def _batch_for(service: Service, caller: Caller, batch: str) -> tuple[dict[str, Any], list[Job]]:
    proper = len(batch) == 32 and batch.isalnum() and batch.isascii()
    row = await service.in_thread(service.queue.batch, batch) if proper else None
    if row is None or not caller.may_see(row["key_id"]):
        raise ProblemError(
            404, "no_such_batch", "there is no batch of this id, or it is over its time or not yours"
        )
    return dict(row), await service.in_thread(service.queue.batch_jobs, batch)


async def _described(service: Service, caller: Caller, batch: str) -> dict[str, Any]:
    row, jobs = await _batch_for(service, caller, batch)
    table: dict[str, dict[str, Any]] = {}
    for job in jobs:
        cell = job_json(job)
        table.setdefault(job.name or "", {})[job.setting or ""] = {
            "job": job.id,
            **{
                name: cell[name]
                for name in ("state", "status", "value", "peak", "bound", "gap", "solver", "error")
            },
        }
    return {
        "id": row["id"],
        "name": row["name"],
        "created": moment(row["created"]),
        "jobs": len(jobs),
        "states": dict(Counter(job.state.value for job in jobs)),
        "done": all(job.over for job in jobs),
        "table": table,
    }


def _row(job: Job) -> dict[str, Any]:
    cell = job_json(job)
    took = None if job.started is None or job.finished is None else round(job.finished - job.started, 3)
    return {
        "problem": job.name,
        "setting": job.setting,
        "job": job.id,
        "seconds": took,
        **{
            name: cell[name]
            for name in ("state", "status", "value", "peak", "bound", "gap", "solver", "error")
        },
    }
