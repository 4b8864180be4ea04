"""Reads requests: the body, the options in the query and how the OpenAPI document lists them, headers."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any, Final, TypeVar, overload

from fastapi import Query, Request
from starlette.datastructures import Headers, QueryParams
from starlette.types import Scope

from memstow.api import options
from memstow.api.http.bodies import read_body
from memstow.api.http.errors import ApiError
from memstow.api.http.responses import MEDIA_TYPES, JsonObject
from memstow.api.http.service import Service
from memstow.api.operations import plan_forms
from memstow.api.operations.body_documents import CHANGES
from memstow.api.operations.encoding import OPTION_NAMES, SHAPES_MEMBERS, TARGETS
from memstow.api.operations.envelope import LONGEST_NAME, checked_name
from memstow.api.operations.request_types import BodyForm, FrontValue, QueryValue
from memstow.api.options import Option, in_query
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.printable import printable
from memstow.planner.reading.sections import unknown_field
from memstow.planner.solve.portfolio import AUTO
from memstow.solvers import registry

T = TypeVar("T")


def _schema_of(kind: options.Kind) -> JsonObject:
    """The JSON schema of a kind of value."""
    match kind:
        case options.Flag() | options.Switch():
            return {"type": "boolean"}
        case options.Whole(least=least, most=most):
            return {"type": "integer", "minimum": least} | ({} if most is None else {"maximum": most})
        case options.Real(least=lower, most=upper):
            return {"type": "number", "minimum": lower, "maximum": upper}
        case options.Duration(most=longest):
            return {"type": "number", "minimum": 0, "maximum": longest}
        case options.Amount(least=least):
            return {"type": "integer", "minimum": least, "maximum": 1 << 62}
        case options.Choice(values=values):
            return {"type": "string", "enum": list(values)}
        case options.Pair():
            return {"type": "string"}
        case options.Text(least=shortest, most=longest_text):
            limits = {"minLength": shortest, "maxLength": longest_text}
            return {"type": "string"} | {name: most for name, most in limits.items() if most is not None}


def parameter(option: Option, note: str = "", choices: Sequence[str] = ()) -> JsonObject:
    """An option as a parameter of a query, as OpenAPI writes it, for routes that read their query themselves.

    `note` is added to its text, and `choices` are the values it may have, where the table does not know them.
    """
    of_one = _schema_of(option.kind) | ({"enum": list(choices)} if choices else {})
    return {
        "name": option.name,
        "in": "query",
        "description": in_query(option) + note,
        "schema": {"type": "array", "items": of_one} if option.is_repeated else of_one,
        "required": False,
    }


def query_of(option: Option, **own: Any) -> Any:
    """An option as FastAPI describes a parameter; `own`: arguments of `Query` that only a route has."""
    schema = {} if option.is_repeated else _schema_of(option.kind)
    limits: dict[str, Any] = {"ge": schema.get("minimum"), "le": schema.get("maximum")}
    choices = {"json_schema_extra": {"enum": schema["enum"]}} if "enum" in schema else {}
    return Query(description=in_query(option), **(limits | choices | own))


FORMAT_PARAMETERS: Final = [
    {
        "name": option.name,
        "in": "query",
        "required": False,
        "schema": {
            "anyOf": [{"type": "string"}, {"type": "null"}],
            "description": in_query(option),
            "enum": list(allowed),
            "title": option.name.replace("_", " ").title(),
        },
        "description": in_query(option),
    }
    for option, allowed in (
        (options.FORMAT_OF_BODY, MEDIA_TYPES),
        (options.FORMAT_OF_PLAN, (*plan_forms.names(), plan_forms.PAGE)),
    )
]
"""As FastAPI writes them: a route that reads its query itself spends no time on finding out how."""
SOURCE_PARAMETERS: Final = [
    parameter(option)
    for option in (options.PREFIX, options.SECTION, options.HEADER, options.ORDER_ONLY, options.REPLAN)
]
BODY_FIRST: Final = " An option in the body takes precedence."
OPTION_PARAMETERS: Final = [
    parameter(
        option,
        BODY_FIRST,
        (AUTO, *registry.names()) if option is options.SOLVER else (),
    )
    for option in options.OF_RUN
]
SHAPES_PARAMETERS: Final = [parameter(options.SHAPES_ALONE), parameter(options.PIECES)]
NAME_PARAMETER: Final = parameter(options.JOB_NAME)
FRONT_PARAMETERS: Final = [parameter(option) for option in (*options.FRONT, options.TARGETS)]
CHANGE_PARAMETERS: Final = [
    parameter(option)
    for option in (options.TARGET, options.ORDER, options.MAY_OVERWRITE, options.DIM, options.DEVICE)
]


_FORMAT_OF: Final = {media: name for name, media in MEDIA_TYPES.items()}
# Parameters that may be given several times.
_REPEATED: Final = frozenset(option.name for option in (options.SECTION, options.DIM, options.WITHOUT))
_PLAIN: Final = ("application/json", "application/octet-stream", "text/csv", "text/plain")


HEADERS: Final = "memstow.headers"
"""Where the headers of a request are in its scope."""
_NO_QUERY: Final = QueryParams()


class TabledHeaders(Headers):
    """Headers that are looked up in a table: a dozen of them are, in each request."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope=scope)
        # Of equal ones the first.
        self._table = dict(reversed(self._list))

    def __getitem__(self, key: str) -> str:
        return self._table[key.lower().encode("latin-1")].decode("latin-1")

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key.lower().encode("latin-1") in self._table

    @overload
    def get(self, key: str, /) -> str | None: ...

    @overload
    def get(self, key: str, /, default: str | T) -> str | T: ...

    def get(self, key: str, /, default: str | T | None = None) -> str | T | None:
        """The first header of this name, in any case."""
        value = self._table.get(key.lower().encode("latin-1"))
        return default if value is None else value.decode("latin-1")


class HttpRequest(Request):
    """A request with the headers in its scope, which most often has no query."""

    @property
    def headers(self) -> Headers:
        """The headers."""
        headers: Headers = self.scope[HEADERS]
        return headers

    @property
    def query_params(self) -> QueryParams:
        """The query."""
        return super().query_params if self.scope["query_string"] else _NO_QUERY


def service_of(request: Request) -> Service:
    """The service that a request came to."""
    service: Service = request.app.state.service
    return service


FormatOfBody = Annotated[
    str | None,
    query_of(options.FORMAT_OF_BODY, json_schema_extra={"enum": list(MEDIA_TYPES)}),
]
FormatOfPlan = Annotated[
    str | None,
    query_of(
        options.FORMAT_OF_PLAN,
        alias="output_format",
        json_schema_extra={"enum": [*plan_forms.names(), plan_forms.PAGE]},
    ),
]
"""Of a job; `page` is a view document, with what the judge says of the plan."""

# Bodies


def require_json(request: Request) -> None:
    """Refuse a body that is not declared as JSON."""
    if _media_type(request) != "application/json":
        raise ApiError(
            415,
            "unsupported_media_type",
            "send application/json",
            headers={"Accept-Post": "application/json"},
        )


def model_or_json(request: Request) -> str | None:
    """`tflite` for a TensorFlow Lite model, None for JSON; nothing else is taken."""
    if _media_type(request) == MEDIA_TYPES[plan_forms.MODEL]:
        return plan_forms.MODEL
    if _media_type(request) == "application/json":
        return None
    accepted = f"application/json, {MEDIA_TYPES[plan_forms.MODEL]}"
    raise ApiError(
        415, "unsupported_media_type", f"send one of {accepted}", headers={"Accept-Post": accepted}
    )


def format_of(request: Request, chosen: str | None) -> str | None:
    """The format of a body that is a problem alone; None for an envelope."""
    media = _media_type(request)
    if chosen is not None:
        known = (*MEDIA_TYPES, *service_of(request).settings.plugins)
        if chosen not in known:
            raise ApiError(422, "unknown_format", f"there is no such format; use one of {', '.join(known)}")
        if media in _FORMAT_OF or media in _PLAIN:
            return chosen
    elif media in _FORMAT_OF:
        return _FORMAT_OF[media]
    elif media == "application/json":
        return None
    allowed = ", ".join(["application/json", *MEDIA_TYPES.values()])
    raise ApiError(
        415,
        "unsupported_media_type",
        f"say in Content-Type what the body is: {allowed}",
        headers={"Accept-Post": allowed},
    )


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_problem_body(
    request: Request,
    service: Service,
    chosen: str | None,
    *members: str,
    front: bool = False,
) -> tuple[bytes, BodyForm]:
    """The body of a request for a plan or a front, and its form; an envelope may have these members more."""
    name = format_of(request, chosen)
    members = members if name is None else ()
    to = "json" if front else output_format(request, request.query_params.get("output_format"), own_page=True)
    form = _form_without_query(name, members, to, front)
    if request.query_params:
        form = _with_query(form, request)
    return await read_body(request, service.settings), form


# Most requests have one of a few.
@lru_cache(64)
def _form_without_query(name: str | None, members: tuple[str, ...], to: str, front: bool) -> BodyForm:
    if front:
        return BodyForm(format=name, members=members, front={})
    return BodyForm(format=name, members=members, plan_form=to, shapes={})


def _with_query(form: BodyForm, request: Request) -> BodyForm:
    """The form with what the query adds."""
    name_in(request)
    query = request.query_params
    rewrites = query.get("output_format") == plan_forms.MODEL
    if rewrites and form.format != plan_forms.MODEL:
        message = "a TensorFlow Lite model is written from the body that is one, and this is something else"
        raise InputError.single("not_a_model", "query.output_format", message)
    front = form.front is not None
    return replace(
        form,
        options={name: _query_value(query[name]) for name in query if name in OPTION_NAMES},
        changes=changes_in(request),
        dims=dims_in(request, form.format),
        device=device_in(request, form.format),
        front=_front_in(request) if front else None,
        targets=listed_in(request, TARGETS) if front else None,
        shapes=None if front else _shapes_in(request),
        rewrites_model=rewrites,
        model_flags=plan_forms.flags_of(output_format(request, plan_forms.MODEL)) if rewrites else (),
    )


def name_in(request: Request) -> str | None:
    """What the query calls the job of the request."""
    name = request.query_params.get("name")
    return None if name is None else printable(checked_name(name, "query.name"), LONGEST_NAME)


def form_of_document(request: Request, chosen: str | None) -> BodyForm:
    """The form of a body that holds a problem, a graph or a model, and no options."""
    name = format_of(request, chosen)
    dims, device = dims_in(request, name), device_in(request, name)
    return BodyForm(format=name, changes=changes_in(request), dims=dims, device=device)


def _front_in(request: Request) -> dict[str, FrontValue]:
    """What the query asks of a front."""
    query = request.query_params
    members: dict[str, FrontValue] = {
        name: listed for name in ("terms", "generators") if (listed := listed_in(request, name)) is not None
    }
    return members | {
        name: _query_value(query[name]) for name in ("cost", "within", "points") if name in query
    }


def listed_in(request: Request, name: str) -> list[str] | None:
    """The parts of a parameter, which has commas between."""
    text = request.query_params.get(name)
    return None if text is None else [] if (name, text) == ("generators", "none") else text.split(",")


def _shapes_in(request: Request) -> dict[str, QueryValue]:
    """What the query says of the plan of a problem with symbols."""
    query = request.query_params
    return {name: _query_value(query[name]) for name in query if name in SHAPES_MEMBERS}


def dims_in(request: Request, name: str | None) -> dict[str, int]:
    """The values that the query gives to open dimensions of an ONNX model."""
    dimensions: dict[str, int] = {}
    for text in request.query_params.getlist("dim"):
        if name != "onnx":
            message = "it is for the open dimensions of ONNX models; leave it out"
            raise InputError.single("unused_parameter", "query.dim", message)
        read = options.DIMENSION.read(text)
        if read is None:
            message = f"{printable(text, 80)!r} is not a dimension and its value; write for example batch=1"
            raise InputError.single("bad_dimension", "query.dim", message)
        dimension, number = read
        if dimension in dimensions:
            message = f"the dimension {printable(dimension, 80)!r} has two values; give it one"
            raise InputError.single("repeated", "query.dim", message)
        dimensions[dimension] = int(number)
    return dimensions


def device_in(request: Request, name: str | None) -> str | None:
    """The device of a recording that the query names."""
    device = request.query_params.get("device")
    if device is not None and name not in options.RECORDED:
        message = "it is for recordings of PyTorch, which are of several devices; leave it out"
        raise InputError.single("unused_parameter", "query.device", message)
    return device


def changes_in(request: Request) -> dict[str, QueryValue]:
    """What the query changes about the document."""
    query = request.query_params
    return {
        name: _query_value(query[name]) if name == "in_place" else query[name]
        for name in query
        if name in CHANGES
    }


# Queries and headers


def require_known(request: Request, *allowed: str) -> None:
    """Refuse unknown and repeated parameters of a query: they would be ignored without notice."""
    if not request.query_params:
        return
    issues = [
        Issue("unknown_parameter", f"query.{printable(name, 100)}", unknown_field(name, allowed))
        for name in request.query_params
        if name not in allowed
    ]
    parameters = Counter(name for name, _ in request.query_params.multi_items())
    issues += [
        Issue("repeated_parameter", f"query.{name}", f"{name} is given {count} times; give it once")
        for name, count in parameters.items()
        if count > 1 and name in allowed and name not in _REPEATED
    ]
    if issues:
        raise InputError(issues)


def _query_value(text: str) -> QueryValue:
    """The JSON value that a text of a query looks like."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, bool | int | float) else text


def output_format(request: Request, chosen: str | None, *, own_page: bool = False) -> str:
    """The format of the plan in the response; `own_page`: it may be for the page of the service."""
    if own_page and chosen == plan_forms.PAGE:
        return chosen
    if chosen is not None and chosen not in plan_forms.names():
        raise ApiError(422, "unknown_format", f"plans can be had as {', '.join(plan_forms.names())}")
    by_accept = "csv" if request.headers.get("accept", "").lower().startswith("text/csv") else "json"
    query = request.query_params
    if not query:
        return chosen or by_accept
    parameters = {name: query.getlist(name) for name in query if name in plan_forms.PARAMETERS}
    return plan_forms.form_of(chosen or by_accept, parameters)


def wants_fresh(request: Request) -> bool:
    """Whether the response must not come from the cache."""
    return "no-cache" in request.headers.get("cache-control", "").lower()
