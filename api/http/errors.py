"""Every error as one kind of document, application/problem+json, with the codes of the command line."""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match

from memstow.api.store.database import StoreError
from memstow.api.store.queue import FullError, ReusedError
from memstow.api.workers.isolated_run import ChildError
from memstow.planner.model.errors import DeclinedError, InputError, Issue, MemstowError, RefusedPlanError
from memstow.planner.reading.messages import of_one_value
from memstow.planner.reading.printable import printable

MEDIA_TYPE: Final = "application/problem+json"
TYPE: Final = "urn:memstow:problem:"
RETRY_SECONDS: Final = 1

log = structlog.get_logger("memstow.http")

# Codes of defects that lie in the form of the body, not in what it says.
_UNREADABLE: Final = frozenset(
    {"malformed_json", "not_utf8", "empty", "too_deep", "not_finite", "integer_too_long", "malformed_csv"}
)


class ProblemError(Exception):
    """An answer that is an error."""

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


class NothingMoreError(Exception):
    """No error: what a caller has is all there will be. A stream can say so only before it begins."""


_DEFECT: Final = ProblemError(
    500, "defect", "a defect of memstow; please report it with the id of this request"
)


def answer(problem: ProblemError, request_id: str | None) -> Response:
    """The problem as a response."""
    document: dict[str, Any] = {
        "type": f"{TYPE}{problem.code}",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": problem.detail,
        "code": problem.code,
    }
    if request_id is not None:
        document["instance"] = f"urn:memstow:request:{request_id}"
    if problem.issues:
        document["errors"] = [
            {"code": it.code, "path": it.path, "message": it.message} for it in problem.issues
        ]
    return Response(json.dumps(document), problem.status, problem.headers, MEDIA_TYPE)


def problem_of(error: Exception) -> ProblemError:  # noqa: C901  (a table of one line a case)
    """The answer to an exception."""
    match error:
        case ProblemError():
            return error
        case InputError():
            return _of_input(error)
        case RequestValidationError():
            issues = tuple(_of_parameter(it) for it in error.errors())
            return ProblemError(422, "invalid_request", _told(issues), issues=issues)
        case StoreError():
            return ProblemError(
                503,
                "store_unavailable",
                "the store does not answer; nothing was lost, try again",
                headers={"Retry-After": str(RETRY_SECONDS)},
            )
        case FullError():
            return ProblemError(
                429,
                "queue_full",
                "as many jobs wait as the setting `max_queued` allows; try again later",
                headers={"Retry-After": "5"},
            )
        case ReusedError():
            return ProblemError(
                422, "idempotency_key_reused", "this Idempotency-Key came with another request before"
            )
        case ChildError(code="declined"):
            return ProblemError(422, "declined", str(error))
        case ChildError(code="defect"):
            return _DEFECT
        case ChildError(code="out_of_memory"):
            return ProblemError(413, "out_of_memory", str(error))
        case ChildError():
            return ProblemError(
                503,
                error.code,
                "the process that worked on this came to an end; try again",
                headers={"Retry-After": str(RETRY_SECONDS)},
            )
        case DeclinedError():
            return ProblemError(422, "declined", str(error))
        case RefusedPlanError():
            return ProblemError(500, "defect", "a plan of ours was refused by the judge; please report it")
        case MemstowError():
            return ProblemError(422, "invalid_request", str(error))
        case HTTPException():
            return _of_http(error)
    return _DEFECT


def install(app: FastAPI, routes: Sequence[BaseRoute]) -> None:
    """Answer every exception with a problem document; a path takes what any of these routes takes there."""

    async def handle(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException) and error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            error.headers = {"Allow": ", ".join(_taken(request, routes))}
        problem = problem_of(error)
        if problem.status == 500:
            log.error("defect", exc_info=error)
        return answer(problem, request.scope.get("memstow.request_id"))

    async def end(_request: Request, _error: Exception) -> Response:
        return Response(None, 204)

    app.add_exception_handler(NothingMoreError, end)
    for kind in (
        ProblemError,
        MemstowError,
        FullError,
        ReusedError,
        RequestValidationError,
        HTTPException,
    ):
        app.add_exception_handler(kind, handle)


def _taken(request: Request, routes: Sequence[BaseRoute]) -> list[str]:
    """The methods of a path: of several routes the framework names only those of the first."""
    matching = (it for it in routes if it.matches(request.scope)[0] is not Match.NONE)
    methods = {method for route in matching for method in getattr(route, "methods", None) or ()}
    return sorted(methods or {"GET"})


def _of_input(error: InputError) -> ProblemError:
    codes = {issue.code for issue in error.issues}
    whole = all(issue.path == "$" or issue.path.startswith("line ") for issue in error.issues)
    status = 400 if whole and codes <= _UNREADABLE else 422
    code = error.issues[0].code if len(codes) == 1 else "invalid_request"
    return ProblemError(status, code, _told(error.issues), issues=error.issues)


def _of_http(error: HTTPException) -> ProblemError:
    headers = dict(error.headers or {})
    match error.status_code:
        case 404:
            return ProblemError(404, "not_found", "there is nothing at this path; see /openapi.json")
        case 405:
            allowed = headers.get("Allow", "")
            return ProblemError(405, "method_not_allowed", f"this path takes {allowed}", headers=headers)
        case 413:
            return ProblemError(
                413, "body_too_large", "the body is larger than the setting `max_body` allows"
            )
        case 400:
            return ProblemError(400, "malformed_request", printable(str(error.detail), 200))
    return ProblemError(error.status_code, "http_error", printable(str(error.detail), 200), headers=headers)


def _of_parameter(error: ErrorDetails) -> Issue:
    where, *rest = error["loc"]
    path = ".".join([str(where), *map(str, rest)])
    code = "missing_parameter" if error["type"] == "missing" else "bad_parameter"
    missing = code == "missing_parameter"
    return Issue(code, path, "the parameter is missing" if missing else of_one_value(error))


def _told(issues: tuple[Issue, ...]) -> str:
    first = issues[0].message
    return first if len(issues) == 1 else f"{len(issues)} things are wrong with the request; first: {first}"
