"""Plain values and instances of the classes of the wire schema."""

from array import array
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

class BufferColumns:
    """Buffers of one life each, as columns."""

    sizes: array[int]
    begins: array[int]
    ends: array[int]
    kinds: array[int]
    """Equal for those of one alignment that name the same pools."""
    largest: list[int]
    """By kind, the first of the largest of these buffers."""

def columns_of_buffers(buffers: tuple[Any, ...], rare: Sequence[str]) -> BufferColumns | None:
    """The columns; None where a buffer has not one life of 64-bit times, or one of the rare fields is set."""

def buffer_lines(
    buffers: tuple[Any, ...],
    everywhere: tuple[str, ...],
    rare: Sequence[str],
    other: Callable[[Any], str],
) -> bytes | None:
    """The lines of buffers in a canonical form, in the order of their ids; None where an id is no UTF-8.

    `everywhere` has the ids of all pools; `other` returns the line of a buffer that has one of the fields
    that are rare, or is not as most are in another way.
    """

class GraphColumns:
    """Tensors and operators of a graph by number; -1 stands for a tensor that the graph does not have."""

    def __init__(self, graph: object) -> None: ...
    tensor_number: dict[str, int]
    """By id; of an id that stands twice, the last."""
    operator_number: dict[str, int]
    has_shapes: bool
    """Whether a tensor has a shape, or no size."""
    has_pools: bool
    """Whether a tensor or a temporary names pools."""
    has_temporaries: bool
    has_windows: bool
    has_unknown: bool
    """Whether an operator, or an input or output of the graph, is about a tensor that is not there."""
    is_made_once: bool
    """Whether all data has one maker, and nothing else is made but what lies elsewhere."""
    has_plain_pairs: bool
    """Whether each pair in place is data: an input and an output of its operator."""
    is_listed_in_order: bool
    """Whether nobody reads what an operator makes that is listed later, or what it makes itself."""
    kinds: bytes
    """By tensor, the first letter of its kind."""
    inputs: tuple[array[int], array[int]]
    """Where the tensors that an operator reads begin among all that are read, by operator, and these."""
    outputs: tuple[array[int], array[int]]
    """The same of what operators make."""
    pairs: tuple[array[int], array[int]]
    """The same of the pairs in place, with two tensors for each."""
    given: array[int]
    """The inputs of the graph."""
    kept: array[int]
    """The outputs of the graph."""

    def producers(self) -> list[int]:
        """By tensor, the first operator that makes it; -1 of a state and of what nobody makes."""

    def readers(self) -> list[list[int]]:
        """By tensor, the operators that read it, each once, ascending."""

    def successors(self, pairs: Sequence[tuple[int, int]]) -> list[list[int]]:
        """By operator, those that read what it makes, and seconds of pairs that it is first of; ascending."""
