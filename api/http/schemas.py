"""The schemas of responses that are written by hand: problem documents, jobs, verdicts."""

import json
from typing import Any, Final

from pydantic import TypeAdapter

from memstow.api.http.errors import MEDIA_TYPE
from memstow.api.http.responses import MEDIA_TYPES, JsonObject, media_type_of_plan
from memstow.api.http.samples import CSV, GRAPH, PLANS_FOR_OTHERS, PROBLEM, SVG, XLA_DUMP
from memstow.api.operations.request_types import MODEL_FORMATS
from memstow.api.options import RECORDED
from memstow.planner.model.front import Front, FrontOptions
from memstow.planner.model.graph import ORDERS, Graph
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem, Target
from memstow.planner.model.symbolic import (
    MOST_ORDERS,
    SHAPES,
    SymbolicGraph,
    SymbolicPlan,
    SymbolicProblem,
)
from memstow.planner.show.view_document import VERSION as VIEW_VERSION
from memstow.planner.solve.portfolio import AUTO
from memstow.planner.targets import MOST_TARGETS
from memstow.planner.verify import Code, Standing, Subject
from memstow.solvers.registry import names

PROBLEM_DOCUMENT: Final[JsonObject] = {
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
        "trace": {"type": "string", "description": "The id of the trace, where traces are on."},
        "error_count": {
            "type": "integer",
            "description": "How many issues there are, where not all are listed.",
        },
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
JOB_SCHEMA: Final[JsonObject] = {
    "type": "object",
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
        "solver": {
            **_NULLABLE_TEXT,
            "description": "A name of `/v1/solvers`; after `greedy` the order of its buffers.",
        },
        "error": _NULLABLE_TEXT,
        "callback": {
            "type": ["object", "null"],
            "description": "Of a job with `callback`: which server is told of its end, and how far that is.",
            "properties": {
                "to": {"type": "string"},
                "state": {"enum": ["waiting", "pending", "delivered", "failed"]},
                "attempts": {"type": "integer"},
                "error": _NULLABLE_TEXT,
                "delivered": _NULLABLE_TIME,
            },
            "required": ["to", "state", "attempts", "error", "delivered"],
        },
    },
}
JOB_SCHEMA["required"] = list(JOB_SCHEMA["properties"])

VERDICT_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "required": ["valid", "checked", "violations", "claims"],
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
                "required": ["subject", "name", "says", "standing", "by"],
                "properties": {
                    "subject": {"enum": [subject.value for subject in Subject]},
                    "name": {**_NULLABLE_TEXT, "description": "The pool, the term or the point concerned."},
                    "says": {"type": "string"},
                    "standing": {"enum": [standing.value for standing in Standing]},
                    "by": {"type": "string", "description": "What checked it, or who claims it."},
                },
            },
        },
    },
}

_WHOLE: Final = {"type": "integer"}
TILE_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": dict.fromkeys(("channels", "rows", "columns", "inputs"), _WHOLE),
}
TILING_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "description": "docs/tiling.md describes the members.",
    "required": ["operator", "pool", "capacity", "why_not", "needs", "bound", "least", "complete", "tile"],
    "properties": {
        "operator": {"type": "string"},
        "type": _NULLABLE_TEXT,
        "pool": {"type": "string"},
        "capacity": _WHOLE,
        "home": _NULLABLE_TEXT,
        "unit": _WHOLE,
        "options": {"type": "object", "description": "What was asked."},
        "why_not": _NULLABLE_TEXT,
        **dict.fromkeys(("needs", "bound", "least"), _NULLABLE_WHOLE),
        "complete": {"type": "boolean"},
        "tile": {"anyOf": [{"$ref": "#/components/schemas/Tile"}, {"type": "null"}]},
        "loops": {"type": "array", "items": {"enum": ["channels", "rows", "columns", "inputs"]}},
        **dict.fromkeys(("tiles", "bytes", "l1"), _WHOLE),
        "buffers": {"type": "array", "items": {"type": "object"}},
        "plan": {"$ref": "#/components/schemas/Plan"},
    },
}
VIEW_DOCUMENT_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "description": "What the page of this service draws, with what the judge says; see docs/page.md.",
    "required": ["version", "verdict"],
    "properties": {"version": {"const": VIEW_VERSION}, "verdict": {"type": "object"}},
}
TILINGS_SCHEMA: Final[JsonObject] = {
    "anyOf": [
        {"$ref": "#/components/schemas/Tiling"},
        {
            "type": "object",
            "required": ["tilings", "tiled", "bytes", "least"],
            "properties": {
                "tilings": {"type": "array", "items": {"$ref": "#/components/schemas/Tiling"}},
                "tiled": _WHOLE,
                "bytes": _WHOLE,
                "least": _WHOLE,
            },
        },
    ]
}


Responses = dict[int | str, JsonObject]
"""The responses of an operation, by status."""

BYTES: Final[JsonObject] = {"type": "string", "format": "binary"}
PLAN_HEADERS: Final[JsonObject] = {
    "Memstow-Final": {
        "description": "For the plan of a job: whether it can still become better (`false`) or not (`true`).",
        "schema": {"enum": ["true", "false"]},
    },
    "Location": {
        "description": "The job that made the plan, if there is one, and goes on where it is not final.",
        "schema": {"type": "string"},
    },
}
_MODELS: Final[JsonObject] = {
    "Problem": Problem,
    "Options": Options,
    "Plan": Plan,
    "Target": Target,
    "Graph": Graph,
    "Front": Front,
    "FrontOptions": FrontOptions,
    "SymbolicProblem": SymbolicProblem,
    "SymbolicGraph": SymbolicGraph,
    "SymbolicPlan": SymbolicPlan,
}

TITLES: Final = {
    400: "The body cannot be read, or this is not a request of HTTP/1.1.",
    401: "A key is needed, or the one sent is not known.",
    403: "The key may not do this.",
    404: "There is no such thing, or it is not yours.",
    405: "This path takes other methods.",
    408: "The body came too slowly.",
    409: "Not in this state.",
    410: "What the `Idempotency-Key` made was removed since.",
    413: "Larger than a setting allows.",
    414: "The URL is too long.",
    415: "A media type or encoding that is not taken.",
    422: "What the request says is wrong; every issue is listed.",
    431: "The headers are too large.",
    429: "Too much for now; `Retry-After` says when to come again.",
    500: "A defect of memstow.",
    503: "Not now: the store is away, the server is full or ending; `Retry-After` says when to come again.",
    507: "The store has as many bytes as it may, or its disk is full.",
}
# Statuses that any operation may respond with.
_ALWAYS: Final = (400, 401, 403, 408, 413, 414, 422, 429, 431, 500, 503, 507)


# A name of its own, or a generator of clients for Python makes each a model of the same name.
_OTHER_FORMAT: Final[JsonObject] = {
    "type": "object",
    "description": "A problem in a format of another tool; see docs/integrations.md.",
}
SHAPES_MEMBERS: Final[JsonObject] = {
    "shapes": {
        "enum": list(SHAPES),
        "default": "order",
        "description": "Of a problem with symbols: what its plan consists of.",
    },
    "pieces": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_ORDERS,
        "default": 2,
        "description": "With shapes=pieces: the most orders.",
    },
}
"""Members of an envelope that are for problems with symbols."""

PRIORITY: Final[JsonObject] = {"type": "integer", "minimum": -100, "maximum": 100, "default": 0}
REMOVED: Final[Responses] = {204: {"description": "It is removed, or will be in a moment."}}
WITHOUT_KEY: Final[JsonObject] = {"security": []}
"""Of operations that need no key."""


def schemas() -> JsonObject:
    """The schemas that operations refer to."""
    named: JsonObject = {
        "ProblemDocument": PROBLEM_DOCUMENT,
        "Job": JOB_SCHEMA,
        "Verdict": VERDICT_SCHEMA,
        "ViewDocument": VIEW_DOCUMENT_SCHEMA,
        "OtherFormat": _OTHER_FORMAT,
        "Tile": TILE_SCHEMA,
        "Tiling": TILING_SCHEMA,
        "Tilings": TILINGS_SCHEMA,
    }
    for name, model in _MODELS.items():
        document = TypeAdapter(model).json_schema(ref_template="#/components/schemas/{model}")
        for title, schema in {**document.pop("$defs", {}), name: document}.items():
            if named.setdefault(title, schema) != schema:
                raise AssertionError(f"two models are called {title}")
    named["Options"] = options()
    return named


def options() -> JsonObject:
    """The schema of options, with the solvers that there are."""
    document: JsonObject = TypeAdapter(Options).json_schema(ref_template="#/components/schemas/{model}")
    del document["$defs"]
    document["properties"]["solver"]["enum"] = [AUTO, *names()]
    return document


def ref(name: str) -> dict[str, str]:
    """A reference to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


_OF_SYMBOLS: Final = [ref("SymbolicProblem"), ref("SymbolicGraph")]


def list_of(member: str, element: JsonObject | None = None) -> JsonObject:
    """The schema of an object with one member, which is a list."""
    listed = {"type": "array", "items": element or {"type": "object"}}
    return {"type": "object", "required": [member], "properties": {member: listed}}


def target() -> JsonObject:
    """The schema of a member `target`."""
    named = {"type": "string", "description": "The name of a target that comes with memstow."}
    return {"anyOf": [ref("Target"), named]}


def targets() -> JsonObject:
    """The schema of a member `targets`."""
    return {"type": "array", "items": target(), "minItems": 1, "maxItems": MOST_TARGETS}


def problem() -> JsonObject:
    """The schema of a member `problem`."""
    text = {"type": "string", "description": "A problem in another format, as text."}
    return {"anyOf": [ref("Problem"), ref("Graph"), text]}


def a_plan() -> JsonObject:
    """The schema of a plan, or of that of a problem with symbols."""
    return {"anyOf": [ref("Plan"), ref("SymbolicPlan")]}


def plan() -> JsonObject:
    """The schema of a member `plan` or `hint`."""
    text = {"type": "string", "description": "A plan in another format, as text."}
    return {"anyOf": [ref("Plan"), text]}


def any_problem() -> JsonObject:
    """The schema of a member `problem` whose sizes may be formulas."""
    return {"anyOf": [*problem()["anyOf"], *_OF_SYMBOLS]}


def any_document() -> JsonObject:
    """The schema of a problem or a graph, whose sizes may be formulas."""
    return {"anyOf": [ref("Problem"), ref("Graph"), *_OF_SYMBOLS]}


def any_plan() -> JsonObject:
    """The schema of a member `plan` of such a problem."""
    return {"anyOf": [*plan()["anyOf"], ref("SymbolicPlan")]}


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
    description: str,
    example: Any,
    schema: JsonObject,
    *failures: int,
    status: int = 200,
    media_type: str = "application/json",
    also: Responses | None = None,
    as_text: str | None = None,
    as_source: str | None = None,
    as_model: bool = False,
    as_picture: bool = False,
    headers: JsonObject | None = None,
) -> Responses:
    """The responses of an operation: this one, and errors with the statuses of `failures`.

    With examples in CSV and in C where it can be those as well. Bytes have none: JSON cannot hold them.
    """
    content = {media_type: {"schema": schema, **({} if schema == BYTES else {"example": example})}}
    if as_text is not None:
        content["text/csv"] = {"schema": {"type": "string"}, "example": as_text}
    if as_source is not None:
        content["text/plain"] = {"schema": {"type": "string"}, "example": as_source}
        content["image/svg+xml"] = {"schema": {"type": "string"}, "example": SVG}
        for name, plan in PLANS_FOR_OTHERS.items():
            content[media_type_of_plan(name)] = {"schema": {}, "example": plan}
        content[media_type_of_plan("loops")] = {"schema": {}, "example": {"version": 1, "segments": []}}
    if as_picture:
        content["image/svg+xml"] = {"schema": {"type": "string"}, "example": SVG}
    if as_model:
        content[MEDIA_TYPES["tflite"]] = {"schema": BYTES}
    success: JsonObject = {"description": description, "content": content}
    if headers is not None:
        success["headers"] = headers
    return {status: success, **(also or {}), **errors(*failures)}


def enveloped(
    members: JsonObject,
    required: list[str],
    example: JsonObject,
    alone: bool = True,
    models: tuple[str, ...] | None = None,
    tiles: bool = False,
) -> JsonObject:
    """The request body of an operation: an envelope, and where allowed a problem alone in any format."""
    schemas = [_envelope(members, required)]
    if "problem" in members:
        schemas.append(_graph_envelope(members, required))
    if tiles:
        of_tiles = {"graph": ref("Graph"), "target": target(), "tiling": ref("Tilings")}
        schemas.append(_envelope(of_tiles, ["graph", "tiling"]))
    if alone:
        # Told apart by what they hold: only an envelope has a member `problem` without a version beside it.
        schemas += [ref("Problem"), ref("Graph")]
        if "shapes" in members:
            schemas += _OF_SYMBOLS
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    content: JsonObject = {"application/json": {"schema": schema, "example": example}}
    if alone:
        content[MEDIA_TYPES["json"]] = {"schema": ref("Problem"), "example": PROBLEM}
        content[MEDIA_TYPES["csv"]] = {"schema": {"type": "string"}, "example": CSV}
        for name in ("structured", "programs"):
            content[MEDIA_TYPES[name]] = {"schema": ref("OtherFormat"), "example": EXAMPLES_ALONE[name]}
        for name in ("executorch", "usmp"):
            # A list or an object. Without a schema: a list among the kinds of a body is what a generator of
            # clients for Python makes calls of that fail, whatever the body.
            content[MEDIA_TYPES[name]] = {"example": EXAMPLES_ALONE[name]}
        content[MEDIA_TYPES["xla"]] = {"schema": {"type": "string"}, "example": XLA_DUMP}
        content[MEDIA_TYPES["graph"]] = {"schema": ref("Graph"), "example": GRAPH}
    for name in models or ((*MODEL_FORMATS, *RECORDED) if alone else ()):
        content[MEDIA_TYPES[name]] = {"schema": BYTES}
    return {"requestBody": {"required": True, "content": content}}


def of_graph(example: JsonObject) -> JsonObject:
    """The request body of an operation about a graph: in an envelope, alone, or as a model."""
    enveloped = _envelope({"graph": ref("Graph"), "target": target()}, ["graph"])
    schema = {"anyOf": [enveloped, ref("Graph")]}
    content: JsonObject = {"application/json": {"schema": schema, "example": example}}
    content[MEDIA_TYPES["graph"]] = {"schema": ref("Graph"), "example": example}
    for name in MODEL_FORMATS:
        content[MEDIA_TYPES[name]] = {"schema": BYTES}
    return {"requestBody": {"required": True, "content": content}}


def of_model() -> JsonObject:
    """The request body of an operation about a model that can be built, whose content says which it is.

    Some generators of clients know no type of bytes but `application/octet-stream`.
    """
    media_types = (*(MEDIA_TYPES[name] for name in ("tflite", "onnx")), "application/octet-stream")
    content = {media_type: {"schema": BYTES} for media_type in media_types}
    return {"requestBody": {"required": True, "content": content}}


def of_symbols(problem: JsonObject, plan: JsonObject, at: JsonObject) -> JsonObject:
    """The request body of an operation about a symbolic plan at values, with these examples."""
    values = {"type": "object", "additionalProperties": {"type": "integer"}}
    members = {"problem": {"anyOf": _OF_SYMBOLS}, "plan": ref("SymbolicPlan"), "at": values}
    example = {"problem": problem, "plan": plan, "at": at}
    content = {"application/json": {"schema": _envelope(members, list(members)), "example": example}}
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
        "graph": {"anyOf": [ref("Graph"), ref("SymbolicGraph")]}
        if members["problem"] == any_problem()
        else ref("Graph"),
        "order": {"enum": list(ORDERS), "description": "Instead of the order that the graph asks for."},
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
    "programs": {
        "version": 1,
        "programs": [
            {
                "id": "prefill",
                "problem": {
                    "version": 1,
                    "buffers": [
                        {"id": "cache", "size": 4096, "lifetime": [1, 3]},
                        {"id": "x", "size": 2048, "lifetime": [0, 2]},
                    ],
                },
            },
            {
                "id": "decode",
                "problem": {
                    "version": 1,
                    "buffers": [
                        {"id": "cache", "size": 4096, "lifetime": [0, 2]},
                        {"id": "y", "size": 1024, "lifetime": [1, 2]},
                    ],
                },
            },
        ],
        "kept": [{"buffers": [["prefill", "cache"], ["decode", "cache"]], "life": "used"}],
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


def tidy(document: JsonObject) -> None:
    """Make the document one of which generators of clients make typed clients, in three languages at least.

    A body that is an object gets a name, for the class that it becomes. What is the same in every object of a
    kind is required, so that it tells the kinds apart.
    """
    for operations in document["paths"].values():
        for operation in operations.values():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if content is not None:
                content["schema"] = _named_bodies(document, operation["operationId"], content["schema"])
    _tidy(document)


def _named_bodies(document: JsonObject, operation: str, schema: JsonObject) -> JsonObject:
    """The schema of a body with its objects moved to the components."""
    if "anyOf" in schema:
        return {"anyOf": [_named_bodies(document, operation, kind) for kind in schema["anyOf"]]}
    if "properties" not in schema:
        return schema
    name = "".join(word.capitalize() for word in operation.split("_"))
    name += "GraphEnvelope" if "graph" in schema["properties"] else "Envelope"
    document["components"]["schemas"][name] = schema
    return ref(name)


def _tidy(node: Any) -> None:
    if isinstance(node, list):
        for part in node:
            _tidy(part)
    if isinstance(node, dict):
        _tidy_types(node)
        _tidy_kinds(node)
        for name, part in node.items():
            if name not in ("example", "examples"):
                _tidy(part)


def _tidy_types(node: JsonObject) -> None:
    """Say what a value is where that is left open, or taken for something smaller."""
    kinds = node.get("type")
    listed = kinds if isinstance(kinds, list) else [kinds]
    for kind, size in (("integer", "int64"), ("number", "double")):
        if kind in listed:
            node.setdefault("format", size)
    if isinstance(node.get("enum"), list) and not {"type", "anyOf"} & node.keys():
        node["type"] = "string"
    parts = node.get("prefixItems")
    if parts and "items" not in node and all(part == parts[0] for part in parts):
        node["items"] = dict(parts[0])


def _tidy_kinds(node: JsonObject) -> None:
    """Let each kind say which it is."""
    members = node.get("properties")
    if isinstance(members, dict):
        same = [name for name, member in members.items() if isinstance(member, dict) and "const" in member]
        if same:
            node["required"] = [*same, *(name for name in node.get("required", ()) if name not in same)]
    if "discriminator" in node and "oneOf" in node:
        del node["discriminator"]
        node["anyOf"] = node.pop("oneOf")


def pretty(document: Any) -> str:
    """A document as text, as it is committed."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
