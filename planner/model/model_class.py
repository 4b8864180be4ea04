"""Classes of the wire schema that Python code can also build, with lists, NumPy integers and defaults.

The fields of such a class are the types of a document, checked strictly. Its `__init__`, if it has one, is
only a signature, for `help`, editors and type checkers: the arguments that code may pass. Arguments are
checked against the fields, so an instance is the same wherever it comes from. The check is our own for plain
values (`plain_values`) and pydantic's for all others (`validators`), which also words what is wrong.
"""

import dataclasses
from collections.abc import Callable
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
)

from memstow.planner.model.fields import Field, FieldSpec
from memstow.planner.model.plain_values import NotPlainError, plain_fields
from memstow.planner.model.records import bare, set_constructor

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

_T = TypeVar("_T")
_CONFIG: Final = {"extra": "forbid", "allow_inf_nan": False}
"""How pydantic takes such a class: no unknown fields, no infinities."""


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
def model_class(cls: type[_T]) -> type[_T]:
    """A frozen class with these fields and the signature of its `__init__`."""
    raw: Any = cls
    declared = raw.__dict__.get("__init__")
    for name in raw.__annotations__:
        if isinstance(spec := raw.__dict__.get(name), FieldSpec):
            setattr(raw, name, spec.for_dataclass())
    raw.__pydantic_config__ = _CONFIG
    raw.__get_pydantic_core_schema__ = classmethod(_described_first)
    model = bare(cls, kw_only=True)
    _add_constructor(model, declared)
    return model  # type: ignore[no-any-return]


def _described_first(cls: Any, source: Any, handler: "GetCoreSchemaHandler") -> "CoreSchema":
    """How pydantic reads the class: errors and JSON schemas name the fields that have a description first."""
    made = handler(source)
    listed: list[Any] = handler.resolve_ref_schema(made)["schema"]["fields"]
    described = {field.name for field in dataclasses.fields(cls) if field.metadata}
    listed.sort(key=lambda field: field["name"] not in described)
    return made


def _add_constructor(model: Any, declared: Any) -> None:
    fields = dataclasses.fields(model)
    shown: dict[str, object] = getattr(declared, "__kwdefaults__", None) or {}
    # The version, which only a document must say.
    defaults = {
        field.name: shown[field.name]
        for field in fields
        if field.name in shown and field.default is field.default_factory is dataclasses.MISSING
    }

    def construct(self: object, /, **given: object) -> None:
        if defaults:
            given = defaults | given
        try:
            plain_fields(model).put(self, given)
        except NotPlainError:
            from memstow.planner.model.validators import fill

            fill(self, given)

    set_constructor(model, construct, declared)


def maker_of(model: type[_T], *names: str) -> Callable[..., _T]:
    """Makes instances of valid values of these fields, in this order, without checks; the rest is as always.

    Checks take most of the time of a small plan.
    """
    fields = {field.name: field for field in dataclasses.fields(model)}  # type: ignore[arg-type]
    setters = {name: model.__dict__[name].__set__ for name in fields}
    given = tuple(setters.pop(name) for name in names)
    others = tuple((put, fields[name].default) for name, put in setters.items())
    if any(value is dataclasses.MISSING for _, value in others):
        raise TypeError(f"{model.__qualname__} has fields without a constant default that are not named")
    new = object.__new__

    def make(*values: object) -> _T:
        made = new(model)
        for put, value in zip(given, values, strict=True):
            put(made, value)
        for put, value in others:
            put(made, value)
        return made

    return make


def instances_of(model: type[_T], count: int, **columns: object) -> tuple[_T, ...]:
    """So many instances of valid values, without checks, in native code; the rest is as always.

    A field has a list with a value for each instance, or one value for all of them.
    """
    # Small runs have few instances, and do not wait for this import.
    from memstow.planner.model import _instances

    given: list[tuple[str, object]] = []
    for field in dataclasses.fields(model):  # type: ignore[arg-type]
        value = columns.pop(field.name, field.default)
        if value is dataclasses.MISSING:
            raise TypeError(f"{model.__qualname__} needs {field.name!r}")
        given.append((field.name, value))
    if columns:
        raise TypeError(f"{model.__qualname__} has no {', '.join(columns)}")
    return _instances.instances(model, given, count)


def alternatives(kind: object) -> list[Any]:
    """The types a value may have, null left out."""
    origin = get_origin(kind)
    if origin is Annotated:
        return alternatives(get_args(kind)[0])
    if origin in (Union, UnionType):
        return [one for arg in get_args(kind) if arg is not NoneType for one in alternatives(arg)]
    return [] if kind is None else [kind]


def element_of(kind: object) -> object | None:
    """The type of the elements of a list of any length; None where the type is not such a list."""
    kinds = alternatives(kind)
    if len(kinds) == 1 and get_origin(kinds[0]) is tuple:
        arguments = get_args(kinds[0])
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            element: object = arguments[0]
            return element
    return None
