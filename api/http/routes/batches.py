"""Batches: many problems with many settings, each pair of them a job; their tables and results."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from memstow.api.http import samples, schemas
from memstow.api.http.bodies import read_body
from memstow.api.http.callers import Caller
from memstow.api.http.errors import ApiError
from memstow.api.http.fair_threads import share_of
from memstow.api.http.logs import note_affected
from memstow.api.http.requests import CurrentService, require_json, require_known
from memstow.api.http.responses import JsonObject, json_response
from memstow.api.http.service import Service
from memstow.api.http.submission import (
    IDEMPOTENCY_PARAMETER,
    draft_for,
    find_submitted,
    idempotency_key_of,
    removed_error,
    require_priority,
)
from memstow.api.operations.batch import jobs_of
from memstow.api.operations.operations import READ_BATCH
from memstow.api.operations.request_types import ReadBatchRequest
from memstow.api.store.job_records import IdempotencyKey
from memstow.api.store.keys import Role
from memstow.api.store.tables import Batch, Draft, Job, State, Stop, timestamp

_FIGURES: Final = ("state", "status", "value", "peak", "bound", "gap", "solver", "error")
COLUMNS: Final = ("problem", "setting", "job", *_FIGURES[:-1], "seconds", "error")
"""Of the results as CSV."""


def batch_document(batch: Batch, jobs: Sequence[Job]) -> JsonObject:
    """The batch, with the figures of each job by problem and setting."""
    table: dict[str, JsonObject] = {}
    for job in jobs:
        table.setdefault(job.name or "", {})[job.setting or ""] = {"job": job.id, **_figures(job)}
    return {
        "id": batch.id,
        "name": batch.name,
        "created": timestamp(batch.created),
        "jobs": len(jobs),
        "states": dict(Counter(job.state.value for job in jobs)),
        "done": all(job.over for job in jobs),
        "table": table,
    }


def results(jobs: Sequence[Job]) -> list[JsonObject]:
    """A row for each job."""
    return [_row(job) for job in jobs]


def results_csv(jobs: Sequence[Job]) -> bytes:
    """The same as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(results(jobs))
    return text.getvalue().encode()


def _row(job: Job) -> JsonObject:
    took = None if job.started is None or job.finished is None else round(job.finished - job.started, 3)
    return {
        "problem": job.name,
        "setting": job.setting,
        "job": job.id,
        "seconds": took,
        **_figures(job),
    }


def _figures(job: Job) -> JsonObject:
    return {
        "state": job.state.value,
        "status": job.status,
        "value": job.value,
        "peak": job.plan_peak,
        "bound": job.bound,
        "gap": job.gap,
        "solver": job.solver,
        "error": job.error,
    }


router = APIRouter(tags=["batches"])

_EXAMPLE: JsonObject = {
    "id": samples.JOB_ID,
    "name": "nightly",
    "created": "2026-11-20T09:00:00.000Z",
    "jobs": 2,
    "states": {"done": 1, "running": 1},
    "done": False,
    "table": {
        "first": {"quick": {"job": samples.JOB_ID, "state": "done", "status": "optimal", "peak": 12288}}
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
_NAME: JsonObject = {"type": "string", "minLength": 1, "maxLength": 200}
_ROW: JsonObject = {"type": "object", "required": list(COLUMNS)}
_RESULT: JsonObject = {
    **dict.fromkeys(COLUMNS),
    "problem": "first",
    "setting": "quick",
    "job": samples.JOB_ID,
    "state": "done",
    "status": "optimal",
    "value": 12288,
    "peak": 12288,
    "bound": 12288,
    "gap": 0.0,
    "solver": "exact",
    "seconds": 0.1,
}


@router.post(
    "/v1/batches",
    operation_id="submit_batch",
    summary="Many problems with many settings",
    description="All of its jobs are put into the queue, or none. Each is solved anew, so that they can be "
    "compared.",
    status_code=202,
    response_class=Response,
    responses=schemas.answers(202, "The batch.", _EXAMPLE, _SCHEMA, "application/json", 400, 410, 415, 507),
    openapi_extra={"parameters": [IDEMPOTENCY_PARAMETER]}
    | schemas.enveloped(
        {
            "name": _NAME,
            "priority": {"type": "integer", "minimum": -100, "maximum": 100, "default": 0},
            "problems": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "required": ["problem"],
                    "properties": {"name": _NAME, "problem": schemas.problem()},
                    "additionalProperties": False,
                },
            },
            "settings": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "required": ["options"],
                    "properties": {"name": _NAME, "options": schemas.ref("Options")},
                    "additionalProperties": False,
                },
            },
        },
        ["problems"],
        {
            "name": "nightly",
            "problems": [{"name": "first", "problem": samples.PROBLEM}],
            "settings": [
                {"name": "quick", "options": {"time_limit": 1.0}},
                {"name": "greedy", "options": {"solver": "greedy"}},
            ],
        },
        alone=False,
    ),
)
async def submit_batch(request: Request, service: CurrentService) -> Response:
    """Submit."""
    require_known(request)
    caller = await service.caller(request)
    service.require_open()
    require_json(request)
    body = await read_body(request, service.settings)
    key = await service.in_thread(idempotency_key_of, request, caller, body)
    batch = await find_submitted(service, key)
    if batch is None:
        batch = await _submit(request, service, caller, body, key)
    elif await service.in_thread(service.queue.batch, batch) is None:
        raise removed_error()
    note_affected(request.scope, batch=batch)
    return await _batch_response(service, request, caller, batch, is_new=True)


async def _submit(
    request: Request, service: Service, caller: Caller, body: bytes, key: IdempotencyKey | None
) -> str:
    read = ReadBatchRequest(body=body, limits=service.limits_of(caller))
    share = share_of(caller, request)
    validated = await service.read(request, READ_BATCH, read, len(body), share)
    require_priority(caller, validated.priority)
    jobs = len(validated.problems) * len(validated.settings)
    await service.in_thread(service.queue.require_room, caller.key_id, jobs)

    def drafts_of_all() -> list[Draft]:
        return [draft_for(caller, job, fresh=True) for job in jobs_of(validated)]

    # A thousand jobs take longer than other requests should wait.
    drafts = await service.compute(drafts_of_all, share)
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
    require_known(request)
    caller = await service.caller(request, Role.READ)
    return await _batch_response(service, request, caller, batch)


@router.get(
    "/v1/batches/{batch}/results",
    operation_id="get_batch_results",
    summary="The results of a batch, a job a line",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The results.",
        {"results": [_RESULT]},
        {
            "type": "object",
            "required": ["results"],
            "properties": {
                "results": {"type": "array", "items": {"type": "object", "required": list(COLUMNS)}}
            },
        },
        "application/json",
        404,
        as_text=f"{','.join(COLUMNS)}\nfirst,quick,{samples.JOB_ID},done,optimal,12288,12288,12288,0.0,exact,0.1,\n",
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
    caller = await service.caller(request, Role.READ)
    _, jobs = await _find_batch(service, caller, batch)

    def written() -> Response:
        if format == "json":
            return json_response({"results": results(jobs)})
        return Response(results_csv(jobs), media_type="text/csv")

    return await service.compute(written, share_of(caller, request))


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
    note_affected(request.scope, batch=batch)
    await service.in_thread(service.queue.stop_batch, batch, discard, service.settings.keep_seconds)
    for job in jobs:
        if job.state is State.RUNNING:
            service.runner.request_stop(job.id, Stop.DISCARD if discard else Stop.KEEP)
    if discard:
        return Response(None, 204)
    return await _batch_response(service, request, caller, batch)


async def _find_batch(service: Service, caller: Caller, batch: str) -> tuple[Batch, list[Job]]:
    proper = len(batch) == 32 and batch.isalnum() and batch.isascii()
    found = await service.in_thread(service.queue.batch, batch) if proper else None
    if found is None or not caller.may_see(found.key_id):
        raise ApiError(
            404, "no_such_batch", "there is no batch of this id, or it is over its time or not yours"
        )
    return found, await service.in_thread(service.queue.batch_jobs, batch)


async def _batch_response(
    service: Service, request: Request, caller: Caller, batch: str, *, is_new: bool = False
) -> Response:
    found, jobs = await _find_batch(service, caller, batch)
    status, headers = (202, {"Location": f"/v1/batches/{batch}"}) if is_new else (200, None)
    return await service.compute(
        lambda: json_response(batch_document(found, jobs), status, headers), share_of(caller, request)
    )
