"""Parameters of queries that routes have in common, as the OpenAPI document lists them."""

from typing import Final

from memstow.api.http import schemas
from memstow.api.http.responses import MEDIA_TYPES
from memstow.api.operations import plan_forms
from memstow.api.operations.body import LONGEST_NAME
from memstow.api.operations.encoding import OPTION_NAMES, TARGETS
from memstow.planner.model.graph import ORDERS
from memstow.planner.model.symbolic import MOST_ORDERS, SHAPES

FORMAT_PARAMETERS: Final = [
    {
        "name": name,
        "in": "query",
        "required": False,
        "schema": {
            "anyOf": [{"type": "string"}, {"type": "null"}],
            "description": description,
            "enum": list(allowed),
            "title": title,
        },
        "description": description,
    }
    for name, title, allowed, description in (
        ("format", "Format", MEDIA_TYPES, "Format of a body that is a problem alone."),
        ("output_format", "Output Format", plan_forms.names(), "Format of the plan."),
    )
]
"""As FastAPI writes them: a route that reads its query itself spends no time on finding out how."""
SOURCE_PARAMETERS: Final = [
    {"name": name, "in": "query", "description": description, "schema": schema, "required": False}
    for name, description, schema in (
        ("prefix", "How the names in source code begin; default: plan.", {"type": "string"}),
        (
            "section",
            "POOL=SECTION: the section for the arena of a pool in source code; may be repeated.",
            {"type": "array", "items": {"type": "string"}},
        ),
        ("header", "The name by which C source code includes the header.", {"type": "string"}),
        ("order_only", "Of a model that is written: the order alone, and no plan.", {"type": "boolean"}),
        ("replan", "Of a model that is written: a plan in the place of its own.", {"type": "boolean"}),
    )
]
OPTION_PARAMETERS: Final = [
    {
        "name": name,
        "in": "query",
        "description": f"The option `{name}`, unless the body says otherwise.",
        "schema": schemas.in_query(schema),
        "required": False,
    }
    for name, schema in schemas.options()["properties"].items()
    if name in OPTION_NAMES
]
"""Each with a schema of its own: generators of clients follow no reference into another schema."""

SHAPES_PARAMETERS: Final = [
    {"name": name, "in": "query", "description": description, "schema": schema, "required": False}
    for name, description, schema in (
        (
            "shapes",
            "Of a problem with symbols: offsets for every value (fixed), an order from which they follow "
            "(order, which is the default), or several orders (pieces).",
            {"enum": list(SHAPES)},
        ),
        (
            "pieces",
            "With shapes=pieces: at most this many orders; default: 2.",
            {"type": "integer", "minimum": 1, "maximum": MOST_ORDERS},
        ),
    )
]
NAME_PARAMETER: Final = {
    "name": "name",
    "in": "query",
    "description": "What its job is called, such as the name of the file; default: the name of the problem.",
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME},
    "required": False,
}
FRONT_NAMES: Final = ("terms", "generators", "cost", "within", "points")
FRONT_PARAMETERS: Final = [
    {"name": name, "in": "query", "description": description, "schema": schema, "required": False}
    for name, description, schema in (
        ("terms", "The two terms of the front, with a comma between.", {"type": "string"}),
        ("generators", "Of a graph: what may be done, with commas between, or none.", {"type": "string"}),
        ("cost", "Of a graph: given, or bytes.", {"enum": ["given", "bytes"]}),
        ("within", "At most this many times the least second term.", {"type": "number", "minimum": 1}),
        ("points", "At most this many points.", {"type": "integer", "minimum": 1, "maximum": 1000}),
        (
            TARGETS,
            "Names of targets, with commas between: a front in the memories of each.",
            {"type": "string"},
        ),
    )
]

CHANGE_PARAMETERS: Final = [
    {"name": name, "in": "query", "description": description, "schema": schema, "required": False}
    for name, description, schema in (
        ("target", "The name of a target whose pools are used.", {"type": "string"}),
        (
            "order",
            "Of a graph or a model: run operators as listed (given), in the best order that it allows "
            "(free), or in that of a rule.",
            {"enum": list(ORDERS)},
        ),
        (
            "in_place",
            "Of a graph or a model: whether operators may overwrite their inputs. Default: those that a "
            "graph names, none of a model.",
            {"type": "boolean"},
        ),
        (
            "dim",
            "NAME=VALUE: the value of a dimension that an ONNX model leaves open; may be repeated.",
            {"type": "array", "items": {"type": "string"}},
        ),
    )
]
