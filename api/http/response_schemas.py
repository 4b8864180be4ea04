"""The schemas of responses that are written by hand: problem documents, jobs, verdicts."""

from typing import Final

from memstow.api.http.responses import JsonObject
from memstow.planner.verify import Code, Standing, Subject

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
