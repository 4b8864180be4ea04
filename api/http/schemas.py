"""The OpenAPI document: schemas of bodies and responses, from the models, with examples."""

import json
from typing import Any, Final

from pydantic import TypeAdapter

from memstow.api.http.errors import MEDIA_TYPE
from memstow.api.http.responses import MEDIA_TYPES, JsonObject
from memstow.planner.model.graph import Graph
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.model.target import Target
from memstow.planner.verify import Code, Standing, Subject

Responses = dict[int | str, JsonObject]
"""The responses of an operation, by status."""

PROBLEM: Final[JsonObject] = {
    "version": 1,
    "name": "first",
    "buffers": [
        {"id": "input", "size": 4096, "lifetime": [0, 2]},
        {"id": "conv1", "size": 8192, "lifetime": [1, 3]},
        {"id": "conv2", "size": 4096, "lifetime": [2, 5]},
        {"id": "relu", "size": 4096, "lifetime": [3, 5]},
        {"id": "output", "size": 1024, "lifetime": [4, 6]},
    ],
}
CSV: Final = "id,lower,upper,size\ninput,0,2,4096\nconv1,1,3,8192\n"
PLAN: Final[JsonObject] = {
    "status": "optimal",
    "placements": [
        {"buffer": "input", "pool": "memory", "offset": 8192},
        {"buffer": "conv1", "pool": "memory", "offset": 0},
        {"buffer": "conv2", "pool": "memory", "offset": 8192},
        {"buffer": "relu", "pool": "memory", "offset": 0},
        {"buffer": "output", "pool": "memory", "offset": 4096},
    ],
    "pools": [
        {
            "pool": "memory",
            "capacity": None,
            "peak": 12288,
            "bound": 12288,
            "live": {"bytes": 12288, "time": 1},
        }
    ],
    "objective": [
        {
            "term": "peak",
            "value": 12288,
            "bound": 12288,
            "gap": 0.0,
            "certificate": {
                "kind": "live_bytes",
                "pool": "memory",
                "time": 1,
                "buffers": ["input", "conv1"],
            },
        }
    ],
    "solver": "greedy lowest/size",
    "prover": "live bytes",
    "seconds": 0.002,
}
VERDICT: Final[JsonObject] = {
    "valid": True,
    "checked": False,
    "violations": [],
    "claims": [
        {
            "subject": "bound",
            "name": "peak",
            "says": "no plan has peak below 12288",
            "standing": "claimed",
            "by": "memstow 0.1.0 (exact)",
        }
    ],
}
JOB_ID: Final = "2e3fefc7bebb4b32a6c9086daa32ce31"
JOB: Final[JsonObject] = {
    "id": JOB_ID,
    "state": "running",
    "priority": 0,
    "name": "first",
    "setting": None,
    "batch": None,
    "digest": "4c3b" * 16,
    "buffers": 5,
    "options": {"time_limit": 60.0, "solver": "auto"},
    "created": "2026-11-20T09:00:00.000Z",
    "started": "2026-11-20T09:00:00.010Z",
    "improved": "2026-11-20T09:00:00.300Z",
    "finished": None,
    "expires": None,
    "status": "feasible",
    "objective": "peak",
    "value": 12800,
    "peak": 12800,
    "bound": 12288,
    "gap": 0.04,
    "solver": "greedy lowest/size",
    "error": None,
}

_PROBLEM_DOCUMENT: Final[JsonObject] = {
    "type": "object",
    "description": "RFC 9457. `errors` lists every issue with its code and its JSON path.",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "instance": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["code", "path", "message"],
                "properties": {
                    "code": {"type": "string"},
                    "path": {"type": "string"},
                    "message": {"type": "string"},
                },
            },
        },
    },
}
_NULLABLE_TIME: Final = {"type": ["string", "null"], "format": "date-time"}
_NULLABLE_WHOLE: Final = {"type": ["integer", "null"]}
_NULLABLE_TEXT: Final = {"type": ["string", "null"]}
_JOB: Final[JsonObject] = {
    "type": "object",
    "required": list(JOB),
    "properties": {
        "id": {"type": "string"},
        "state": {"enum": ["queued", "running", "done", "failed", "cancelled"]},
        "priority": {"type": "integer"},
        "name": _NULLABLE_TEXT,
        "setting": _NULLABLE_TEXT,
        "batch": _NULLABLE_TEXT,
        "digest": {"type": "string"},
        "buffers": {"type": "integer"},
        "options": {"type": "object"},
        **dict.fromkeys(("created", "started", "improved", "finished", "expires"), _NULLABLE_TIME),
        "status": _NULLABLE_TEXT,
        "objective": {**_NULLABLE_TEXT, "description": "The first term; `value`, `bound`, `gap` are its."},
        "value": _NULLABLE_WHOLE,
        "peak": _NULLABLE_WHOLE,
        "bound": _NULLABLE_WHOLE,
        "gap": {"type": ["number", "null"]},
        "solver": _NULLABLE_TEXT,
        "error": _NULLABLE_TEXT,
    },
}

_VERDICT: Final[JsonObject] = {
    "type": "object",
    "required": list(VERDICT),
    "properties": {
        "valid": {"type": "boolean"},
        "checked": {"type": "boolean", "description": "Whether no claim was left unchecked."},
        "violations": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["code", "message", "buffers", "pool"],
                "properties": {
                    "code": {"enum": [code.value for code in Code]},
                    "message": {"type": "string"},
                    "buffers": {"type": "array", "items": {"type": "string"}},
                    "pool": _NULLABLE_TEXT,
                },
            },
        },
        "claims": {
            "type": "array",
            "items": {
                "type": "object",
                "required": list(VERDICT["claims"][0]),
                "properties": {
                    "subject": {"enum": [subject.value for subject in Subject]},
                    "name": {**_NULLABLE_TEXT, "description": "The pool or the term that it is about."},
                    "says": {"type": "string"},
                    "standing": {"enum": [standing.value for standing in Standing]},
                    "by": {"type": "string", "description": "What checked it, or who claims it."},
                },
            },
        },
    },
}

_MODELS: Final[JsonObject] = {
    "Problem": Problem,
    "Options": Options,
    "Plan": Plan,
    "Target": Target,
    "Graph": Graph,
}

TITLES: Final = {
    400: "The body cannot be read.",
    401: "A key is needed, or the one sent is not known.",
    403: "The key may not do this.",
    404: "There is no such thing, or it is not yours.",
    405: "This path takes other methods.",
    406: "There is no plan, so it cannot be had in this form.",
    408: "The body came too slowly.",
    409: "Not in this state.",
    413: "Larger than a setting allows.",
    415: "A media type or encoding that is not taken.",
    422: "What the request says is wrong; every issue is listed.",
    429: "Too much for now; `Retry-After` says when to come again.",
    500: "A defect of memstow.",
    503: "Not now: the store is away or the server is ending.",
}
# Statuses that any operation may respond with.
_ALWAYS: Final = (401, 403, 408, 413, 422, 429, 500, 503)


def schemas() -> JsonObject:
    """The schemas that operations refer to."""
    found: JsonObject = {"ProblemDocument": _PROBLEM_DOCUMENT, "Job": _JOB, "Verdict": _VERDICT}
    for name, model in _MODELS.items():
        made = TypeAdapter(model).json_schema(ref_template="#/components/schemas/{model}")
        found |= made.pop("$defs", {})
        found[name] = made
    return found


def ref(name: str) -> dict[str, str]:
    """A reference to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def target() -> JsonObject:
    """The schema of a member `target`."""
    named = {"type": "string", "description": "The name of a target that comes with memstow."}
    return {"anyOf": [ref("Target"), named]}


def document() -> JsonObject:
    """The schema of what can be planned."""
    return {"anyOf": [ref("Problem"), ref("Graph")]}


def errors(*statuses: int) -> Responses:
    """The error responses of an operation: these, and those of any operation."""
    return {
        status: {
            "description": TITLES[status],
            "content": {MEDIA_TYPE: {"schema": ref("ProblemDocument"), "example": _error_example(status)}},
        }
        for status in sorted({*statuses, *_ALWAYS})
    }


def _error_example(status: int) -> JsonObject:
    return {
        "type": "urn:memstow:problem:example",
        "title": TITLES[status],
        "status": status,
        "detail": TITLES[status],
        "code": "example",
    }


def answers(
    status: int,
    description: str,
    example: Any,
    schema: JsonObject | None = None,
    media_type: str = "application/json",
    *failures: int,
    also: Responses | None = None,
) -> Responses:
    """The responses of an operation."""
    content = {media_type: {"schema": schema or {}, "example": example}}
    return {status: {"description": description, "content": content}, **(also or {}), **errors(*failures)}


def enveloped(
    members: JsonObject, required: list[str], example: JsonObject, alone: bool = True
) -> JsonObject:
    """The request body of an operation: an envelope, and where allowed a problem alone in any format."""
    schemas = [_envelope(members, required)]
    if "problem" in members:
        schemas.append(_graph_envelope(members, required))
    if alone:
        # Told apart by what they hold: only an envelope has a member `problem` without a version beside it.
        schemas += [ref("Problem"), ref("Graph")]
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    content: JsonObject = {"application/json": {"schema": schema, "example": example}}
    if alone:
        content[MEDIA_TYPES["json"]] = {"schema": ref("Problem"), "example": PROBLEM}
        content[MEDIA_TYPES["csv"]] = {"schema": {"type": "string"}, "example": CSV}
        for name in ("structured", "executorch", "usmp"):
            content[MEDIA_TYPES[name]] = {
                "schema": {"type": "object" if name == "structured" else ["array", "object"]},
                "example": EXAMPLES_ALONE[name],
            }
    return {"requestBody": {"required": True, "content": content}}


def _envelope(members: JsonObject, required: list[str]) -> JsonObject:
    return {
        "type": "object",
        "required": required,
        "properties": members,
        "additionalProperties": False,
    }


def _graph_envelope(members: JsonObject, required: list[str]) -> JsonObject:
    """The same with a graph in the place of the problem, and what changes it."""
    of_graph: JsonObject = {
        "graph": ref("Graph"),
        "order": {"enum": ["given", "free"], "description": "Instead of the order that the graph asks for."},
        "in_place": {"type": "boolean", "default": True, "description": "false: nobody overwrites an input."},
    }
    others = {name: value for name, value in members.items() if name != "problem"}
    return _envelope(of_graph | others, ["graph" if name == "problem" else name for name in required])


EXAMPLES_ALONE: Final[JsonObject] = {
    "executorch": [
        {"id": "b0", "size": 196608, "lower": 0, "upper": 49, "alignment": 16},
        {"id": "b1", "size": 2097152, "lower": 47, "upper": 51, "alignment": 16},
    ],
    "usmp": {
        "sizes": {"a": 301056, "b": 802816},
        "edges": [["a", "b"]],
        "pools": [{"name": "fast", "size": None}],
    },
    "structured": {
        "schema_version": 1,
        "profile": "pypto_structured",
        "instance": "kernel",
        "metadata": {},
        "problem": {
            "pools": [{"id": 1, "name": "Vec", "capacity": 65536, "reserved_ranges": []}],
            "buffers": [
                {
                    "id": 0,
                    "name": "x",
                    "size": 1024,
                    "alignment": 32,
                    "live_intervals": [{"lower": 15, "upper": 19}],
                    "allowed_pools": [1],
                }
            ],
            "constraints": {
                "colocations": [],
                "separations": [],
                "temporal_exclusions": [],
                "pinned_allocations": [],
            },
            "objective": {"aggregation": "lexicographic", "terms": ["total_peak", "max_peak"]},
        },
    },
}


def pretty(document: Any) -> str:
    """A document as text, as it is committed."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
