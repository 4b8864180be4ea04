"""The operations of the HTTP service, each described where it is carried out.

`operation` makes the route and its part of the OpenAPI document of a description, and does what all of them
begin with: it refuses unknown parameters of the query and finds out who the caller is, and whether they may.
"""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin

from fastapi import APIRouter, Request
from fastapi.params import Query
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from memstow.api.http.bodies import read_body
from memstow.api.http.callers import Caller
from memstow.api.http.errors import HANDLED, ApiError, problem_response
from memstow.api.http.fair_threads import share_of
from memstow.api.http.logs import note_affected
from memstow.api.http.requests import HttpRequest, require_json, require_known, service_of
from memstow.api.http.responses import JsonObject, document_response, json_response
from memstow.api.http.schemas import WITHOUT_KEY, Responses
from memstow.api.http.service import Service
from memstow.api.operations.operations import Answer
from memstow.api.operations.request_types import Document
from memstow.api.store.keys import Role
from memstow.api.store.tables import Job

T = TypeVar("T")
NOBODY: Final = Caller(None, None, Role.READ)
"""The caller of an operation that asks nobody who they are."""
Handler = Callable[..., Awaitable[Response | JsonObject]]


@dataclass(frozen=True, slots=True)
class Call:
    """A request that was let in, and who sent it."""

    request: Request
    caller: Caller

    @property
    def service(self) -> Service:
        """The service that it came to."""
        return service_of(self.request)

    @property
    def share(self) -> str:
        """What its work counts under."""
        return share_of(self.caller, self.request)

    def note(self, **affected: str) -> None:
        """Note for the audit log what it changes."""
        note_affected(self.request.scope, **affected)

    async def body(self) -> bytes:
        """Its body, unpacked."""
        return await read_body(self.request, self.service.settings)

    async def job(self, job: str) -> Job:
        """The job of this id; ApiError where the caller may not see it."""
        proper = len(job) == 32 and job.isalnum()
        known = await self.service.in_thread(self.service.queue.get, job) if proper else None
        if known is None or not self.caller.may_see(known.key_id):
            message = "there is no job of this id, or it is over its time or not yours"
            raise ApiError(404, "no_such_job", message)
        return known

    async def perform(self, operation: Answer[T, Document], request: T, size: int) -> Response:
        """Carry out an operation on a body of this size; its document is the response."""
        return document_response(await self.service.perform(operation, request, size, self.share))


class PathRoute(APIRoute):
    """The route of a function that takes parts of the path alone.

    For other functions FastAPI looks with each request for what they depend on, which for a small problem is
    a tenth of the time.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **described: Any) -> None:
        super().__init__(path, endpoint, **described)
        self.app = self._serve

    async def answer(self, request: Request) -> Response:
        """The response of the function."""
        response: Response = await self.endpoint(request=request, **request.path_params)
        return response

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        # What goes wrong is handled around all routes.
        response = await self.answer(HttpRequest(scope, receive, send))
        await response(scope, receive, send)


class WholePaths:
    """The layer that serves the paths that name one `PathRoute`; all others are left to the framework.

    For a small problem the layers and the list of routes of the framework are a tenth of the time.
    """

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute]) -> None:
        self._app = app
        self._routes = {
            (method, route.path): route
            for route in routes
            if isinstance(route, PathRoute) and not route.param_convertors
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        route = self._routes.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if route is None:
            await self._app(scope, receive, send)
            return
        scope["route"], scope["path_params"] = route, {}
        request = HttpRequest(scope, receive, send)
        try:
            response = await route.answer(request)
        except HANDLED as error:
            response = problem_response(request, error)
        await response(scope, receive, send)


def operation(
    router: APIRouter,
    route: str,
    name: str,
    summary: str,
    responses: Responses,
    *,
    description: str | None = None,
    role: Role | None = Role.SOLVE,
    needs_key: bool = False,
    makes_work: bool = False,
    takes_json: bool = False,
    parameters: Sequence[JsonObject] = (),
    unlisted: Sequence[str] = (),
    body: JsonObject | None = None,
) -> Callable[[Handler], Handler]:
    """Add a route such as `GET /v1/jobs/{job}` for the function behind this, which gets a `Call`.

    Its other arguments are parts of the path, and parameters as FastAPI describes them; `parameters` are more
    of these, as OpenAPI describes them, which the function reads itself, and `unlisted` names that are known
    and not described. `role`: what the key of the caller must be for, or None where nobody is asked, and with
    `needs_key` a key is needed even where others need none. What `makes_work` is refused while the server
    ends, and what `takes_json` for bodies that are declared as something else. `body`: the request body, as
    OpenAPI describes it.
    """
    method, path = route.split()
    status = next(int(code) for code in responses if int(code) < 300)

    def add(handler: Handler) -> Handler:
        own = list(inspect.signature(handler).parameters.values())[1:]
        known = (
            *(query for parameter in own if (query := _query_name(parameter)) is not None),
            *(parameter["name"] for parameter in parameters if parameter["in"] == "query"),
            *unlisted,
        )

        @wraps(handler)
        async def answer(request: Request, **arguments: Any) -> Response:
            require_known(request, *known)
            caller = NOBODY
            if role is not None:
                service = service_of(request)
                caller = await (
                    service.administrator(request) if needs_key else service.caller(request, role)
                )
                if makes_work:
                    service.require_open()
            if takes_json:
                require_json(request)
            result = await handler(Call(request, caller), **arguments)
            return json_response(result, status) if isinstance(result, dict) else result

        of_request = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request)
        named = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
        vars(answer)["__signature__"] = inspect.Signature([of_request, *named])
        router.add_api_route(
            path,
            answer,
            route_class_override=PathRoute if all(one.annotation is str for one in own) else None,
            methods=[method],
            operation_id=name,
            summary=summary,
            description=description,
            status_code=status,
            response_class=Response,
            responses=responses,
            openapi_extra={
                **({"parameters": list(parameters)} if parameters else {}),
                **(body or {}),
                **(WITHOUT_KEY if role is None else {}),
            },
        )
        return answer

    return add


def _query_name(parameter: inspect.Parameter) -> str | None:
    """What a query calls a parameter of a function; None for a part of the path."""
    if get_origin(parameter.annotation) is not Annotated:
        return None
    described = next((entry for entry in get_args(parameter.annotation) if isinstance(entry, Query)), None)
    return None if described is None else described.alias or parameter.name
