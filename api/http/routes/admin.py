"""Operating servers over HTTP, for callers with an admin key: what waits and runs, pause, drain, kick."""

from dataclasses import asdict
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from memstow.api.http import samples, schemas
from memstow.api.http.audit import note_affected
from memstow.api.http.errors import ApiError
from memstow.api.http.requests import CurrentService, find_job, require_known
from memstow.api.http.responses import JsonObject, job_response, json_response

router = APIRouter(tags=["admin"])

_KEY: Final = "3f2a9c41d07b"
_TIME: Final = "2026-11-20T09:00:00.000Z"
_PAUSED: Final[JsonObject] = {
    "type": "object",
    "required": ["paused"],
    "properties": {"paused": {"type": ["string", "null"], "format": "date-time"}},
}


@router.get(
    "/v1/admin/queue",
    operation_id="get_queue",
    summary="The jobs that wait and run, by key",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The queue; `paused` is since when no job is claimed.",
        {
            "paused": None,
            "queued": 3,
            "running": 1,
            "keys": [{"key": _KEY, "name": "ci", "queued": 3, "running": 1, "oldest": _TIME}],
        },
        {
            "type": "object",
            "required": ["paused", "queued", "running", "keys"],
            "properties": {
                **_PAUSED["properties"],
                "queued": {"type": "integer"},
                "running": {"type": "integer"},
                "keys": {"type": "array", "items": {"type": "object"}},
            },
        },
        "application/json",
        403,
    ),
)
async def get_queue(request: Request, service: CurrentService) -> Response:
    """Queue."""
    require_known(request)
    await service.administrator(request)
    return json_response(asdict(await service.in_thread(service.administration.queue)))


@router.get(
    "/v1/admin/running",
    operation_id="list_running",
    summary="The jobs that run, and where; the longest first",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The jobs.",
        {
            "jobs": [
                {
                    "id": samples.JOB_ID,
                    "key": _KEY,
                    "server": "7b1e8d0c5f0a4e9c8a5d2b6f3c4d1e2f",
                    "attempt": 1,
                    "buffers": 700,
                    "started": _TIME,
                    "name": "first",
                }
            ]
        },
        schemas.list_of("jobs"),
        "application/json",
        403,
    ),
)
async def list_running(request: Request, service: CurrentService) -> Response:
    """Running."""
    require_known(request)
    await service.administrator(request)
    found = await service.in_thread(service.administration.running)
    return json_response({"jobs": [asdict(job) for job in found]})


@router.get(
    "/v1/admin/usage",
    operation_id="get_usage",
    summary="What the keys use: jobs in the store, seconds they ran, bytes",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The keys, who used most first.",
        {
            "keys": [
                {
                    "key": _KEY,
                    "name": "ci",
                    "jobs": 12,
                    "seconds": 61.2,
                    "bytes": 48213,
                    "last_use": _TIME,
                }
            ]
        },
        schemas.list_of("keys"),
        "application/json",
        403,
    ),
)
async def get_usage(request: Request, service: CurrentService) -> Response:
    """Usage."""
    require_known(request)
    await service.administrator(request)
    found = await service.in_thread(service.administration.usage)
    return json_response({"keys": [asdict(key) for key in found]})


@router.post(
    "/v1/admin/pause",
    operation_id="pause_claims",
    summary="Let no server begin a job; jobs are still accepted, and those that run go on",
    response_class=Response,
    responses=schemas.answers(200, "Since when.", {"paused": _TIME}, _PAUSED, "application/json", 403),
)
async def pause(request: Request, service: CurrentService) -> Response:
    """Pause."""
    require_known(request)
    await service.administrator(request)
    return json_response({"paused": await service.in_thread(service.administration.pause)})


@router.post(
    "/v1/admin/resume",
    operation_id="resume_claims",
    summary="Let servers begin jobs again",
    response_class=Response,
    responses=schemas.answers(200, "They do.", {"paused": None}, _PAUSED, "application/json", 403),
)
async def resume(request: Request, service: CurrentService) -> Response:
    """Resume."""
    require_known(request)
    await service.administrator(request)
    await service.in_thread(service.administration.resume)
    service.runner.wake()
    return json_response({"paused": None})


@router.post(
    "/v1/admin/drain",
    operation_id="drain_server",
    summary="Let the server that answers end its jobs and accept none, until it is started again",
    description="As on SIGTERM: running jobs have `grace_seconds`, then they are put back for other servers. "
    "The process stays, and `/readyz` says that it is draining.",
    response_class=Response,
    responses=schemas.answers(
        200,
        "It is draining.",
        {"server": "7b1e8d0c5f0a4e9c8a5d2b6f3c4d1e2f", "draining": True, "running": 1},
        {"type": "object", "required": ["server", "draining", "running"]},
        "application/json",
        403,
    ),
)
async def drain(request: Request, service: CurrentService) -> Response:
    """Drain."""
    require_known(request)
    await service.administrator(request)
    request.app.state.drain.set()
    server = {"server": service.runner.name, "draining": True, "running": service.runner.running()}
    return json_response(server)


@router.post(
    "/v1/admin/jobs/{job}/kick",
    operation_id="kick_job",
    summary="Take a running job from its server and put it back into the queue, with its best plan",
    response_class=Response,
    responses=schemas.answers(
        200, "The job.", samples.JOB, schemas.ref("Job"), "application/json", 403, 404, 409
    ),
)
async def kick(request: Request, service: CurrentService, job: str) -> Response:
    """Kick."""
    require_known(request)
    caller = await service.administrator(request)
    found = await find_job(service, caller, job)
    note_affected(request.scope, job=found.id)
    keep_seconds = service.settings.keep_seconds
    if not await service.in_thread(service.administration.kick, found.id, keep_seconds):
        raise ApiError(409, "not_running", f"the job is {found.state.value}: only one that runs is kicked")
    service.runner.wake()
    now = await service.in_thread(service.queue.get, found.id)
    return job_response(now or found)
