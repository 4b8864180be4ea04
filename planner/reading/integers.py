"""Integers of any library, as Python's."""

from operator import index
from typing import SupportsIndex, cast


def as_integer(value: object) -> int | None:
    """The value as Python's integer; None for what is none, such as true and false."""
    try:
        return None if isinstance(value, bool) else index(cast(SupportsIndex, value))
    except TypeError:
        return None
