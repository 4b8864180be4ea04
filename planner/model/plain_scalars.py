"""Checks numbers and texts that are plainly right: a reader of each type, with its limits."""

from collections.abc import Callable, Mapping
from math import inf, isfinite
from typing import Any, Final, NoReturn, get_args

from memstow.planner.model.fields import WITHOUT_NUL

Reader = Callable[[Any], Any]
Limits = Mapping[str, Any]

_LARGEST_EXACT: Final = 1 << 53
"""Up to here each integer is a float."""


class NotPlainError(ValueError):
    """The value may be right or wrong: pydantic knows."""


def refuse(_: object) -> NoReturn:
    """No value is plain."""
    raise NotPlainError


def integer(_: object, limits: Limits) -> Reader:
    """Integers in a range."""
    least, most = limits.get("ge", -inf), min(limits.get("le", inf), limits.get("lt", inf) - 1)

    def read(value: Any) -> int:
        if type(value) is int and least <= value <= most:
            return value
        raise NotPlainError

    return read


def number(_: object, limits: Limits) -> Reader:
    """Finite numbers in a range: integers become what they are as floats."""
    least, most = limits.get("ge", -inf), limits.get("le", inf)

    def read(value: Any) -> float:
        exact = type(value) is float or (type(value) is int and -_LARGEST_EXACT <= value <= _LARGEST_EXACT)
        if exact and least <= value <= most and isfinite(value):
            return float(value)
        raise NotPlainError

    return read


def truth(_: object, __: Limits) -> Reader:
    """true and false."""

    def read(value: Any) -> bool:
        if type(value) is bool:
            return value
        raise NotPlainError

    return read


def text(_: object, limits: Limits) -> Reader:
    """Text of a length, each character whole; the one pattern that is known is that of no NUL."""
    shortest, longest = limits.get("min_length", 0), limits.get("max_length", inf)
    pattern = limits.get("pattern")
    if pattern not in (None, WITHOUT_NUL):
        return refuse
    unwanted = None if pattern is None else "\0"

    def read(value: Any) -> str:
        if (
            type(value) is str
            and shortest <= len(value) <= longest
            and (unwanted is None or unwanted not in value)
            and (value.isascii() or _whole(value))
        ):
            return value
        raise NotPlainError

    return read


def _whole(text: str) -> bool:
    """Whether no character is half of one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def literal(kind: Any, _: Limits) -> Reader:
    """One of these strings."""
    allowed = frozenset(get_args(kind))

    def read(value: Any) -> str:
        if type(value) is str and value in allowed:
            return value
        raise NotPlainError

    return read
