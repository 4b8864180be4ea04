"""Plain values and instances of the classes of the wire schema."""

from collections.abc import Callable, Sequence
from typing import Any

class NotPlainError(ValueError):
    """The value may be right or wrong: pydantic knows."""

class Kind:
    """What a field may hold."""

def text(shortest: int, longest: int, letters: str) -> Kind:
    """Text of so many characters: any, those of a name, or without NUL."""

def words(values: Sequence[tuple[str, object]]) -> Kind:
    """One of these words, each with the value that it stands for."""

def truth() -> Kind:
    """true and false."""

def integer(least: int, most: int) -> Kind:
    """An integer in this range."""

def number(least: float, most: float) -> Kind:
    """A finite number in this range."""

def list_of(element: Kind, shortest: int, longest: int) -> Kind:
    """A list of so many elements of one kind."""

def row_of(members: Sequence[Kind]) -> Kind:
    """A list with one member of each of these kinds."""

def table_of(name: Kind, member: Kind) -> Kind:
    """An object that stays one, of any names of a kind."""

def object_of(
    holder: type,
    describe: Callable[[], Sequence[tuple[str, Kind, bool, object, bool]]],
    tags: Sequence[str],
) -> Kind:
    """An object that becomes an instance.

    `describe` returns of each field name, kind, whether it is required, the default, and whether that is
    called; `tags` are for `one_of`.
    """

def one_of(kinds: Sequence[Kind], null: bool, tag: str) -> Kind:
    """A value of one of these kinds, which look different, or null; of classes the tag tells which."""

def value_in(kind: Kind, data: bytes) -> object:
    """The value that is all of the JSON text."""

def plain(kind: Kind, value: object) -> Any:
    """The value as a field holds it."""

def fill(kind: Kind, instance: object, arguments: dict[str, object]) -> None:
    """Set the fields of a new instance of a class."""

def instances(holder: type, fields: Sequence[tuple[str, object]], count: int) -> tuple[Any, ...]:
    """So many instances, as a tuple: each field has a list with a value for each, or one for all."""
