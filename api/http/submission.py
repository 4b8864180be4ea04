"""Jobs from requests: the draft, the promise that one request makes one job, and what it starts from."""

import hashlib
from typing import Any, Final

from starlette.requests import Request

from memstow.api.http.auth import Caller
from memstow.api.http.errors import ProblemError
from memstow.api.http.requests import wants_fresh
from memstow.api.http.service import Service
from memstow.api.operations.results import Accepted
from memstow.api.store.job import Draft
from memstow.api.store.queue import Idempotency
from memstow.planner.model.errors import InputError
from memstow.planner.reading.printable import shown

IDEMPOTENCY_PARAMETER: Final[dict[str, Any]] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
}


def promise_of(request: Request, caller: Caller, body: bytes) -> Idempotency | None:
    """The idempotency key of a request, bound to what it says."""
    name = request.headers.get("idempotency-key")
    if name is None:
        return None
    if not 0 < len(name) <= 200 or not name.isascii():
        raise ProblemError(422, "bad_idempotency_key", "an Idempotency-Key has 1 to 200 ASCII characters")
    hashed = hashlib.sha256(f"{request.url.path}?{request.url.query}\n".encode())
    hashed.update(body)
    return Idempotency(caller.key_id or "", name, hashed.hexdigest())


async def made_before(service: Service, promise: Idempotency | None) -> str | None:
    """What this request made when it came before: what it refers to may be gone by now."""
    if promise is None:
        return None
    made: str | None = await service.in_thread(service.queue.promised, promise)
    return made


async def draft_of(service: Service, caller: Caller, request: Request, accepted: Accepted) -> Draft:
    """The job that a request asks for."""
    hint, of_job = accepted.hint, None
    if accepted.hint_job is not None:
        if hint is not None:
            message = "`options.hint` is a plan to start from as well; give one of the two"
            raise InputError.single("two_hints", "$.hint_job", message)
        # A plan of another problem is a hint like any other.
        hint = of_job = await _plan_of_job(service, caller, accepted.hint_job)
    return Draft(
        problem=accepted.problem,
        digest=accepted.digest,
        cache_key=cache_key_with(accepted.cache_key, of_job),
        buffers=accepted.buffers,
        options=accepted.options,
        hint=hint,
        plan=accepted.plan,
        priority=accepted.priority,
        key_id=caller.key_id,
        name=accepted.name,
        term=accepted.term,
        fresh=wants_fresh(request),
    )


def cache_key_with(key: str, hint: bytes | None) -> str:
    """The cache key of a request whose hint came from a job."""
    return key if hint is None else hashlib.sha256(b"%b\n%b" % (key.encode(), hint)).hexdigest()


async def _plan_of_job(service: Service, caller: Caller, job: object) -> bytes:
    found = None
    if isinstance(job, str) and len(job) == 32:
        found = await service.in_thread(service.queue.get, job)
    if found is None or not caller.may_see(found.key_id):
        raise InputError.single("no_such_job", "$.hint_job", f"there is no job {shown(job)}")
    plan: bytes | None = await service.in_thread(service.queue.document, found.id, "plan")
    if plan is None:
        raise InputError.single("no_plan_yet", "$.hint_job", f"the job {shown(job)} has no plan yet")
    return plan
