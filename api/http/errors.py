"""Error responses: application/problem+json, with the codes of the command line."""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match

from memstow.api import tracing
from memstow.api.store.database import DiskFullError, StoreError
from memstow.api.store.job_records import KeyReusedError
from memstow.api.store.keys import KeyQuotaError, QueueFullError, StoreFullError
from memstow.api.workers.executor import ChildError
from memstow.planner.model import Status
from memstow.planner.model.errors import DeclinedError, InputError, Issue, MemstowError, RefusedPlanError
from memstow.planner.model.printable import printable
from memstow.planner.reading.sections import of_one_value

MEDIA_TYPE: Final = "application/problem+json"
TYPE: Final = "urn:memstow:problem:"
RETRY_SECONDS: Final = 1
# Where the id of a request is in its scope.
REQUEST_ID: Final = "memstow.request_id"
# Where a scope says that the request is HEAD, which is handled like GET.
IS_HEAD: Final = "memstow.is_head"

# Of more issues than this only the number is told.
_LISTED: Final = 100

_AS_JSON: Final = "; without `output_format` the answer is JSON, and has all that is known"

log = structlog.get_logger("memstow.http")

# Codes of bodies that cannot be read at all.
_UNREADABLE: Final = frozenset(
    {"malformed_json", "not_utf8", "empty", "too_deep", "not_finite", "integer_too_long", "malformed_csv"}
)


class ApiError(Exception):
    """An error response: status, code and detail."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        issues: tuple[Issue, ...] = (),
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = dict(headers or {})
        self.issues = issues


class NoMoreEventsError(Exception):
    """The caller has all events of a job already. Raised before the stream begins: the response is 204."""


_DEFECT: Final = ApiError(500, "defect", "a defect of memstow; please report it with the id of this request")


def error_response(error: ApiError, request_id: str | None) -> Response:
    """An error as a problem document."""
    document: dict[str, object] = {
        "type": f"{TYPE}{error.code}",
        "title": HTTPStatus(error.status).phrase,
        "status": error.status,
        "detail": error.detail,
        "code": error.code,
    }
    if request_id is not None:
        document["instance"] = f"urn:memstow:request:{request_id}"
    trace = tracing.trace_id()
    if trace is not None:
        document["trace"] = trace
    if error.issues:
        document["errors"] = [
            {"code": issue.code, "path": issue.path, "message": issue.message}
            for issue in error.issues[:_LISTED]
        ]
    if len(error.issues) > _LISTED:
        document["error_count"] = len(error.issues)
    return Response(json.dumps(document), error.status, error.headers, MEDIA_TYPE)


def without_plan(answer: bytes) -> ApiError:
    """The error in place of an answer that has no plan, where one in a form of its own is asked for.

    Who asks for source code sees statuses: a document in its place would be compiled.
    """
    document = json.loads(answer)
    if document["status"] == Status.INFEASIBLE:
        why = (document.get("explanation") or {}).get("message")
        detail = "there is no plan" + ("" if why is None else f": {printable(why, 1000)}")
        return ApiError(422, "infeasible", f"{detail}{_AS_JSON}")
    detail = "no plan was found within the limits of the request, nor a proof that there is none"
    return ApiError(422, "no_plan_found", f"{detail}: raise `time_limit` or `work_limit`{_AS_JSON}")


def api_error_of(error: Exception) -> ApiError:
    """The error response for an exception."""
    match error:
        case ApiError():
            return error
        case InputError():
            return _from_input_error(error)
        case RequestValidationError():
            issues = tuple(_parameter_issue(entry) for entry in error.errors())
            return ApiError(422, "invalid_request", _detail(issues), issues=issues)
        case DiskFullError():
            return ApiError(
                507,
                "disk_full",
                "the disk of the store has no room to write, not even to remove a job; nothing that was "
                "stored is lost: make room on the disk, then try again",
                headers={"Retry-After": "60"},
            )
        case StoreError():
            return ApiError(
                503,
                "store_unavailable",
                "the store does not answer; nothing was lost, try again",
                headers={"Retry-After": str(RETRY_SECONDS)},
            )
        case QueueFullError():
            return ApiError(
                429,
                "queue_full",
                "as many jobs wait as the setting `max_queued` allows; try again later",
                headers={"Retry-After": "5"},
            )
        case KeyQuotaError():
            return _quota_error(error)
        case StoreFullError():
            return ApiError(
                507,
                "store_full",
                "the jobs in the store take as many bytes as the setting `max_stored_bytes` allows; remove "
                "finished jobs (DELETE with ?discard=true) or try again later",
                headers={"Retry-After": "60"},
            )
        case KeyReusedError():
            return ApiError(
                422, "idempotency_key_reused", "this Idempotency-Key came with another request before"
            )
        case ChildError(code="declined"):
            return ApiError(422, "declined", str(error))
        case ChildError(code="defect"):
            return _DEFECT
        case ChildError(code="out_of_memory"):
            return ApiError(413, "out_of_memory", str(error))
        case ChildError():
            return ApiError(
                503,
                error.code,
                "the process that worked on this came to an end; try again",
                headers={"Retry-After": str(RETRY_SECONDS)},
            )
        case DeclinedError():
            return ApiError(422, "declined", str(error))
        case RefusedPlanError():
            return ApiError(500, "defect", "a plan of ours was refused by the judge; please report it")
        case MemstowError():
            return ApiError(422, "invalid_request", str(error))
        case HTTPException():
            return _from_http_exception(error)
    return _DEFECT


HANDLED: Final = (
    ApiError,
    MemstowError,
    QueueFullError,
    KeyQuotaError,
    StoreFullError,
    KeyReusedError,
    RequestValidationError,
    HTTPException,
    NoMoreEventsError,
)
"""What the functions of routes raise for a response; anything else is a defect."""


def problem_response(request: Request, error: Exception) -> Response:
    """The response to a request that ended with one of `HANDLED`."""
    if isinstance(error, NoMoreEventsError):
        return Response(None, 204)
    response = api_error_of(error)
    if response.status == 500:
        log.error("defect", exc_info=error)
    return error_response(response, request.scope.get(REQUEST_ID))


def install_handlers(app: FastAPI, routes: Sequence[BaseRoute]) -> None:
    """Turn every exception into a problem document; `Allow` lists the methods of all these routes."""

    async def handle(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException) and error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            error.headers = {"Allow": ", ".join(_allowed_methods(request, routes))}
        return problem_response(request, error)

    for kind in HANDLED:
        app.add_exception_handler(kind, handle)


def _allowed_methods(request: Request, routes: Sequence[BaseRoute]) -> list[str]:
    """The methods of a path: of several routes for it, the framework lists those of the first."""
    matching = (route for route in routes if route.matches(request.scope)[0] is not Match.NONE)
    methods = {method for route in matching for method in getattr(route, "methods", None) or ()}
    return sorted(methods or {"GET"})


def _quota_error(error: KeyQuotaError) -> ApiError:
    allowed = f"the {error.limit:,} of `{error.own}` of this key, or of the setting `{error.setting}`,"
    if error.own == "max_queued":
        detail = f"as many jobs of this key would wait as {allowed} allow; try again when some have run"
        return ApiError(429, "key_queue_full", detail, headers={"Retry-After": "5"})
    detail = (
        f"the jobs of this key take more bytes in the store than {allowed} allow; remove finished ones "
        "(DELETE with ?discard=true)"
    )
    return ApiError(429, "key_store_full", detail, headers={"Retry-After": "60"})


def _from_input_error(error: InputError) -> ApiError:
    codes = {issue.code for issue in error.issues}
    whole = all(issue.path == "$" or issue.path.startswith("line ") for issue in error.issues)
    status = 400 if whole and codes <= _UNREADABLE else 422
    code = error.issues[0].code if len(codes) == 1 else "invalid_request"
    return ApiError(status, code, _detail(error.issues), issues=error.issues)


def _from_http_exception(error: HTTPException) -> ApiError:
    headers = dict(error.headers or {})
    match error.status_code:
        case 404:
            return ApiError(404, "not_found", "there is nothing at this path; see /openapi.json")
        case 405:
            allowed = headers.get("Allow", "")
            return ApiError(405, "method_not_allowed", f"this path takes {allowed}", headers=headers)
        case 413:
            return ApiError(413, "body_too_large", "the body is larger than the setting `max_body` allows")
        case 400:
            return ApiError(400, "malformed_request", printable(str(error.detail), 200))
    return ApiError(error.status_code, "http_error", printable(str(error.detail), 200), headers=headers)


def _parameter_issue(error: ErrorDetails) -> Issue:
    where, *rest = error["loc"]
    path = ".".join([str(where), *map(str, rest)])
    code = "missing_parameter" if error["type"] == "missing" else "bad_parameter"
    missing = code == "missing_parameter"
    return Issue(code, path, "the parameter is missing" if missing else of_one_value(error))


def _detail(issues: tuple[Issue, ...]) -> str:
    first = issues[0].message
    return first if len(issues) == 1 else f"{len(issues)} things are wrong with the request; first: {first}"
