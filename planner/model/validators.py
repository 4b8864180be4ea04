"""Pydantic's side of the classes of the wire schema: it checks what is not plain, and says what is wrong.

Imported only where it is needed: pydantic takes longer to load than most problems take to solve."""

from collections.abc import Iterator
from functools import cache
from operator import index
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ArgsKwargs


@cache
def validator_of(kind: Any) -> TypeAdapter[Any]:
    """The validator of this type."""
    return TypeAdapter(kind)


def fill(instance: object, values: dict[str, object]) -> None:
    """Set the fields of a new instance to these arguments; a ValidationError says what is wrong with them."""
    holder: Any = type(instance)
    validate = validator_of(holder).validator.validate_python
    try:
        validate(ArgsKwargs((), values), self_instance=instance)
    except ValidationError:
        plain = _with_plain_integers(values)
        if plain is None:
            raise
        validate(ArgsKwargs((), plain), self_instance=instance)


def _with_plain_integers(values: dict[str, object]) -> dict[str, object] | None:
    """The arguments with `int` in place of other integers such as NumPy's; None if there are none."""
    if any(isinstance(value, Iterator) for value in values.values()):
        return None  # The first attempt has consumed it.
    plain = {name: _plain(value) for name, value in values.items()}
    return plain if any(plain[name] is not values[name] for name in values) else None


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
