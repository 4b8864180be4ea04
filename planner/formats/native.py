"""The native JSON: the wire schema as it is, defaults left out, an element of a list a line."""

import dataclasses
import json
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cache
from typing import Any, Final

from planner.formats.form import Format
from planner.parse import parse_plan, parse_problem
from planner.plan import Plan
from planner.problem import Problem
from planner.shapes import fields_of

# The tag of a choice is what tells one object from another: it stays although it is the default.
_TAG: Final = "kind"
_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def plain(value: Any) -> Any:
    """The value as JSON holds it, fields at their defaults left out."""
    if dataclasses.is_dataclass(value):
        return {
            name: plain(member)
            for name, default in _defaults(value.__class__)
            if (member := getattr(value, name)) != default or name == _TAG
        }
    if isinstance(value, tuple):
        return [plain(member) for member in value]
    return value.value if isinstance(value, Enum) else value


def laid_out(document: dict[str, Any]) -> bytes:
    """JSON text with a field a line, and of a list at the top an element a line."""
    return ("{\n" + ",\n".join(_lines(document)) + "\n}\n").encode()


def list_of_lines(elements: Iterable[Any]) -> bytes:
    """JSON text of a list, an element a line."""
    lines = ",\n".join(map(_encode, elements))
    return (f"[\n{lines}\n]\n" if lines else "[]\n").encode()


def write_problem(problem: Problem) -> bytes:
    """The problem as native JSON."""
    return laid_out(plain(problem))


def write_plan(_problem: Problem, plan: Plan) -> bytes:
    """The plan as native JSON."""
    return laid_out(plain(plan))


def _lines(document: dict[str, Any]) -> Iterator[str]:
    for name, value in document.items():
        if isinstance(value, list) and value and not isinstance(value[0], str | int):
            elements = ",\n    ".join(map(_encode, value))
            yield f"  {_encode(name)}: [\n    {elements}\n  ]"
        else:
            yield f"  {_encode(name)}: {_encode(value)}"


@cache
def _defaults(holder: Any) -> tuple[tuple[str, Any], ...]:
    missing = object()  # equal to nothing: a required field is always written
    return tuple(
        (
            name,
            missing
            if field.is_required()
            else field.get_default(call_default_factory=True, validated_data={}),
        )
        for name, field in fields_of(holder).items()
    )


def _is_problem(raw: Any) -> bool:
    return isinstance(raw, dict) and ("buffers" in raw or "version" in raw)


def _is_plan(raw: Any) -> bool:
    return isinstance(raw, dict) and "status" in raw


def _read_plan(raw: Any, _problem: Problem) -> Plan:
    return parse_plan(raw)


FORMAT: Final = Format(
    name="json",
    is_json=True,
    recognises=_is_problem,
    read_problem=parse_problem,
    write_problem=write_problem,
    recognises_plan=_is_plan,
    read_plan=_read_plan,
    write_plan=write_plan,
)
