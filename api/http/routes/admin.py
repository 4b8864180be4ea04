"""For callers with an admin key: keys, and what servers do.

Keys: create, list, change, rotate, revoke. Servers: what waits and runs, pause, drain, kick.
"""

from dataclasses import asdict
from functools import partial
from typing import Annotated, Final, TypeVar, cast

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from memstow.api.http import samples, schemas
from memstow.api.http.errors import ApiError
from memstow.api.http.operation import Call, operation
from memstow.api.http.responses import JsonObject, job_json
from memstow.api.http.service import Service
from memstow.api.operations.envelope import LONGEST_NAME, checked_name, json_value, moment, span
from memstow.api.operations.request_types import Limits
from memstow.api.store.database import now
from memstow.api.store.keys import Key, KeyChanges, Role
from memstow.api.store.tables import timestamp
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.printable import printable
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
        changed = self.model_dump(include=self.model_fields_set - {"reads"})
        if changed.get("expires") is not None:
            changed["expires"] = moment(changed["expires"], "$.expires", now())
        for name in ("name", "role"):
            if name in changed and changed[name] is None:
                raise InputError.single("wrong_type", f"$.{name}", "null is no value for this")
        if "name" in changed:
            changed["name"] = printable(checked_name(changed["name"], "$.name"), LONGEST_NAME)
        return cast(KeyChanges, changed)


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
_keys = partial(operation, keys_router, role=Role.ADMIN, needs_key=True)

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
_EXAMPLE_WITH_TEXT: Final[JsonObject] = {**_EXAMPLE, "key": f"msk_{_ID}_..."}
_OPTIONAL_TIME: Final[JsonObject] = {"type": ["string", "null"], "format": "date-time"}
_LIMIT: Final[JsonObject] = {"type": ["integer", "null"], "minimum": 0}
_LIMITS: Final = dict.fromkeys(("max_queued", "max_running", "max_stored_bytes", "max_priority"), _LIMIT)
_ROLE: Final[JsonObject] = {"type": "string", "enum": [role.value for role in Role]}
_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "required": ["id", "name", "role", "state", "created"],
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string"},
        "role": _ROLE,
        "reads": {"type": ["string", "null"], "description": "The key whose jobs a read key sees."},
        "state": {"type": "string", "enum": ["valid", "expired", "revoked"]},
        "created": {"type": "string", "format": "date-time"},
        **dict.fromkeys(("used", "expires", "revoked", "previous_until"), _OPTIONAL_TIME),
        **_LIMITS,
    },
}
_WITH_TEXT: Final[JsonObject] = {
    **_SCHEMA,
    "required": [*_SCHEMA["required"], "key"],
    "properties": {**_SCHEMA["properties"], "key": {"type": "string", "description": "Shown only here."}},
}

_BODY: Final[JsonObject] = {
    "name": {"type": "string", "minLength": 1, "maxLength": 200},
    "role": _ROLE,
    "expires": {
        "type": ["string", "null"],
        "description": "A span such as 30d, a date or a time; null: never.",
    },
    **_LIMITS,
    "max_priority": {**_LIMIT, "maximum": 100},
}


@_keys(
    "POST /v1/keys",
    "create_key",
    "Create a key; its text is in this answer only",
    schemas.answers("The key.", _EXAMPLE_WITH_TEXT, _WITH_TEXT, 400, 403, 415, status=201),
    description="Limits that are null are those of the settings. A key with the role `read` sees the jobs of "
    "the key that `reads` names.",
    takes_json=True,
    body=schemas.enveloped(
        {**_BODY, "reads": {"type": ["string", "null"]}},
        ["name"],
        {"name": "ci", "role": "solve", "expires": "90d", "max_priority": 10},
        alone=False,
    ),
)
async def create_key(call: Call) -> JsonObject:
    """Create."""
    service, new = call.service, await _read(call, NewKey)
    key, text = await service.in_thread(
        service.keys.create, new.name, new.role or Role.SOLVE, new.reads, new.changes()
    )
    service.callers.note_new_key()
    call.note(affected_key=key.id)
    return {**_key_json(key), "key": text}


@_keys(
    "GET /v1/keys",
    "list_keys",
    "All keys, revoked ones too, oldest first",
    schemas.answers("The keys.", {"keys": [_EXAMPLE]}, schemas.list_of("keys", _SCHEMA), 403),
)
async def list_keys(call: Call) -> JsonObject:
    """List."""
    return {"keys": [_key_json(key) for key in await call.service.in_thread(call.service.keys.list)]}


@_keys(
    "PATCH /v1/keys/{key}",
    "set_key",
    "Change the name, the role, the end or the limits of a key",
    schemas.answers("The key.", _EXAMPLE, _SCHEMA, 400, 403, 404, 415),
    takes_json=True,
    body=schemas.enveloped(_BODY, [], {"max_queued": 500, "expires": None}, alone=False),
)
async def set_key(call: Call, key: str) -> JsonObject:
    """Change."""
    service, before = call.service, await _key_to_change(call, key)
    changed = await _read(call, ChangedKey)
    if not await service.in_thread(service.keys.change, before.id, changed.changes()):
        raise _no_such_key()
    service.callers.note_new_key()
    return _key_json(await _find_key(service, key))


@_keys(
    "POST /v1/keys/{key}/rotate",
    "rotate_key",
    "Give a key a new secret; the one before works for `overlap` more",
    schemas.answers("The key, with its new text.", _EXAMPLE_WITH_TEXT, _WITH_TEXT, 400, 403, 404, 415),
    description="The id stays, and with it the jobs and the limits. A key has at most two secrets that work.",
    takes_json=True,
    body=schemas.enveloped(
        {"overlap": {"type": "string", "default": "0s", "description": "A span such as 12h or 7d."}},
        [],
        {"overlap": "7d"},
        alone=False,
    ),
)
async def rotate_key(call: Call, key: str) -> JsonObject:
    """Rotate."""
    service, before = call.service, await _key_to_change(call, key)
    overlap = span((await _read(call, Rotation)).overlap, "$.overlap")
    text = await service.in_thread(service.keys.rotate, before.id, overlap)
    if text is None:
        raise _no_such_key()
    return {**_key_json(await _find_key(service, key)), "key": text}


@_keys(
    "DELETE /v1/keys/{key}",
    "revoke_key",
    "Revoke a key; its event streams and its jobs end",
    schemas.answers("The key.", _EXAMPLE, _SCHEMA, 403, 404),
)
async def revoke_key(call: Call, key: str) -> JsonObject:
    """Revoke."""
    service, before = call.service, await _key_to_change(call, key)
    if not await service.in_thread(service.keys.revoke, before.id):
        raise _no_such_key()
    await service.end_invalid_keys()
    return _key_json(await _find_key(service, key))


async def _read(call: Call, kind: type[_Body]) -> _Body:
    return read_key_body(await call.body(), call.service.limits, kind)


async def _key_to_change(call: Call, key: str) -> Key:
    """The key of this id, noted as one that the request changes."""
    known = await _find_key(call.service, key)
    call.note(affected_key=known.id)
    return known


async def _find_key(service: Service, key: str) -> Key:
    proper = len(key) <= 32 and key.isalnum() and key.isascii()
    known = await service.in_thread(service.keys.get, key) if proper else None
    if known is None:
        raise _no_such_key()
    return known


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
        **{name: getattr(key.quota, name) for name in _LIMITS},
    }


router = APIRouter(tags=["admin"])
_admin = partial(operation, router, role=Role.ADMIN, needs_key=True)

_SERVER: Final = "7b1e8d0c5f0a4e9c8a5d2b6f3c4d1e2f"
_TIME: Final = "2026-11-20T09:00:00.000Z"
_PAUSED: Final[JsonObject] = {
    "type": "object",
    "required": ["paused"],
    "properties": {"paused": {"type": ["string", "null"], "format": "date-time"}},
}


@_admin(
    "GET /v1/admin/queue",
    "get_queue",
    "The jobs that wait and run, by key",
    schemas.answers(
        "The queue; `paused` is since when no job is claimed.",
        {
            "paused": None,
            "queued": 3,
            "running": 1,
            "keys": [{"key": _ID, "name": "ci", "queued": 3, "running": 1, "oldest": _TIME}],
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
        403,
    ),
)
async def get_queue(call: Call) -> JsonObject:
    """Queue."""
    return asdict(await call.service.in_thread(call.service.administration.queue))


@_admin(
    "GET /v1/admin/running",
    "list_running",
    "The jobs that run, and where; the longest first",
    schemas.answers(
        "The jobs.",
        {
            "jobs": [
                {
                    "id": samples.JOB_ID,
                    "key": _ID,
                    "server": _SERVER,
                    "attempt": 1,
                    "buffers": 700,
                    "started": _TIME,
                    "name": "first",
                }
            ]
        },
        schemas.list_of("jobs"),
        403,
    ),
)
async def list_running(call: Call) -> JsonObject:
    """Running."""
    return {"jobs": list(map(asdict, await call.service.in_thread(call.service.administration.running)))}


@_admin(
    "GET /v1/admin/usage",
    "get_usage",
    "What the keys use: jobs in the store, seconds they ran, bytes",
    schemas.answers(
        "The keys, who used most first.",
        {
            "keys": [
                {
                    "key": _ID,
                    "name": "ci",
                    "jobs": 12,
                    "seconds": 61.2,
                    "bytes": 48213,
                    "last_use": _TIME,
                }
            ]
        },
        schemas.list_of("keys"),
        403,
    ),
)
async def get_usage(call: Call) -> JsonObject:
    """Usage."""
    return {"keys": list(map(asdict, await call.service.in_thread(call.service.administration.usage)))}


@_admin(
    "POST /v1/admin/pause",
    "pause_claims",
    "Let no server begin a job; jobs are still accepted, and those that run go on",
    schemas.answers("Since when.", {"paused": _TIME}, _PAUSED, 403),
)
async def pause(call: Call) -> JsonObject:
    """Pause."""
    return {"paused": await call.service.in_thread(call.service.administration.pause)}


@_admin(
    "POST /v1/admin/resume",
    "resume_claims",
    "Let servers begin jobs again",
    schemas.answers("They do.", {"paused": None}, _PAUSED, 403),
)
async def resume(call: Call) -> JsonObject:
    """Resume."""
    await call.service.in_thread(call.service.administration.resume)
    call.service.runner.wake()
    return {"paused": None}


@_admin(
    "POST /v1/admin/drain",
    "drain_server",
    "Let the server that answers end its jobs and accept none, until it is started again",
    schemas.answers(
        "It is draining.",
        {"server": _SERVER, "draining": True, "running": 1},
        {"type": "object", "required": ["server", "draining", "running"]},
        403,
    ),
    description="As on SIGTERM: running jobs have `grace_seconds`, then they are put back for other servers. "
    "The process stays, and `/readyz` says that it is draining.",
)
async def drain(call: Call) -> JsonObject:
    """Drain."""
    call.request.app.state.drain.set()
    runner = call.service.runner
    return {"server": runner.name, "draining": True, "running": runner.running()}


@_admin(
    "POST /v1/admin/jobs/{job}/kick",
    "kick_job",
    "Take a running job from its server and put it back into the queue, with its best plan",
    schemas.answers("The job.", samples.JOB, schemas.ref("Job"), 403, 404, 409),
)
async def kick(call: Call, job: str) -> JsonObject:
    """Kick."""
    service, before = call.service, await call.job(job)
    call.note(job=before.id)
    keep_seconds = service.settings.keep_seconds
    if not await service.in_thread(service.administration.kick, before.id, keep_seconds):
        raise ApiError(409, "not_running", f"the job is {before.state.value}: only one that runs is kicked")
    service.runner.wake()
    after = await service.in_thread(service.queue.get, before.id)
    return job_json(after or before)
