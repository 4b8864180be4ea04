"""Classes of the wire schema that Python code can also build, with lists, NumPy integers and defaults.

The fields of such a class are the types of a document, checked strictly. Its `__init__` is only a signature,
for `help`, editors and type checkers: the arguments that code may pass. Arguments are checked against the
fields, so an instance is the same wherever it comes from. Readers and writers of documents ask here for the
fields of a class and the types of their values.
"""

from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from inspect import Parameter, signature
from operator import index
from types import NoneType, UnionType
from typing import Annotated, Any, Final, TypeVar, Union, dataclass_transform, get_args, get_origin

from pydantic import ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo
from pydantic_core import ArgsKwargs

_T = TypeVar("_T")
_CONFIG: Final = ConfigDict(extra="forbid", allow_inf_nan=False)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
def model_class(cls: type[_T]) -> type[_T]:
    """A frozen class with these fields and the signature of its `__init__`."""
    public = signature(cls)
    # Built now and not at the first use, which would replace our constructor.
    model: Any = dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)(cls)
    validate = model.__pydantic_validator__.validate_python
    defaults = {
        name: parameter.default
        for name, parameter in public.parameters.items()
        if parameter.default is not Parameter.empty and model.__pydantic_fields__[name].is_required()
    }

    def construct(self: object, /, **given: object) -> None:
        if defaults:
            given = defaults | given
        try:
            validate(ArgsKwargs((), given), self_instance=self)
        except ValidationError:
            # Only after a failure, so that plain integers, the usual case, cost nothing.
            plain = _with_plain_integers(given)
            if plain is None:
                raise
            validate(ArgsKwargs((), plain), self_instance=self)

    construct.__name__ = "__init__"
    construct.__qualname__ = f"{cls.__qualname__}.__init__"
    construct.__doc__ = f"Fields: {', '.join(field.name for field in fields(model))}."
    construct.__signature__ = signature(cls.__init__)  # type: ignore[attr-defined]
    model.__init__ = construct
    model.__signature__ = public
    return model  # type: ignore[no-any-return]


def _with_plain_integers(given: dict[str, object]) -> dict[str, object] | None:
    """The arguments with `int` in place of other integers such as NumPy's; None if there are none."""
    if any(isinstance(value, Iterator) for value in given.values()):
        return None  # The first attempt has consumed it.
    plain = {name: _plain(value) for name, value in given.items()}
    return plain if any(plain[name] is not given[name] for name in given) else None


def _plain(value: object) -> object:
    if type(value) is list or type(value) is tuple:
        plain = [_plain(member) for member in value]
        changed = any(new is not old for new, old in zip(plain, value, strict=True))
        return plain if changed else value
    if isinstance(value, int) or not hasattr(value, "__index__"):
        return value
    try:
        return index(value)
    except TypeError:
        return value  # An array, or a NumPy bool: the validator reports its type.


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
    return {field.name: described[field.name] for field in fields(holder)}


def element_of(kind: object) -> object | None:
    """The type of the elements of a list of any length; None where the type is not such a list."""
    kinds = alternatives(kind)
    if len(kinds) == 1 and get_origin(kinds[0]) is tuple:
        arguments = get_args(kinds[0])
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            element: object = arguments[0]
            return element
    return None
