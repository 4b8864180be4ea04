"""Keys over HTTP, for callers with an admin key: create, list, change, rotate, revoke."""

from typing import Final, TypeVar

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import Response

from memstow.api.http import schemas
from memstow.api.http.audit import note_affected
from memstow.api.http.bodies import read_body
from memstow.api.http.errors import ApiError
from memstow.api.http.key_bodies import ChangedKey, NewKey, Rotation, read_key_body
from memstow.api.http.requests import CurrentService, require_json, require_known
from memstow.api.http.responses import JsonObject, json_response
from memstow.api.http.service import Service
from memstow.api.operations.body_parts import span
from memstow.api.store.database import now
from memstow.api.store.job import timestamp
from memstow.api.store.keys import Key, Role

router = APIRouter(tags=["keys"])

_Body = TypeVar("_Body", bound=BaseModel)

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
_TIME: Final[JsonObject] = {"type": ["string", "null"], "format": "date-time"}
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
        "used": _TIME,
        "expires": _TIME,
        "revoked": _TIME,
        "previous_until": _TIME,
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


@router.post(
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


@router.get(
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


@router.patch(
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


@router.post(
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


@router.delete(
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
