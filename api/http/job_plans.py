"""Plans from jobs: what a request is answered that waits for its job, or asks for the plan of one."""

import asyncio
import json
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from memstow.api.http.audit import note_affected
from memstow.api.http.auth import Caller
from memstow.api.http.errors import ApiError, without_plan
from memstow.api.http.preferences import Preferences
from memstow.api.http.responses import PlanBody, job_path, job_response, plan_body
from memstow.api.http.service import Service
from memstow.api.http.shares import share_of
from memstow.api.http.submission import draft_of, idempotency_key_of, removed_error
from memstow.api.operations import plan_forms
from memstow.api.operations.encoding import plan_from_bytes
from memstow.api.operations.operations import REWRITE_PLAN, WRITE_SYMBOLIC_PLAN
from memstow.api.operations.request_types import (
    Document,
    RewritePlanRequest,
    ValidatedRequest,
    WriteSymbolicPlanRequest,
)
from memstow.api.store.job import Job, State
from memstow.planner.model import PLANNED

_POLL_SECONDS: Final = 0.5
FINAL: Final = "Memstow-Final"


class JobPlan:
    """A request for a plan that becomes a job."""

    def __init__(
        self,
        service: Service,
        request: Request,
        caller: Caller,
        to: str,
        preferences: Preferences,
        model: bytes | None,
    ) -> None:
        self._service = service
        self._request = request
        self._caller = caller
        self._to = to
        self._preferences = preferences
        self._model = model  # kept with the job, to be written again

    async def response(self, body: bytes, validated: ValidatedRequest) -> Response:
        """Submit the job, wait for it, and respond: with its plan, the best plan so far, or the job."""
        service, request = self._service, self._request
        draft = await draft_of(service, self._caller, request, validated, self._model)
        key = await service.in_thread(idempotency_key_of, request, self._caller, body)
        job, is_new = await service.in_thread(service.queue.submit, draft, key)
        note_affected(request.scope, job=job)
        service.runner.wake()
        if not is_new and await service.in_thread(service.queue.get, job) is None:
            raise removed_error()
        options = json.loads(draft.options)
        most = service.settings.sync_seconds
        seconds = self._preferences.seconds_to_wait(options["time_limit"], most)
        if seconds is None:
            if self._may_be_job:
                return self._accepted(await self._found(job))
            seconds = most
        if not await self._wait(job, seconds) and await request.is_disconnected():
            if is_new and key is None:
                # Nobody else knows of the job.
                await service.in_thread(service.queue.stop, job, True, 0.0)
            raise ApiError(400, "client_gone", "the client went away")
        found = await self._found(job)
        return await self._final(found) if found.over else await self._unfinished(found, options)

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

    async def _found(self, job: str) -> Job:
        found = await self._service.in_thread(self._service.queue.get, job)
        if found is None:
            # Removed in the meantime.
            raise _cancelled()
        return found

    async def _final(self, job: Job) -> Response:
        """The response to the end of the job."""
        if job.state is State.CANCELLED:
            raise _cancelled()
        if job.state is State.FAILED:
            raise error_of_job(job.error or "")
        plan = await plan_of_job(self._service, self._request, self._caller, job, self._to)
        if plan is None:
            raise ApiError(409, "no_plan", "the job of this request has no plan")
        return self._with_plan(job, plan, "true")

    async def _unfinished(self, job: Job, options: dict[str, object]) -> Response:
        """The response when the time to wait is over: the best plan so far, or the job.

        A deterministic run promises the same plan each time, and plans on the way depend on the time.
        """
        plan = None
        if self._takes_best_so_far and not options["deterministic"]:
            plan = await plan_of_job(self._service, self._request, self._caller, job, self._to, planned=True)
        if plan is not None:
            return self._with_plan(job, plan, "false")
        if self._may_be_job:
            return self._accepted(job)
        message = "the plan is not ready; its job goes on: send the same request again, or wait for the job"
        raise ApiError(503, "plan_not_ready", message, headers=self._headers(job, {"Retry-After": "1"}))

    @property
    def _may_be_job(self) -> bool:
        """Whether the response may be a job: who wants source code would compile it."""
        return self._to == "json" or self._preferences.respond_async

    @property
    def _takes_best_so_far(self) -> bool:
        """Whether the response may be a plan that is not final: a build would keep it for good."""
        if self._preferences.respond_async:
            return False
        return self._to == "json" or self._preferences.wait is not None

    def _with_plan(self, job: Job, plan: PlanBody, final: str) -> Response:
        return plan.response("miss", self._headers(job, {FINAL: final}))

    def _accepted(self, job: Job) -> Response:
        """The response 202 with the job."""
        return job_response(job, 202, self._headers(job, {"Retry-After": "1"}))

    def _headers(self, job: Job, more: dict[str, str]) -> dict[str, str]:
        applied = self._preferences.applied
        preferred = {} if applied is None else {"Preference-Applied": applied}
        return {"Location": job_path(job.id), **preferred, **more}


async def plan_of_job(
    service: Service, request: Request, caller: Caller, found: Job, to: str, *, planned: bool = False
) -> PlanBody | None:
    """The plan of a job in a format; a result without placements is none where `planned`.

    Else it is JSON where that is the format, and an ApiError in all others.
    """
    if found.is_symbolic:
        plan_forms.require_symbolic(to)
    job = found.id
    plan = await service.document(request, job, "plan")
    if plan is None or (planned and not await service.in_thread(_is_planned, plan, found.is_symbolic)):
        return None
    if to == "json":
        return await service.in_thread(plan_body, plan, "json")
    problem = await service.document(request, job, "problem") or b""
    if found.is_symbolic:
        write = WriteSymbolicPlanRequest(problem=problem, plan=plan, to=to)
        size = len(plan) + len(problem)
        document = await service.perform(WRITE_SYMBOLIC_PLAN, write, size, share_of(caller, request))
        return await service.in_thread(_body_in_form, document)
    model = await _model_of_job(service, request, job) if to.partition("?")[0] == plan_forms.MODEL else None
    rewrite = RewritePlanRequest(problem=problem, plan=plan, to=to, model=model)
    written = await service.perform(
        REWRITE_PLAN, rewrite, len(plan) + len(problem), share_of(caller, request)
    )
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
        return json.loads(plan)["status"] in {it.value for it in PLANNED}
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
