"""Jobs from requests, and plans from jobs.

First the header `Prefer` (RFC 7240), by which a request waits for its job or not; then the draft, the
idempotency key and the plan to start from; then what a request is answered that waits for its job, or asks
for the plan of one.
"""

import asyncio
import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from memstow.api import tracing
from memstow.api.http.callers import Caller
from memstow.api.http.errors import ApiError, without_plan
from memstow.api.http.operation import Call
from memstow.api.http.requests import name_in, wants_fresh
from memstow.api.http.responses import (
    JsonObject,
    PlanBody,
    job_path,
    job_response,
    matching_tag,
    plan_body,
)
from memstow.api.http.service import Service
from memstow.api.operations import plan_forms
from memstow.api.operations.encoding import cache_key_of_owner, cache_key_with_hint, plan_from_bytes
from memstow.api.operations.operations import READ, REWRITE_PLAN, WRITE_SYMBOLIC_PLAN
from memstow.api.operations.request_types import (
    BodyForm,
    Document,
    ReadRequest,
    RewritePlanRequest,
    ValidatedRequest,
    WriteSymbolicPlanRequest,
)
from memstow.api.store.job_records import IdempotencyKey
from memstow.api.store.tables import Draft, Job, State
from memstow.api.webhooks import LONGEST_URL, place_of
from memstow.planner.model import PLANNED
from memstow.planner.model.errors import InputError
from memstow.planner.model.printable import printable, shown

_ASYNC: Final = "respond-async"
_WAIT: Final = re.compile(r'wait\s*=\s*"?(\d{1,9})"?')


@dataclass(frozen=True, slots=True)
class Preferences:
    """The preferences of a request that are heeded; unknown ones are ignored, as the RFC says."""

    respond_async: bool = False
    wait: int | None = None
    """Seconds."""

    @property
    def at_once(self) -> bool:
        """Whether the client wants a job without any attempt before."""
        return self.respond_async and self.wait is None

    @property
    def applied(self) -> str | None:
        """The value of `Preference-Applied`."""
        wait = [] if self.wait is None else [f"wait={self.wait}"]
        return ", ".join([_ASYNC] * self.respond_async + wait) or None

    def seconds_to_wait(self, time_limit: float, most: float) -> float | None:
        """Seconds to wait for a job with this time limit; None: the response is the job, at once."""
        if self.wait is not None:
            return min(float(self.wait), most)
        return None if self.respond_async or time_limit > most else most


_NO_PREFERENCES: Final = Preferences()


def preferences_of(request: Request) -> Preferences:
    """The preferences of a request."""
    if "prefer" not in request.headers:
        return _NO_PREFERENCES
    tokens = [
        token.partition(";")[0].strip().lower()
        for line in request.headers.getlist("prefer")
        for token in line.split(",")
    ]
    waits = [int(match.group(1)) for token in tokens if (match := _WAIT.fullmatch(token))]
    # Of a preference given twice the first counts.
    return Preferences(_ASYNC in tokens, waits[0] if waits else None)


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


async def draft_of(call: Call, validated: ValidatedRequest, model: bytes | None = None) -> Draft:
    """The job for a request, with the plan of its `hint_job` as its hint; it keeps the model."""
    request, caller = call.request, call.caller
    named = replace(validated, name=name_in(request) or validated.name)
    draft = draft_for(caller, named, fresh=wants_fresh(request), model=model)
    draft = replace(draft, callback=callback_of(request, call.service))
    if validated.hint_job is None:
        return draft
    if validated.hint is not None:
        message = "`options.hint` is a plan to start from as well; give one of the two"
        raise InputError.single("two_hints", "$.hint_job", message)
    # The job may be about another problem: its plan is a hint like any other.
    hint = await _plan_of_hint_job(call.service, caller, validated.hint_job)
    return replace(draft, hint=hint, cache_key=cache_key_with_hint(draft.cache_key, hint))


async def _plan_of_hint_job(service: Service, caller: Caller, job: object) -> bytes:
    hint_job = None
    if isinstance(job, str) and len(job) == 32:
        hint_job = await service.in_thread(service.queue.get, job)
    if hint_job is None or not caller.may_see(hint_job.key_id):
        raise InputError.single("no_such_job", "$.hint_job", f"there is no job {shown(job)}")
    if hint_job.is_front:
        message = f"the job {shown(job)} is for a front: give a plan of it as `options.hint`"
        raise InputError.single("is_front", "$.hint_job", message)
    if hint_job.is_symbolic:
        message = f"the problem of the job {shown(job)} has symbols: its plan is no plan to start from"
        raise InputError.single("not_for_symbols", "$.hint_job", message)
    plan = await service.in_thread(service.queue.document, hint_job.id, "plan")
    if plan is None:
        raise InputError.single("no_plan_yet", "$.hint_job", f"the job {shown(job)} has no plan yet")
    return plan


async def submit_job(call: Call, body: bytes, form: BodyForm) -> Response:
    """Put what the body asks for into the queue; the same request sent again finds its job there."""
    service, caller = call.service, call.caller
    key = await service.in_thread(idempotency_key_of, call.request, caller, body)
    earlier = await find_submitted(service, key)
    if earlier is not None:
        job = earlier
    else:
        read = ReadRequest(body=body, form=form, limits=service.limits_of(caller))
        validated = await service.read(call.request, READ, read, len(body), call.share)
        draft = await draft_of(call, validated, body if form.rewrites_model else None)
        job, _ = await service.in_thread(service.queue.submit, draft, key)
        service.runner.wake()
    call.note(job=job)
    submitted = await service.in_thread(service.queue.get, job)
    if submitted is None:
        raise removed_error()
    return job_response(submitted, 202, {"Location": job_path(job)})


_POLL_SECONDS: Final = 0.5
FINAL: Final = "Memstow-Final"


def nothing_yet(job: Job, what: str, part: str) -> ApiError:
    """The error for the plan or the front of a job that has none: not yet, or not at all."""
    if job.error is not None:
        return ApiError(409, "job_failed", job.error)
    state = f"the job is {job.state.value}"
    if job.over:
        return ApiError(409, "job_cancelled", f"{state}, and ended without a {part}")
    message = f"{state} and has no {part if part == what else f'{part}s'} yet"
    return ApiError(409, f"no_{what}_yet", message, headers={"Retry-After": "1"})


async def current_version(
    call: Call,
    job: Job,
    tag: str,
    written: Callable[[], Awaitable[tuple[bytes, str]]],
    more: Mapping[str, str] | None = None,
) -> Response:
    """What a job has now, as it is `written` with its media type; 304 where the client has it already."""
    headers = {
        "ETag": tag,
        "Cache-Control": "private, no-cache",
        **(more or {}),
        FINAL: "true" if job.over else "false",
    }
    wanted = ", ".join(call.request.headers.getlist("if-none-match"))
    held = matching_tag(wanted, tag)
    # Who names the tag has had an answer; `*` names none, and only what can be written is there.
    if held is None or wanted.strip() == "*":
        body, media_type = await written()
        if held is None:
            return Response(body, 200, headers, media_type)
    return Response(None, 304, headers | {"ETag": held})


class JobPlan:
    """A request for a plan that becomes a job."""

    def __init__(self, call: Call, to: str, preferences: Preferences, model: bytes | None) -> None:
        self._call = call
        self._service = call.service
        self._request = call.request
        self._to = to
        self._preferences = preferences
        self._model = model  # kept with the job, to be written again

    async def response(self, body: bytes, validated: ValidatedRequest) -> Response:
        """Submit the job, wait for it, and respond: with its plan, the best plan so far, or the job."""
        service, request = self._service, self._request
        draft = await draft_of(self._call, validated, self._model)
        key = await service.in_thread(idempotency_key_of, request, self._call.caller, body)
        job, is_new = await service.in_thread(service.queue.submit, draft, key)
        self._call.note(job=job)
        service.runner.wake()
        if not is_new and await service.in_thread(service.queue.get, job) is None:
            raise removed_error()
        options = json.loads(draft.options)
        most = service.settings.sync_seconds
        seconds = self._preferences.seconds_to_wait(options["time_limit"], most)
        if seconds is None:
            if self._may_be_job:
                return self._accepted(await self._record(job))
            seconds = most
        if not await self._wait(job, seconds) and await request.is_disconnected():
            if is_new and key is None:
                # Nobody else knows of the job.
                await service.in_thread(service.queue.stop, job, True, 0.0)
            raise ApiError(400, "client_gone", "the client went away")
        record = await self._record(job)
        return await self._final(record) if record.over else await self._unfinished(record, options)

    async def _wait(self, job: str, seconds: float) -> bool:
        """Wait for the end of a job; False when the time is over or the client is gone."""
        over = asyncio.ensure_future(self._service.hub.wait_until_over(job, seconds))
        try:
            while True:
                done, _ = await asyncio.wait({over}, timeout=_POLL_SECONDS)
                if done:
                    return over.result()
                if await self._request.is_disconnected():
                    return False
        finally:
            over.cancel()

    async def _record(self, job: str) -> Job:
        record = await self._service.in_thread(self._service.queue.get, job)
        if record is None:
            # Removed in the meantime.
            raise _cancelled()
        return record

    async def _final(self, job: Job) -> Response:
        """The response to the end of the job."""
        if job.state is State.CANCELLED:
            raise _cancelled()
        if job.state is State.FAILED:
            raise error_of_job(job.error or "")
        plan = await plan_of_job(self._call, job, self._to)
        if plan is None:
            raise ApiError(409, "no_plan", "the job of this request has no plan")
        return self._with_plan(job, plan, "true")

    async def _unfinished(self, job: Job, options: dict[str, object]) -> Response:
        """The response when the time to wait is over: the best plan so far, or the job.

        A deterministic run promises the same plan each time, and plans on the way depend on the time.
        """
        plan = None
        if self._takes_best_so_far and not options["deterministic"]:
            plan = await plan_of_job(self._call, job, self._to, planned=True)
        if plan is not None:
            return self._with_plan(job, plan, "false")
        if self._may_be_job:
            return self._accepted(job)
        message = "the plan is not ready; its job goes on: send the same request again, or wait for the job"
        raise ApiError(503, "plan_not_ready", message, headers=self._headers(job, {"Retry-After": "1"}))

    @property
    def _is_document(self) -> bool:
        """Whether the plan is read by somebody who can tell it from a job."""
        return self._to in ("json", plan_forms.PAGE)

    @property
    def _may_be_job(self) -> bool:
        """Whether the response may be a job: who wants source code would compile it."""
        return self._is_document or self._preferences.respond_async

    @property
    def _takes_best_so_far(self) -> bool:
        """Whether the response may be a plan that is not final: a build would keep it for good."""
        if self._preferences.respond_async:
            return False
        return self._is_document or self._preferences.wait is not None

    def _with_plan(self, job: Job, plan: PlanBody, final: str) -> Response:
        return plan.response("miss", self._headers(job, {FINAL: final}))

    def _accepted(self, job: Job) -> Response:
        """The response 202 with the job."""
        return job_response(job, 202, self._headers(job, {"Retry-After": "1"}))

    def _headers(self, job: Job, more: dict[str, str]) -> dict[str, str]:
        applied = self._preferences.applied
        preferred = {} if applied is None else {"Preference-Applied": applied}
        return {"Location": job_path(job.id), **preferred, **more}


async def plan_of_job(call: Call, record: Job, to: str, *, planned: bool = False) -> PlanBody | None:
    """The plan of a job in a format; a result without placements is none where `planned`."""
    service = call.service
    if record.is_symbolic:
        plan_forms.require_symbolic(to)
    plan = await service.document(call.request, record.id, "plan")
    if plan is None or (planned and not await service.in_thread(_is_planned, plan, record.is_symbolic)):
        return None
    return await plan_in_form(call, record, plan, to)


async def plan_in_form(call: Call, record: Job, plan: bytes, to: str) -> PlanBody:
    """This plan of a job in a format; without placements it is JSON, and an ApiError in all other formats."""
    service, request, job = call.service, call.request, record.id
    if to == "json":
        return await service.in_thread(plan_body, plan, "json")
    problem = await service.document(request, job, "problem") or b""
    if record.is_symbolic:
        write = WriteSymbolicPlanRequest(problem=problem, plan=plan, to=to)
        size = len(plan) + len(problem)
        document = await service.perform(WRITE_SYMBOLIC_PLAN, write, size, call.share)
        return await service.in_thread(_body_in_form, document)
    model = await _model_of_job(service, request, job) if to.partition("?")[0] == plan_forms.MODEL else None
    rewrite = RewritePlanRequest(problem=problem, plan=plan, to=to, model=model)
    written = await service.perform(REWRITE_PLAN, rewrite, len(plan) + len(problem), call.share)
    return await service.in_thread(_body_in_form, written)


def _body_in_form(written: Document) -> PlanBody:
    """The body of a plan in another form than JSON; ApiError where there is no plan."""
    if written.format == "json":
        raise without_plan(written.body)
    return plan_body(written.body, written.format)


async def _model_of_job(service: Service, request: Request, job: str) -> bytes:
    model = await service.document(request, job, "model")
    if model is None:
        message = (
            "the job keeps no model: its plan can be had as one if the body was a TensorFlow Lite model, and "
            "was sent with output_format=tflite"
        )
        raise ApiError(409, "no_model", message)
    return model


def _is_planned(plan: bytes, symbolic: bool) -> bool:
    if symbolic:
        return json.loads(plan)["status"] in {entry.value for entry in PLANNED}
    return plan_from_bytes(plan).status in PLANNED


def _cancelled() -> ApiError:
    return ApiError(409, "job_cancelled", "the job of this request was cancelled")


def error_of_job(error: str) -> ApiError:
    """The error of a failed job, for the client that waits for its plan."""
    code, _, message = error.partition(": ")
    match code:
        case "declined":
            return ApiError(422, code, message)
        case "out_of_memory":
            return ApiError(413, code, message)
        case "child_lost" | "stuck":
            return ApiError(500, code, message)
    return ApiError(422, "invalid_request", error)
