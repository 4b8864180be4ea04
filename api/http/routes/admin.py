"""For callers with an admin key: keys, and what servers do.

Keys: create, list, change, rotate, revoke. Servers: what waits and runs, pause, drain, kick.
"""

from dataclasses import asdict
from typing import Annotated, Final, TypeVar, cast

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails
from starlette.responses import Response

from memstow.api.http import samples, schemas
from memstow.api.http.bodies import read_body
from memstow.api.http.errors import ApiError
from memstow.api.http.logs import note_affected
from memstow.api.http.requests import CurrentService, find_job, require_json, require_known
from memstow.api.http.responses import JsonObject, job_response, json_response
from memstow.api.http.service import Service
from memstow.api.operations.batch import checked_name
from memstow.api.operations.body import LONGEST_NAME
from memstow.api.operations.body_parts import json_value, moment, span
from memstow.api.operations.request_types import Limits
from memstow.api.store.database import now
from memstow.api.store.keys import Key, KeyChanges, Role
from memstow.api.store.tables import timestamp
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.reading.printable import printable
from memstow.planner.reading.sections import missing_field, of_one_value, unknown_field

_Body = TypeVar("_Body", bound=BaseModel)
_Limit = Annotated[int | None, Field(ge=0, le=1 << 31 - 1)]


class ChangedKey(BaseModel):
    """What can be set of a key; what is left out stays as it is."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str | None = None
    # In JSON a role is a string.
    role: Annotated[Role | None, Field(strict=False)] = None
    expires: str | None = Field(None, max_length=40)
    max_queued: _Limit = None
    max_running: _Limit = None
    max_stored_bytes: Annotated[int | None, Field(ge=0, le=1 << 50)] = None
    max_priority: Annotated[int | None, Field(ge=0, le=100)] = None

    def changes(self) -> KeyChanges:
        """The values that were given."""
        given = self.model_dump(include=self.model_fields_set - {"reads"})
        if given.get("expires") is not None:
            given["expires"] = moment(given["expires"], "$.expires", now())
        for name in ("name", "role"):
            if name in given and given[name] is None:
                raise InputError.single("wrong_type", f"$.{name}", "null is no value for this")
        if "name" in given:
            given["name"] = printable(checked_name(given["name"], "$.name"), LONGEST_NAME)
        return cast(KeyChanges, given)


class NewKey(ChangedKey):
    """A key that is to be created."""

    name: str
    reads: str | None = Field(None, max_length=32)


class Rotation(BaseModel):
    """How long the secret before works."""

    model_config = ConfigDict(extra="forbid", strict=True)

    overlap: str = Field("0s", max_length=20)


def read_key_body(body: bytes, limits: Limits, kind: type[_Body]) -> _Body:
    """The body of a request; InputError with everything that is wrong."""
    try:
        return kind.model_validate(json_value(body or b"{}", limits))
    except ValidationError as error:
        raise InputError(_issue(entry, kind) for entry in error.errors(include_url=False)) from None


def _issue(error: ErrorDetails, kind: type[BaseModel]) -> Issue:
    path = ".".join(["$", *map(str, error["loc"])])
    name = str(error["loc"][-1]) if error["loc"] else ""
    match error["type"]:
        case "missing":
            return Issue("missing_field", path, missing_field(name))
        case "extra_forbidden":
            return Issue("unknown_field", path, unknown_field(name, kind.model_fields))
    return Issue("bad_value", path, of_one_value(error))


keys_router = APIRouter(tags=["keys"])


_ID: Final = "3f2a9c41d07b"
_EXAMPLE: Final[JsonObject] = {
    "id": _ID,
    "name": "ci",
    "role": "solve",
    "reads": None,
    "state": "valid",
    "created": "2026-11-20T09:00:00.000Z",
    "used": None,
    "expires": "2027-02-18T09:00:00.000Z",
    "revoked": None,
    "previous_until": None,
    "max_queued": None,
    "max_running": None,
    "max_stored_bytes": None,
    "max_priority": 10,
}
_OPTIONAL_TIME: Final[JsonObject] = {"type": ["string", "null"], "format": "date-time"}
_LIMIT: Final[JsonObject] = {"type": ["integer", "null"], "minimum": 0}
_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "required": ["id", "name", "role", "state", "created"],
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string"},
        "role": {"type": "string", "enum": [role.value for role in Role]},
        "reads": {"type": ["string", "null"], "description": "The key whose jobs a read key sees."},
        "state": {"type": "string", "enum": ["valid", "expired", "revoked"]},
        "created": {"type": "string", "format": "date-time"},
        "used": _OPTIONAL_TIME,
        "expires": _OPTIONAL_TIME,
        "revoked": _OPTIONAL_TIME,
        "previous_until": _OPTIONAL_TIME,
        "max_queued": _LIMIT,
        "max_running": _LIMIT,
        "max_stored_bytes": _LIMIT,
        "max_priority": _LIMIT,
    },
}
_WITH_TEXT: Final[JsonObject] = {
    **_SCHEMA,
    "required": [*_SCHEMA["required"], "key"],
    "properties": {**_SCHEMA["properties"], "key": {"type": "string", "description": "Shown only here."}},
}

_BODY: Final[JsonObject] = {
    "name": {"type": "string", "minLength": 1, "maxLength": 200},
    "role": _SCHEMA["properties"]["role"],
    "expires": {
        "type": ["string", "null"],
        "description": "A span such as 30d, a date or a time; null: never.",
    },
    "max_queued": _LIMIT,
    "max_running": _LIMIT,
    "max_stored_bytes": _LIMIT,
    "max_priority": {**_LIMIT, "maximum": 100},
}


@keys_router.post(
    "/v1/keys",
    operation_id="create_key",
    summary="Create a key; its text is in this answer only",
    description="Limits that are null are those of the settings. A key with the role `read` sees the jobs of "
    "the key that `reads` names.",
    status_code=201,
    response_class=Response,
    responses=schemas.answers(
        201, "The key.", {**_EXAMPLE, "key": f"msk_{_ID}_..."}, _WITH_TEXT, "application/json", 400, 403, 415
    ),
    openapi_extra=schemas.enveloped(
        {**_BODY, "reads": {"type": ["string", "null"]}},
        ["name"],
        {"name": "ci", "role": "solve", "expires": "90d", "max_priority": 10},
        alone=False,
    ),
)
async def create_key(request: Request, service: CurrentService) -> Response:
    """Create."""
    require_known(request)
    await service.administrator(request)
    require_json(request)
    given = await _given(request, service, NewKey)
    key, text = await service.in_thread(
        service.keys.create, given.name, given.role or Role.SOLVE, given.reads, given.changes()
    )
    service.callers.note_new_key()
    note_affected(request.scope, affected_key=key.id)
    return json_response({**_key_json(key), "key": text}, 201)


@keys_router.get(
    "/v1/keys",
    operation_id="list_keys",
    summary="All keys, revoked ones too, oldest first",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The keys.",
        {"keys": [_EXAMPLE]},
        {"type": "object", "required": ["keys"], "properties": {"keys": {"type": "array", "items": _SCHEMA}}},
        "application/json",
        403,
    ),
)
async def list_keys(request: Request, service: CurrentService) -> Response:
    """List."""
    require_known(request)
    await service.administrator(request)
    found = await service.in_thread(service.keys.list)
    return json_response({"keys": [_key_json(key) for key in found]})


@keys_router.patch(
    "/v1/keys/{key}",
    operation_id="set_key",
    summary="Change the name, the role, the end or the limits of a key",
    response_class=Response,
    responses=schemas.answers(200, "The key.", _EXAMPLE, _SCHEMA, "application/json", 400, 403, 404, 415),
    openapi_extra=schemas.enveloped(_BODY, [], {"max_queued": 500, "expires": None}, alone=False),
)
async def set_key(request: Request, service: CurrentService, key: str) -> Response:
    """Change."""
    require_known(request)
    await service.administrator(request)
    require_json(request)
    found = await _find_key(service, key)
    note_affected(request.scope, affected_key=found.id)
    given = await _given(request, service, ChangedKey)
    if not await service.in_thread(service.keys.change, found.id, given.changes()):
        raise _no_such_key()
    service.callers.note_new_key()
    return json_response(_key_json(await _find_key(service, key)))


@keys_router.post(
    "/v1/keys/{key}/rotate",
    operation_id="rotate_key",
    summary="Give a key a new secret; the one before works for `overlap` more",
    description="The id stays, and with it the jobs and the limits. A key has at most two secrets that work.",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The key, with its new text.",
        {**_EXAMPLE, "key": f"msk_{_ID}_..."},
        _WITH_TEXT,
        "application/json",
        400,
        403,
        404,
        415,
    ),
    openapi_extra=schemas.enveloped(
        {"overlap": {"type": "string", "default": "0s", "description": "A span such as 12h or 7d."}},
        [],
        {"overlap": "7d"},
        alone=False,
    ),
)
async def rotate_key(request: Request, service: CurrentService, key: str) -> Response:
    """Rotate."""
    require_known(request)
    await service.administrator(request)
    require_json(request)
    found = await _find_key(service, key)
    note_affected(request.scope, affected_key=found.id)
    given = await _given(request, service, Rotation)
    overlap = span(given.overlap, "$.overlap")
    text = await service.in_thread(service.keys.rotate, found.id, overlap)
    if text is None:
        raise _no_such_key()
    return json_response({**_key_json(await _find_key(service, key)), "key": text})


@keys_router.delete(
    "/v1/keys/{key}",
    operation_id="revoke_key",
    summary="Revoke a key; its event streams and its jobs end",
    response_class=Response,
    responses=schemas.answers(200, "The key.", _EXAMPLE, _SCHEMA, "application/json", 403, 404),
)
async def revoke_key(request: Request, service: CurrentService, key: str) -> Response:
    """Revoke."""
    require_known(request)
    await service.administrator(request)
    found = await _find_key(service, key)
    note_affected(request.scope, affected_key=found.id)
    if not await service.in_thread(service.keys.revoke, found.id):
        raise _no_such_key()
    await service.end_invalid_keys()
    return json_response(_key_json(await _find_key(service, key)))


async def _given(request: Request, service: Service, kind: type[_Body]) -> _Body:
    return read_key_body(await read_body(request, service.settings), service.limits, kind)


async def _find_key(service: Service, key: str) -> Key:
    proper = len(key) <= 32 and key.isalnum() and key.isascii()
    found = await service.in_thread(service.keys.get, key) if proper else None
    if found is None:
        raise _no_such_key()
    return found


def _no_such_key() -> ApiError:
    return ApiError(404, "no_such_key", "there is no key of this id, or it was revoked or has expired")


def _key_json(key: Key) -> JsonObject:
    valid = key.valid_at(now())
    return {
        "id": key.id,
        "name": key.name,
        "role": key.role.value,
        "reads": key.reads,
        "state": "valid" if valid else "expired" if key.revoked is None else "revoked",
        "created": timestamp(key.created),
        "used": timestamp(key.used),
        "expires": timestamp(key.expires),
        "revoked": timestamp(key.revoked),
        "previous_until": timestamp(key.previous_until),
        "max_queued": key.quota.max_queued,
        "max_running": key.quota.max_running,
        "max_stored_bytes": key.quota.max_stored_bytes,
        "max_priority": key.quota.max_priority,
    }


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
