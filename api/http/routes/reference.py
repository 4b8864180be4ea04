"""Reference: solvers, capabilities, schemas, targets, examples, the version."""

import json
import platform
from functools import cache, partial
from typing import Annotated, Final

from fastapi import APIRouter, Query

import memstow
from memstow.api.http import samples, schemas
from memstow.api.http.errors import ApiError
from memstow.api.http.operation import Call, operation
from memstow.api.http.responses import MEDIA_TYPES, JsonObject
from memstow.api.http.samples import EXAMPLES
from memstow.api.operations import plan_forms
from memstow.api.store.keys import Role
from memstow.planner.model.front import FORMATS as FRONT_FORMATS
from memstow.planner.model.schema import KINDS, schema

router = APIRouter(tags=["reference"])
_reference = partial(operation, router, role=Role.READ)

# The settings that say what a request may ask for; not those that say how the server does its work.
_TOLD: Final = ("max_body", "sync_seconds", "keep_seconds")
_NAMES: Final = {"type": "array", "items": {"type": "string"}}


@_reference(
    "GET /v1/solvers",
    "list_solvers",
    "Who can solve, and what",
    schemas.answers(
        "The solvers.",
        {"solvers": [{"name": "greedy", "summary": "...", "supports": "...", "missing": None}]},
        schemas.list_of("solvers"),
    ),
)
async def list_solvers(call: Call) -> JsonObject:
    """Solvers."""
    described = await call.service.in_thread(_solvers, call.service.settings.plugins)
    return {"solvers": described}


@cache
def _solvers(plugins: tuple[str, ...]) -> list[JsonObject]:
    """The solvers, with these plug-ins, each of which is asked once."""
    from memstow.planner.plugins.process import listed_solvers
    from memstow.solvers.registry import describe

    of_others = listed_solvers(plugins) if plugins else []
    return [solver._asdict() for solver in (*describe(), *of_others)]


@_reference(
    "GET /v1/capabilities",
    "get_capabilities",
    "What this server takes: formats, and the limits of your requests",
    schemas.answers(
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
    description="The limits have the names of the settings. `max_time_limit` is that of your key.",
)
async def get_capabilities(call: Call) -> JsonObject:
    """Capabilities."""
    limits, settings = call.service.limits_of(call.caller), call.service.settings
    return {
        "version": memstow.__version__,
        "formats": {
            "problem": [*MEDIA_TYPES, *await call.service.in_thread(_formats, settings.plugins)],
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


@cache
def _formats(plugins: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the plug-ins that are formats."""
    if not plugins:
        return ()
    from memstow.planner.plugins.installed import names

    return tuple(name for name in names("format", MEDIA_TYPES) if name in plugins)


@_reference(
    "GET /v1/schema",
    "get_schema",
    "The JSON Schema of the problem, the options, the plan or a target",
    schemas.answers("The schema.", {"type": "object", "title": "Problem"}, {"type": "object"}),
)
async def get_schema(
    call: Call,
    kind: Annotated[
        str, Query(description="The kind of document.", json_schema_extra={"enum": list(KINDS)})
    ] = "problem",
) -> JsonObject:
    """Schema."""
    if kind not in KINDS:
        raise ApiError(422, "unknown_schema", f"use one of {', '.join(KINDS)}")
    return await call.service.in_thread(schema, kind)


@_reference(
    "GET /v1/targets",
    "list_targets",
    "The targets that come with memstow, each with its pools and the source of its facts",
    schemas.answers(
        "The targets.",
        {"targets": [{"version": 1, "name": "nrf52840", "pools": [{"id": "ram", "capacity": 262144}]}]},
        schemas.list_of("targets", schemas.ref("Target")),
    ),
)
async def list_targets(call: Call) -> JsonObject:
    """Targets."""
    return {"targets": await call.service.in_thread(_targets)}


def _targets() -> list[JsonObject]:
    from memstow.planner.targets import shipped, shipped_text

    return [json.loads(shipped_text(name)) for name in shipped()]


@_reference(
    "GET /v1/examples",
    "list_examples",
    "Bodies ready to be sent to /v1/plan, by name",
    schemas.answers(
        "Names and paths.",
        {"examples": [{"name": "first", "path": "/v1/examples/first"}]},
        schemas.list_of("examples"),
    ),
)
async def list_examples(_call: Call) -> JsonObject:
    """Examples."""
    return {"examples": [{"name": name, "path": f"/v1/examples/{name}"} for name in EXAMPLES]}


@_reference(
    "GET /v1/examples/{name}",
    "get_example",
    "One of them",
    schemas.answers("The body.", {"problem": samples.PROBLEM}, {"type": "object"}, 404),
)
async def get_example(_call: Call, name: str) -> JsonObject:
    """Example."""
    if name not in EXAMPLES:
        raise ApiError(404, "no_such_example", f"there are {', '.join(EXAMPLES)}")
    return EXAMPLES[name]


@operation(
    router,
    "GET /version",
    "get_version",
    "The version",
    schemas.answers(
        "The version.",
        {"name": "memstow", "version": memstow.__version__, "python": "3.11.7"},
        {"type": "object", "required": ["name", "version"]},
    ),
    role=None,
)
async def get_version(_call: Call) -> JsonObject:
    """Version."""
    return {"name": "memstow", "version": memstow.__version__, "python": platform.python_version()}
