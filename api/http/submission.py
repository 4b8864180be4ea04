"""Jobs from requests: the draft, the idempotency key, and the plan to start from."""

import hashlib
import json
from dataclasses import replace
from typing import Final

from starlette.requests import Request

from memstow.api import tracing
from memstow.api.http.auth import Caller
from memstow.api.http.errors import ApiError
from memstow.api.http.requests import name_in, wants_fresh
from memstow.api.http.responses import JsonObject
from memstow.api.http.service import Service
from memstow.api.operations.encoding import cache_key_of_owner, cache_key_with_hint
from memstow.api.operations.request_types import ValidatedRequest
from memstow.api.store.idempotency import IdempotencyKey
from memstow.api.store.job import Draft
from memstow.api.webhooks import LONGEST_URL, place_of
from memstow.planner.model.errors import InputError
from memstow.planner.reading.printable import printable, shown

CALLBACK: Final = "callback"
IDEMPOTENCY_PARAMETER: Final[JsonObject] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
}


CALLBACK_PARAMETER: Final[JsonObject] = {
    "name": CALLBACK,
    "in": "query",
    "required": False,
    "description": "URL that is told of the end of the job by a signed POST, where the server allows it.",
    "schema": {"type": "string", "maxLength": LONGEST_URL, "format": "uri"},
}


def callback_of(request: Request, service: Service) -> str | None:
    """The URL that is told of the end of the job; InputError where the server sends nothing there."""
    url = request.query_params.get(CALLBACK)
    if url is None:
        return None
    where = f"query.{CALLBACK}"
    try:
        place = place_of(url)
    except ValueError as error:
        raise InputError.single("bad_callback", where, f"{shown(url)}: {error}") from None
    if not service.callbacks.takes(place):
        message = (
            f"this server sends nothing to {printable(place.origin, 200)} at this path: "
            "its operator lists in `callback_allow` where it does"
        )
        raise InputError.single("callback_not_allowed", where, message)
    return url


def idempotency_key_of(request: Request, caller: Caller, body: bytes) -> IdempotencyKey | None:
    """The idempotency key of a request, with a hash of the request."""
    name = request.headers.get("idempotency-key")
    if name is None:
        return None
    if not 0 < len(name) <= 200 or not name.isascii():
        raise ApiError(422, "bad_idempotency_key", "an Idempotency-Key has 1 to 200 ASCII characters")
    hashed = hashlib.sha256(f"{request.url.path}?{request.url.query}\n".encode())
    hashed.update(body)
    return IdempotencyKey(caller.key_id or "", name, hashed.hexdigest())


async def find_submitted(service: Service, key: IdempotencyKey | None) -> str | None:
    """The job or batch of the same request sent before. Asked first: its `hint_job` may be gone by now."""
    return None if key is None else await service.in_thread(service.queue.find_submitted, key)


def require_priority(caller: Caller, priority: int) -> None:
    """Refuse a priority above what the key of the caller was given; a lower one is for everyone."""
    most = caller.quota.max_priority or 0
    if priority > most and caller.key is not None and not caller.admin:
        message = f"{priority} is more than the {most} that this key was given as its `max_priority`"
        raise InputError.single("over_limit", "$.priority", message)


def removed_error() -> ApiError:
    """The error for an Idempotency-Key whose job or batch was removed since."""
    return ApiError(
        410,
        "job_removed",
        "what this Idempotency-Key made was removed; to solve it again, send the request with another",
    )


def draft_for(
    caller: Caller, validated: ValidatedRequest, *, fresh: bool, model: bytes | None = None
) -> Draft:
    """The job for a validated request."""
    require_priority(caller, validated.priority)
    options = json.loads(validated.options)
    return Draft(
        problem=validated.problem,
        digest=validated.digest,
        cache_key=cache_key_of_owner(validated.cache_key, caller.cache_owner),
        buffers=validated.buffers,
        options=validated.options,
        hint=validated.hint,
        model=model,
        plan=validated.plan,
        priority=validated.priority,
        time_limit=None if options["deterministic"] else options["time_limit"],
        key_id=caller.key_id,
        name=validated.name,
        setting=validated.setting,
        term=validated.term,
        fresh=fresh,
        trace=tracing.traceparent(),
    )


async def draft_of(
    service: Service,
    caller: Caller,
    request: Request,
    validated: ValidatedRequest,
    model: bytes | None = None,
) -> Draft:
    """The job for a request, with the plan of its `hint_job` as its hint; it keeps the model."""
    named = replace(validated, name=name_in(request) or validated.name)
    draft = draft_for(caller, named, fresh=wants_fresh(request), model=model)
    draft = replace(draft, callback=callback_of(request, service))
    if validated.hint_job is None:
        return draft
    if validated.hint is not None:
        message = "`options.hint` is a plan to start from as well; give one of the two"
        raise InputError.single("two_hints", "$.hint_job", message)
    # The job may be about another problem: its plan is a hint like any other.
    hint = await _plan_of_job(service, caller, validated.hint_job)
    return replace(draft, hint=hint, cache_key=cache_key_with_hint(draft.cache_key, hint))


async def _plan_of_job(service: Service, caller: Caller, job: object) -> bytes:
    found = None
    if isinstance(job, str) and len(job) == 32:
        found = await service.in_thread(service.queue.get, job)
    if found is None or not caller.may_see(found.key_id):
        raise InputError.single("no_such_job", "$.hint_job", f"there is no job {shown(job)}")
    if found.is_front:
        message = f"the job {shown(job)} is for a front: give a plan of it as `options.hint`"
        raise InputError.single("is_front", "$.hint_job", message)
    if found.is_symbolic:
        message = f"the problem of the job {shown(job)} has symbols: its plan is no plan to start from"
        raise InputError.single("not_for_symbols", "$.hint_job", message)
    plan = await service.in_thread(service.queue.document, found.id, "plan")
    if plan is None:
        raise InputError.single("no_plan_yet", "$.hint_job", f"the job {shown(job)} has no plan yet")
    return plan
