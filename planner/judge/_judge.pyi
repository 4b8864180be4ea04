"""The judge of columns: 64-bit integers in `array` or any other block."""

from array import array
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
