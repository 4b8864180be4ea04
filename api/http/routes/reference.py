"""Reference: solvers, capabilities, schemas, targets, examples, the version."""

import json
import platform
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

import memstow
from memstow.api.http import samples, schemas
from memstow.api.http.errors import ApiError
from memstow.api.http.requests import CurrentService, require_known
from memstow.api.http.responses import MEDIA_TYPES, JsonObject, json_response
from memstow.api.http.samples import EXAMPLES
from memstow.api.operations import plan_forms
from memstow.api.store.keys import Role
from memstow.planner.model.front import FORMATS as FRONT_FORMATS
from memstow.planner.model.schema import KINDS, schema

router = APIRouter(tags=["reference"])

# The settings that say what a request may ask for; not those that say how the server does its work.
_TOLD: Final = ("max_body", "sync_seconds", "keep_seconds")
_NAMES: Final = {"type": "array", "items": {"type": "string"}}


@router.get(
    "/v1/solvers",
    operation_id="list_solvers",
    summary="Who can solve, and what",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The solvers.",
        {"solvers": [{"name": "greedy", "summary": "...", "supports": "...", "missing": None}]},
        schemas.list_of("solvers"),
    ),
)
async def list_solvers(request: Request, service: CurrentService) -> Response:
    """Solvers."""
    require_known(request)
    await service.caller(request, Role.READ)
    return json_response({"solvers": await service.in_thread(_solvers)})


def _solvers() -> list[JsonObject]:
    from memstow.solvers.registry import describe

    return [solver._asdict() for solver in describe()]


@router.get(
    "/v1/capabilities",
    operation_id="get_capabilities",
    summary="What this server takes: formats, and the limits of your requests",
    description="The limits have the names of the settings. `max_time_limit` is that of your key.",
    response_class=Response,
    responses=schemas.answers(
        200,
        "Formats of problems, plans and fronts by name, and limits.",
        {
            "version": memstow.__version__,
            "formats": {"problem": ["json"], "plan": ["json", "csv"], "front": ["json"]},
            "limits": {"max_body": 33554432, "max_buffers": 200000, "max_time_limit": 3600.0},
            "callbacks": False,
        },
        {
            "type": "object",
            "required": ["version", "formats", "limits", "callbacks"],
            "properties": {
                "version": {"type": "string"},
                "formats": {
                    "type": "object",
                    "required": ["problem", "plan", "front"],
                    "additionalProperties": _NAMES,
                },
                "limits": {"type": "object", "additionalProperties": {"type": "number"}},
                "callbacks": {"type": "boolean", "description": "Whether jobs can have a `callback`."},
            },
        },
    ),
)
async def get_capabilities(request: Request, service: CurrentService) -> Response:
    """Capabilities."""
    require_known(request)
    limits = service.limits_of(await service.caller(request, Role.READ))
    settings = service.settings
    return json_response(
        {
            "version": memstow.__version__,
            "formats": {
                "problem": list(MEDIA_TYPES),
                "plan": list(plan_forms.names()),
                "front": list(FRONT_FORMATS),
            },
            "limits": {
                **{name: getattr(settings, name) for name in _TOLD},
                "max_buffers": limits.max_buffers,
                "max_values": limits.max_values,
                "max_batch": limits.max_batch,
                "max_time_limit": limits.max_time_limit,
                "max_workers": limits.max_workers,
                "solve_memory": limits.solve_memory,
            },
            "callbacks": bool(settings.callback_allow),
        }
    )


@router.get(
    "/v1/schema",
    operation_id="get_schema",
    summary="The JSON Schema of the problem, the options, the plan or a target",
    response_class=Response,
    responses=schemas.answers(200, "The schema.", {"type": "object", "title": "Problem"}, {"type": "object"}),
)
async def get_schema(
    request: Request,
    service: CurrentService,
    kind: Annotated[
        str, Query(description="The kind of document.", json_schema_extra={"enum": list(KINDS)})
    ] = "problem",
) -> Response:
    """Schema."""
    require_known(request, "kind")
    await service.caller(request, Role.READ)
    if kind not in KINDS:
        raise ApiError(422, "unknown_schema", f"use one of {', '.join(KINDS)}")
    return json_response(await service.in_thread(schema, kind))


@router.get(
    "/v1/targets",
    operation_id="list_targets",
    summary="The targets that come with memstow, each with its pools and the source of its facts",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The targets.",
        {"targets": [{"version": 1, "name": "nrf52840", "pools": [{"id": "ram", "capacity": 262144}]}]},
        schemas.list_of("targets", schemas.ref("Target")),
    ),
)
async def list_targets(request: Request, service: CurrentService) -> Response:
    """Targets."""
    require_known(request)
    await service.caller(request, Role.READ)
    return json_response({"targets": await service.in_thread(_targets)})


def _targets() -> list[JsonObject]:
    from memstow.planner.targets import shipped, shipped_text

    return [json.loads(shipped_text(name)) for name in shipped()]


@router.get(
    "/v1/examples",
    operation_id="list_examples",
    summary="Bodies ready to be sent to /v1/plan, by name",
    response_class=Response,
    responses=schemas.answers(
        200,
        "Names and paths.",
        {"examples": [{"name": "first", "path": "/v1/examples/first"}]},
        schemas.list_of("examples"),
    ),
)
async def list_examples(request: Request, service: CurrentService) -> Response:
    """Examples."""
    require_known(request)
    await service.caller(request, Role.READ)
    return json_response({"examples": [{"name": name, "path": f"/v1/examples/{name}"} for name in EXAMPLES]})


@router.get(
    "/v1/examples/{name}",
    operation_id="get_example",
    summary="One of them",
    response_class=Response,
    responses=schemas.answers(
        200, "The body.", {"problem": samples.PROBLEM}, {"type": "object"}, "application/json", 404
    ),
)
async def get_example(request: Request, service: CurrentService, name: str) -> Response:
    """Example."""
    require_known(request)
    await service.caller(request, Role.READ)
    if name not in EXAMPLES:
        raise ApiError(404, "no_such_example", f"there are {', '.join(EXAMPLES)}")
    return json_response(EXAMPLES[name])


@router.get(
    "/version",
    operation_id="get_version",
    openapi_extra=schemas.WITHOUT_KEY,
    summary="The version",
    response_class=Response,
    responses=schemas.answers(
        200,
        "The version.",
        {"name": "memstow", "version": memstow.__version__, "python": "3.11.7"},
        {"type": "object", "required": ["name", "version"]},
    ),
)
async def get_version(request: Request) -> Response:
    """Version."""
    require_known(request)
    return json_response(
        {"name": "memstow", "version": memstow.__version__, "python": platform.python_version()}
    )
