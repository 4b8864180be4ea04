"""What a plan of a problem with symbols is to consist of: as requests say it, and as jobs keep it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.symbolic import MOST_ORDERS, SHAPES, Shapes
from memstow.planner.reading.printable import shown

SHAPES_MEMBERS: Final = ("shapes", "pieces")
"""The members of an envelope, and of the options of a job, that say it."""
_DEFAULT_ORDERS: Final = 2


@dataclass(frozen=True, slots=True)
class ShapesAsked:
    """The kind of plan, and how many orders it may have."""

    shapes: Shapes = "order"
    pieces: int = 1


def parse_shapes(given: Mapping[str, object]) -> ShapesAsked:
    """What these members ask for; InputError with everything that is wrong."""
    issues: list[Issue] = []
    asked = given.get("shapes", "order")
    shapes = next((it for it in SHAPES if it == asked), None)
    if shapes is None:
        message = f"{shown(asked)} is no kind of plan; use one of {', '.join(SHAPES)}"
        issues.append(Issue("unknown_shapes", "$.shapes", message))
    pieces = given.get("pieces", _DEFAULT_ORDERS)
    if not isinstance(pieces, int) or isinstance(pieces, bool) or not 1 <= pieces <= MOST_ORDERS:
        message = f"expected a whole number from 1 to {MOST_ORDERS}, given {shown(pieces)}"
        issues.append(Issue("out_of_range", "$.pieces", message))
    elif "pieces" in given and shapes not in ("pieces", None):
        message = f"it is how many orders a plan of `pieces` may have, and this asks for `{shapes}`; "
        issues.append(Issue("unused_option", "$.pieces", message + "leave it out, or ask for shapes=pieces"))
    elif shapes == "pieces":
        return ShapesAsked("pieces", pieces)
    if issues or shapes is None:
        raise InputError(issues)
    return ShapesAsked(shapes)


def with_shapes(options: str, asked: ShapesAsked) -> str:
    """The options of a job for such a plan."""
    return json.dumps({**json.loads(options), **plain_shapes(asked)})


def plain_shapes(asked: ShapesAsked) -> dict[str, str | int]:
    """The members that ask for it."""
    if asked.shapes == "pieces":
        return {"shapes": asked.shapes, "pieces": asked.pieces}
    return {"shapes": asked.shapes}


def shapes_in(options: str) -> ShapesAsked:
    """What the options of a job ask for."""
    kept = json.loads(options)
    return parse_shapes({name: kept[name] for name in SHAPES_MEMBERS if name in kept})
