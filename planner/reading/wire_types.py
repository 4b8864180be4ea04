"""The types of the wire models, walked: which part of a document is described by which dataclass."""

import dataclasses
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from memstow.planner.reading.paths import Path


class Place(NamedTuple):
    """Where an error of pydantic is in the document."""

    path: Path
    holder: Any
    """The dataclass the last step is in, where it is in one."""
    union: Path | None
    """Where a choice between types was made that the document does not name."""


def place_of(kind: object, location: tuple[str | int, ...]) -> Place:
    """Pydantic's location without the labels it gives to the branches of a union."""
    path: list[str | int] = []
    holder: Any = None
    union: Path | None = None
    kinds = alternatives(kind)
    for step in location:
        if len(kinds) > 1:
            if not all(map(dataclasses.is_dataclass, kinds)):
                union = tuple(path)
            kinds = [k for k in kinds if _label_fits(k, str(step))][:1]
            continue
        current: Any = kinds[0] if kinds else None
        path.append(step)
        holder = current if dataclasses.is_dataclass(current) else None
        kinds = alternatives(_member(current, step))
    if len(kinds) > 1 and not all(map(dataclasses.is_dataclass, kinds)):
        union = tuple(path)
    return Place(tuple(path), holder, union)


def alternatives(kind: object) -> list[Any]:
    """The types a value may have, null left out."""
    origin = get_origin(kind)
    if origin is Annotated:
        return alternatives(get_args(kind)[0])
    if origin in (Union, UnionType):
        return [one for arg in get_args(kind) if arg is not NoneType for one in alternatives(arg)]
    return [] if kind is None else [kind]


def fields_of(holder: Any) -> dict[str, FieldInfo]:
    """The fields of a pydantic dataclass, in order."""
    return _fields_of(holder)


@cache
def _fields_of(holder: Any) -> dict[str, FieldInfo]:
    described: dict[str, FieldInfo] = holder.__pydantic_fields__
    return {field.name: described[field.name] for field in dataclasses.fields(holder)}


def element_of(kind: object) -> object | None:
    """The type of the elements of a list of any length; None where the type is not such a list."""
    kinds = alternatives(kind)
    if len(kinds) == 1 and get_origin(kinds[0]) is tuple:
        arguments = get_args(kinds[0])
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            element: object = arguments[0]
            return element
    return None


def _member(kind: Any, step: str | int) -> object | None:
    if dataclasses.is_dataclass(kind):
        field = fields_of(kind).get(str(step))
        return None if field is None else field.annotation
    if get_origin(kind) is tuple and isinstance(step, int):
        arguments = get_args(kind)
        if arguments[-1] is Ellipsis:
            first: object = arguments[0]
            return first
        return arguments[step] if step < len(arguments) else None
    return None


def _label_fits(kind: Any, label: str) -> bool:
    if dataclasses.is_dataclass(kind):
        tag = fields_of(kind).get("kind")
        return tag is not None and label in get_args(tag.annotation)
    if get_origin(kind) is tuple:
        return label.startswith("tuple[")
    if get_origin(kind) is Literal:
        return label.startswith("literal[")
    return bool(getattr(kind, "__name__", None) == label)
