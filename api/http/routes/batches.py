"""Batches: many problems with many settings, each pair of them a job; their tables and results."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from memstow.api.http import samples, schemas
from memstow.api.http.errors import ApiError
from memstow.api.http.operation import Call, operation
from memstow.api.http.responses import JsonObject, json_response
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


@operation(
    router,
    "POST /v1/batches",
    "submit_batch",
    "Many problems with many settings",
    schemas.answers("The batch.", _EXAMPLE, _SCHEMA, 400, 410, 415, 507, status=202),
    description="All of its jobs are put into the queue, or none. Each is solved anew, so that they can be "
    "compared.",
    makes_work=True,
    takes_json=True,
    parameters=[IDEMPOTENCY_PARAMETER],
    body=schemas.enveloped(
        {
            "name": _NAME,
            "priority": schemas.PRIORITY,
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
async def submit_batch(call: Call) -> Response:
    """Submit."""
    service, body = call.service, await call.body()
    key = await service.in_thread(idempotency_key_of, call.request, call.caller, body)
    batch = await find_submitted(service, key)
    if batch is None:
        batch = await _submit(call, body, key)
    elif await service.in_thread(service.queue.batch, batch) is None:
        raise removed_error()
    call.note(batch=batch)
    return await _batch_response(call, batch, is_new=True)


async def _submit(call: Call, body: bytes, key: IdempotencyKey | None) -> str:
    service, caller = call.service, call.caller
    read = ReadBatchRequest(body=body, limits=service.limits_of(caller))
    validated = await service.read(call.request, READ_BATCH, read, len(body), call.share)
    require_priority(caller, validated.priority)
    jobs = len(validated.problems) * len(validated.settings)
    await service.in_thread(service.queue.require_room, caller.key_id, jobs)

    def drafts_of_all() -> list[Draft]:
        return [draft_for(caller, job, fresh=True) for job in jobs_of(validated)]

    # A thousand jobs take longer than other requests should wait.
    drafts = await service.compute(drafts_of_all, call.share)
    batch, _ = await service.in_thread(service.queue.submit_batch, caller.key_id, validated.name, drafts, key)
    service.runner.wake()
    return batch


@operation(
    router,
    "GET /v1/batches/{batch}",
    "get_batch",
    "How far a batch is, and its table",
    schemas.answers("The batch.", _EXAMPLE, _SCHEMA, 404),
    role=Role.READ,
)
async def get_batch(call: Call, batch: str) -> Response:
    """Look."""
    return await _batch_response(call, batch)


@operation(
    router,
    "GET /v1/batches/{batch}/results",
    "get_batch_results",
    "The results of a batch, a job a line",
    schemas.answers(
        "The results.",
        {"results": [_RESULT]},
        schemas.list_of("results", _ROW),
        404,
        as_text=f"{','.join(COLUMNS)}\nfirst,quick,{samples.JOB_ID},done,optimal,12288,12288,12288,0.0,exact,0.1,\n",
    ),
    role=Role.READ,
)
async def get_results(
    call: Call,
    batch: str,
    format: Annotated[Literal["json", "csv"], Query(description="json or csv.")] = "json",  # noqa: A002
) -> Response:
    """Results."""
    _, jobs = await _find_batch(call, batch)

    def written() -> Response:
        if format == "json":
            return json_response({"results": results(jobs)})
        return Response(results_csv(jobs), media_type="text/csv")

    return await call.service.compute(written, call.share)


@operation(
    router,
    "DELETE /v1/batches/{batch}",
    "end_batch",
    "Stop all jobs of a batch and keep their best plans, or remove all of it",
    schemas.answers("The batch as it is now.", _EXAMPLE, _SCHEMA, 404, also=schemas.REMOVED),
)
async def end_batch(
    call: Call,
    batch: str,
    discard: Annotated[bool, Query(description="Remove the jobs and their plans.")] = False,
) -> Response:
    """End."""
    service = call.service
    _, jobs = await _find_batch(call, batch)
    call.note(batch=batch)
    await service.in_thread(service.queue.stop_batch, batch, discard, service.settings.keep_seconds)
    for job in jobs:
        if job.state is State.RUNNING:
            service.runner.request_stop(job.id, Stop.DISCARD if discard else Stop.KEEP)
    return Response(None, 204) if discard else await _batch_response(call, batch)


async def _find_batch(call: Call, batch: str) -> tuple[Batch, list[Job]]:
    queue = call.service.queue
    proper = len(batch) == 32 and batch.isalnum() and batch.isascii()
    known = await call.service.in_thread(queue.batch, batch) if proper else None
    if known is None or not call.caller.may_see(known.key_id):
        raise ApiError(
            404, "no_such_batch", "there is no batch of this id, or it is over its time or not yours"
        )
    return known, await call.service.in_thread(queue.batch_jobs, batch)


async def _batch_response(call: Call, batch: str, *, is_new: bool = False) -> Response:
    known, jobs = await _find_batch(call, batch)
    status, headers = (202, {"Location": f"/v1/batches/{batch}"}) if is_new else (200, None)
    return await call.service.compute(
        lambda: json_response(batch_document(known, jobs), status, headers), call.share
    )
