"""Instances of the classes of the wire schema, from documents or from columns."""

from collections.abc import Sequence
from typing import Any

class Kind:
    """What a field may hold."""

def text(shortest: int, longest: int, may_hold_nul: bool, words: Sequence[str]) -> Kind:
    """Text of so many characters; one of these words, if there are any."""

def integer(least: int, most: int) -> Kind:
    """An integer in this range."""

def list_of(element: Kind, shortest: int, longest: int) -> Kind:
    """A list of so many elements of one kind."""

def row_of(members: Sequence[Kind]) -> Kind:
    """A list with one member of each of these kinds."""

def object_of(holder: type, fields: Sequence[tuple[str, Kind, bool, object]]) -> Kind:
    """An object that becomes an instance: of each field name, kind, whether it has a default, and that."""

def one_of(kinds: Sequence[Kind], null: bool) -> Kind:
    """A value of one of these kinds, which look different, or null."""

def value_in(kind: Kind, data: bytes) -> object | None:
    """The value that is all of the JSON text; None where it is not plain."""

def instances(holder: type, fields: Sequence[tuple[str, object]], count: int) -> tuple[Any, ...]:
    """So many instances, as a tuple: each field has a list with a value for each, or one for all."""
