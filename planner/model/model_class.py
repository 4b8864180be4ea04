"""Classes of the wire schema that Python code can also build, with lists, NumPy integers and defaults.

The fields of such a class are the types of a document, checked strictly. Its `__init__`, if it has one, is
only a signature, for `help`, editors and type checkers: the arguments that code may pass. Arguments are
checked against the fields, so an instance is the same wherever it comes from. The check is our own for plain
values (`plain_values`) and pydantic's for all others (`validators`), which also words what is wrong.
"""

import dataclasses
from inspect import Parameter, Signature, signature
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    NoReturn,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
)

from memstow.planner.model.fields import Field, FieldSpec
from memstow.planner.model.plain_values import NotPlainError, plain_fields

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

_T = TypeVar("_T")
_CONFIG: Final = {"extra": "forbid", "allow_inf_nan": False}
"""How pydantic takes such a class: no unknown fields, no infinities."""


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
def model_class(cls: type[_T]) -> type[_T]:
    """A frozen class with these fields and the signature of its `__init__`."""
    bare: Any = cls
    declared = bare.__dict__.get("__init__")
    for name in bare.__annotations__:
        if isinstance(spec := bare.__dict__.get(name), FieldSpec):
            setattr(bare, name, spec.for_dataclass())
    bare.__pydantic_config__ = _CONFIG
    bare.__get_pydantic_core_schema__ = classmethod(_described_first)
    # `dataclass` would write and compile the source of these methods, which takes ten times as long.
    model: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=True)(bare)
    _add_constructor(model, declared)
    _add_methods(model)
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

    construct.__name__ = "__init__"
    construct.__qualname__ = f"{model.__qualname__}.__init__"
    construct.__doc__ = f"Fields: {', '.join(field.name for field in fields)}."
    if declared is not None:
        construct.__wrapped__ = declared  # type: ignore[attr-defined]
    model.__init__ = construct
    model.__signature__ = _ShownSignature(declared)


class _ShownSignature:
    """The signature of a class, made when somebody asks for it."""

    def __init__(self, declared: Any) -> None:
        self._declared = declared

    def __get__(self, instance: object, owner: Any) -> Signature:
        if self._declared is not None:
            shown = signature(self._declared)
            return shown.replace(parameters=list(shown.parameters.values())[1:])
        parameters = []
        for field in dataclasses.fields(owner):
            default = Parameter.empty if field.default is dataclasses.MISSING else field.default
            kind = Parameter.KEYWORD_ONLY
            parameters.append(Parameter(field.name, kind, default=default, annotation=field.type))
        return Signature(parameters, return_annotation=None)


def _add_methods(model: Any) -> None:
    names = tuple(field.name for field in dataclasses.fields(model))
    setters = tuple(model.__dict__[name].__set__ for name in names)

    def values_of(self: object) -> tuple[object, ...]:
        return tuple([getattr(self, name) for name in names])

    def equal(self: object, other: object) -> bool:
        if self is other:
            return True
        return values_of(self) == values_of(other) if type(other) is type(self) else NotImplemented

    def hashed(self: object) -> int:
        return hash(values_of(self))

    def shown(self: object) -> str:
        listed = zip(names, values_of(self), strict=True)
        return f"{model.__qualname__}({', '.join(f'{name}={value!r}' for name, value in listed)})"

    def state(self: object) -> tuple[object, ...]:
        return values_of(self)

    def set_state(self: object, values: tuple[object, ...]) -> None:
        for put, value in zip(setters, values, strict=True):
            put(self, value)

    model.__eq__, model.__hash__, model.__repr__ = equal, hashed, shown
    model.__getstate__, model.__setstate__ = state, set_state
    model.__setattr__, model.__delattr__ = _refuse_to_set, _refuse_to_delete


def _refuse_to_set(_: object, name: str, __: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


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
