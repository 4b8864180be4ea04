"""The judge of columns: 64-bit integers in `array` or any other block."""

from array import array
from collections.abc import Sequence
from enum import Enum

class Defect(Enum):
    """What is wrong with a column, or with the places."""

    NONE = 0
    LENGTH = 1
    SIZE = 2
    LIFETIME = 3
    ALIGNMENT = 4
    PLACE = 5
    UNALIGNED = 6
    OVERLAP = 7

Finding = tuple[Defect, int, int]
Ints = array[int] | memoryview

def check_columns(sizes: array[int], begins: array[int], ends: array[int], alignments: array[int]) -> Finding:
    """The first thing that is wrong with the columns, and the buffers concerned."""

def judge_places(
    sizes: array[int],
    begins: array[int],
    ends: array[int],
    alignments: array[int],
    offsets: array[int],
    capacity: int,
) -> tuple[Finding, int, int]:
    """The first thing that is wrong with the offsets, their peak, and the least peak of any layout."""

def judge_plan(
    sizes: Ints,
    begins: Ints,
    ends: Ints,
    alignments: Ints,
    offsets: Ints,
    capacity: int,
) -> tuple[Finding, int, int, int]:
    """The first thing that is wrong with the offsets, their peak, the most live bytes, and when."""

def proven(sizes: Ints, begins: Ints, ends: Ints, alignments: Ints, members: Ints, moment: int) -> int | None:
    """The least peak of any layout that follows from buffers that live at one moment; None for no such."""

class Room(Enum):
    """Whether there is a layout below a height."""

    NONE = 0
    SOME = 1
    TOO_MUCH = 2

def room_for(sizes: Ints, begins: Ints, ends: Ints, height: int, steps: int) -> Room:
    """Whether these buffers have a layout that is no higher, by a complete search of so many steps.

    Sizes are at least 1 and add up to less than 2^62; there are no alignments.
    """

def least_peak(sizes: Ints, begins: Ints, ends: Ints, alignments: Ints) -> int:
    """The least peak of any layout; 0 of columns that are not valid."""

class Program:
    """A graph by number, as the judge runs it. Uses: where those of each operator begin, and the tensors."""

    def __init__(
        self,
        kinds: bytes,
        inputs: tuple[Ints, Ints],
        outputs: tuple[Ints, Ints],
        pairs: tuple[Ints, Ints],
        given: Ints,
        kept: Ints,
    ) -> None: ...
    has_two_producers: bool
    """Whether two operators make one tensor that is no state, or one makes an input of the graph."""
    has_wrong_pair: bool
    """Whether a pair in place is not an input and an output of its operator."""

    def run(self, order: Ints) -> tuple[list[int], list[int], list[tuple[int, int]]] | None:
        """By tensor, at which place it is made and at which it is needed last, and pairs that share a place.

        Place 0 is before the first operator of the order, k is the k-th, and one more than all is the end.
        None where an operator is missing, or reads what is made later.
        """

class Formulas:
    """Formulas of symbols, as the judge reads them."""

    def __init__(self, names: Sequence[str], axes: Sequence[tuple[int, int, int]]) -> None: ...
    def read(self, text: str) -> bool:
        """Whether the text is a formula that can be read here; then it is the next one, counted from 0."""

    def values(self, at: Sequence[int]) -> list[int] | None:
        """The value of each; None where one has none."""

    def value(self, formula: int, at: Sequence[int]) -> int | None: ...
    def used(self, formula: int) -> list[int]:
        """The symbols that are in it, by position."""

    def is_never_below(self, formula: int, least: int) -> bool: ...
    def largest(
        self, formula: int, most: int, left: int, above: int | None, negated: bool
    ) -> tuple[int, int, list[int], int] | None:
        """No value is above the first; the second is the largest seen, and where; among how many boxes."""
