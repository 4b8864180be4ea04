"""What several routes share: the options in a query, the form of a body, a job as JSON."""

import json
from typing import Annotated, Any, Final

from fastapi import Depends, Query, Request
from starlette.responses import Response

from memstow.api.http.auth import Caller
from memstow.api.http.errors import ProblemError
from memstow.api.http.request_body import MEDIA_TYPES, format_of, read_body
from memstow.api.http.service import Service
from memstow.api.operations.body import OPTION_NAMES, Form
from memstow.api.store.job import Job, moment
from memstow.planner import formats
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.reading.messages import unknown_field
from memstow.planner.reading.printable import printable


def service_of(request: Request) -> Service:
    """The server this request came to."""
    service: Service = request.app.state.service
    return service


async def _here(request: Request) -> Service:
    """The same where FastAPI asks: it would send what is not async to a thread and wait for it there."""
    return service_of(request)


Here = Annotated[Service, Depends(_here)]
FormatOfBody = Annotated[
    str | None,
    Query(description="Format of a body that is a problem alone."),
]


async def form_of(
    request: Request, service: Service, chosen: str | None, *members: str
) -> tuple[bytes, Form]:
    """The body of a request that asks for a plan, and its form."""
    name = format_of(request, chosen)
    _require_known(request)
    body = await read_body(request, service.settings)
    options = {
        option: _value(request.query_params[option])
        for option in OPTION_NAMES
        if option in request.query_params
    }
    return body, Form(format=name, options=options, members=members if name is None else ())


def _require_known(request: Request) -> None:
    """Refuse what is misspelt in a query: an option that is not heeded would not be missed."""
    known = (*OPTION_NAMES, "format", "output_format")
    issues = tuple(
        Issue("unknown_parameter", f"query.{printable(name, 100)}", unknown_field(name, known))
        for name in request.query_params
        if name not in known
    )
    if issues:
        raise InputError(issues)


def _value(text: str) -> Any:
    """A query's text as the JSON value it looks like."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, bool | int | float) else text


OPTION_PARAMETERS: Final = [
    {
        "name": name,
        "in": "query",
        "description": f"The option `{name}`, unless the body says otherwise.",
        "schema": {"$ref": f"#/components/schemas/Options/properties/{name}"},
        "required": False,
    }
    for name in OPTION_NAMES
]


def output_format(request: Request, chosen: str | None) -> str:
    """The format in which a plan is wanted."""
    if chosen is not None:
        if chosen not in formats.plan_names():
            raise ProblemError(
                422, "unknown_format", f"plans can be had as {', '.join(formats.plan_names())}"
            )
        return chosen
    return "csv" if request.headers.get("accept", "").lower().startswith("text/csv") else "json"


def plan_media_type(name: str) -> str:
    """The media type of a plan."""
    return "application/json" if name == "json" else MEDIA_TYPES[name]


def wants_fresh(request: Request) -> bool:
    """Whether the cache is not to be asked."""
    return "no-cache" in request.headers.get("cache-control", "").lower()


def job_json(job: Job) -> dict[str, Any]:
    """A job as it travels."""
    return {
        "id": job.id,
        "state": job.state.value,
        "priority": job.priority,
        "name": job.name,
        "setting": job.setting,
        "batch": job.batch_id,
        "digest": job.digest,
        "buffers": job.buffers,
        "options": json.loads(job.options),
        **{
            name: moment(getattr(job, name))
            for name in ("created", "started", "improved", "finished", "expires")
        },
        "status": job.status,
        "objective": job.term,
        "value": job.value,
        "peak": job.value if job.term == "peak" else job.peak,
        "bound": job.bound,
        "gap": job.gap,
        "solver": job.solver,
        "error": job.error,
    }


def job_path(job: str) -> str:
    """Where a job is."""
    return f"/v1/jobs/{job}"


def as_json(document: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer."""
    return Response(json.dumps(document), status, headers, "application/json")


async def job_for(service: Service, caller: Caller, job: str) -> Job:
    """The job, if it is the caller's to see."""
    found = await service.in_thread(service.queue.get, job) if len(job) == 32 and job.isalnum() else None
    if found is None or not caller.may_see(found.key_id):
        raise ProblemError(
            404, "no_such_job", "there is no job of this id, or it is over its time or not yours"
        )
    return found
