"""Classes of the wire schema that people also build in Python: with lists, NumPy integers and fewer words.

The fields of such a class say what a document holds, as strictly as it is read. Its `__init__` says what code
may give: a signature alone, for `help`, editors and type checkers. What is given is checked against the
fields, so an instance is the same wherever it comes from.
"""

from collections.abc import Iterator
from dataclasses import fields
from inspect import Parameter, signature
from operator import index
from typing import Any, Final, TypeVar, dataclass_transform

from pydantic import ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass
from pydantic_core import ArgsKwargs

_T = TypeVar("_T")
_CONFIG: Final = ConfigDict(extra="forbid", allow_inf_nan=False)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
def model_class(cls: type[_T]) -> type[_T]:
    """A frozen class of these fields, constructed as its `__init__` has it."""
    shown = signature(cls)
    # Built at once, not when first used: building later would put another constructor in the place of ours.
    made: Any = dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)(cls)
    validate = made.__pydantic_validator__.validate_python
    left_out = {
        name: parameter.default
        for name, parameter in shown.parameters.items()
        if parameter.default is not Parameter.empty and made.__pydantic_fields__[name].is_required()
    }

    def construct(self: object, /, **given: object) -> None:
        if left_out:
            given = left_out | given
        try:
            validate(ArgsKwargs((), given), self_instance=self)
        except ValidationError:
            # Only now: nobody who gives plain integers waits for a look at each of them.
            plain = _with_plain_integers(given)
            if plain is None:
                raise
            validate(ArgsKwargs((), plain), self_instance=self)

    construct.__name__ = "__init__"
    construct.__qualname__ = f"{cls.__qualname__}.__init__"
    construct.__doc__ = f"What it takes: {', '.join(field.name for field in fields(made))}."
    construct.__signature__ = signature(cls.__init__)  # type: ignore[attr-defined]
    made.__init__ = construct
    made.__signature__ = shown
    return made  # type: ignore[no-any-return]


def _with_plain_integers(given: dict[str, object]) -> dict[str, object] | None:
    """The same with `int` for what can stand for one, as NumPy's integers can; None where nothing can."""
    if any(isinstance(value, Iterator) for value in given.values()):
        return None  # It was used up by the first try.
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
        return value  # An array of several, a truth value of NumPy: told as what it is.
