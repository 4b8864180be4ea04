"""Batches: many problems with many settings, each pair of them a job."""

import csv
import io
from collections import Counter
from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from memstow.api.http import schemas
from memstow.api.http.auth import Caller
from memstow.api.http.bodies import read_body
from memstow.api.http.errors import ApiError
from memstow.api.http.requests import (
    CurrentService,
    require_json,
    require_known,
)
from memstow.api.http.responses import JsonObject, job_json, json_response
from memstow.api.http.service import Service
from memstow.api.http.submission import IDEMPOTENCY_PARAMETER, draft_for, find_submitted, idempotency_key_of
from memstow.api.operations.operations import READ_BATCH
from memstow.api.operations.requests import ReadBatchRequest
from memstow.api.store.idempotency import IdempotencyKey
from memstow.api.store.job import Batch, Job, State, Stop, timestamp

router = APIRouter(tags=["batches"])

_EXAMPLE: JsonObject = {
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
_SCHEMA: JsonObject = {
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
                    "properties": {"name": {"type": "string"}, "problem": schemas.document()},
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
async def submit_batch(request: Request, service: CurrentService) -> Response:
    """Put in."""
    caller = await service.caller(request)
    service.require_open()
    require_json(request)
    body = await read_body(request, service.settings)
    key = await service.in_thread(idempotency_key_of, request, caller, body)
    batch = await find_submitted(service, key) or await _submit(service, caller, body, key)
    document = await _batch_json(service, caller, batch)
    return json_response(document, 202, {"Location": f"/v1/batches/{batch}"})


async def _submit(service: Service, caller: Caller, body: bytes, key: IdempotencyKey | None) -> str:
    read = ReadBatchRequest(body=body, limits=service.limits_of(caller))
    validated = await service.perform(READ_BATCH, read, len(body))
    drafts = [
        replace(draft_for(caller, job, fresh=True), priority=validated.priority) for job in validated.jobs
    ]
    batch, _ = await service.in_thread(service.queue.submit_batch, caller.key_id, validated.name, drafts, key)
    service.runner.wake()
    return batch


@router.get(
    "/v1/batches/{batch}",
    operation_id="get_batch",
    summary="How far a batch is, and its table",
    response_class=Response,
    responses=schemas.answers(200, "The batch.", _EXAMPLE, _SCHEMA, "application/json", 404),
)
async def get_batch(request: Request, service: CurrentService, batch: str) -> Response:
    """Look."""
    caller = await service.caller(request)
    return json_response(await _batch_json(service, caller, batch))


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
    service: CurrentService,
    batch: str,
    format: Annotated[Literal["json", "csv"], Query(description="json or csv.")] = "json",  # noqa: A002
) -> Response:
    """Results."""
    require_known(request, "format")
    caller = await service.caller(request)
    _, jobs = await _find_batch(service, caller, batch)
    rows = [_row(job) for job in jobs]
    if format == "json":
        return json_response({"results": rows})
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
    service: CurrentService,
    batch: str,
    discard: Annotated[bool, Query(description="Remove the jobs and their plans.")] = False,
) -> Response:
    """End."""
    require_known(request, "discard")
    caller = await service.caller(request)
    _, jobs = await _find_batch(service, caller, batch)
    await service.in_thread(service.queue.stop_batch, batch, discard, service.settings.keep_seconds)
    for job in jobs:
        if job.state is State.RUNNING:
            service.runner.request_stop(job.id, Stop.DISCARD if discard else Stop.KEEP)
    if discard:
        return Response(None, 204)
    return json_response(await _batch_json(service, caller, batch))


async def _find_batch(service: Service, caller: Caller, batch: str) -> tuple[Batch, list[Job]]:
    proper = len(batch) == 32 and batch.isalnum() and batch.isascii()
    found = await service.in_thread(service.queue.batch, batch) if proper else None
    if found is None or not caller.may_see(found.key_id):
        raise ApiError(
            404, "no_such_batch", "there is no batch of this id, or it is over its time or not yours"
        )
    return found, await service.in_thread(service.queue.batch_jobs, batch)


async def _batch_json(service: Service, caller: Caller, batch: str) -> JsonObject:
    found, jobs = await _find_batch(service, caller, batch)
    table: dict[str, JsonObject] = {}
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
        "id": found.id,
        "name": found.name,
        "created": timestamp(found.created),
        "jobs": len(jobs),
        "states": dict(Counter(job.state.value for job in jobs)),
        "done": all(job.over for job in jobs),
        "table": table,
    }


def _row(job: Job) -> JsonObject:
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
