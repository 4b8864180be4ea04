"""Columns of 64-bit integers, whatever holds them: lists, `array`, NumPy, Arrow."""

from array import array
from collections.abc import Iterable
from typing import SupportsIndex, TypeAlias

from memstow.planner.model.errors import InputError
from memstow.planner.reading.printable import as_integer, shown

Integers: TypeAlias = Iterable[SupportsIndex]
"""Any sequence of integers; those that hold 64-bit integers in one block are read in place."""


def column(values: Integers, name: str) -> "array[int]":
    """The integers in one block: the object itself if it is one, else a copy.

    Whatever object it is, native code reads it like an array.
    """
    if isinstance(values, array) and values.typecode == "q":
        return values
    if _is_block(values):
        return values  # type: ignore[return-value]
    try:
        given = values if isinstance(values, list | tuple) else list(values)
        if bool in map(type, given):
            # Python takes them for 1 and 0: as a size that is a mistake, here as in a problem.
            raise TypeError("true and false are not integers")
        return array("q", given)
    except (TypeError, NotImplementedError) as error:  # a view of two dimensions implements no iteration
        raise InputError.single("not_integers", name, f"must hold integers only: {error}") from None
    except OverflowError:
        message = "holds an integer of more than 64 bits; use a smaller unit"
        raise InputError.single("out_of_range", name, message) from None


def integer(value: SupportsIndex, name: str) -> int:
    """A single integer."""
    whole = as_integer(value)
    if whole is None:
        raise InputError.single("not_an_integer", name, f"expected an integer, given {shown(value)}")
    return whole


def _is_block(values: object) -> bool:
    """Whether native code can read it in place."""
    if isinstance(values, list | tuple):
        return False
    try:
        with memoryview(values) as view:  # type: ignore[arg-type]
            whole = view.format in ("q", "l") and view.itemsize == 8
            return whole and view.ndim == 1 and view.c_contiguous
    except (TypeError, BufferError, ValueError):
        return False
