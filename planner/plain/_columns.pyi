"""Plain problems and their plans as columns."""

from array import array
from collections.abc import Sequence

from memstow.planner.model.problem import Buffer

class Columns:
    """Buffers with one lifetime each, in one memory, of which only the peak counts."""

    def __len__(self) -> int: ...
    @property
    def sizes(self) -> memoryview: ...
    @property
    def begins(self) -> memoryview: ...
    @property
    def ends(self) -> memoryview: ...
    @property
    def alignments(self) -> memoryview:
        """One for each buffer, or one for all of them."""
    @property
    def pool(self) -> str: ...
    @property
    def capacity(self) -> int | None: ...
    fit_only: bool
    """Whether any plan that fits will do; else the peak is to be minimised."""

    def set_memory(self, pool: str, capacity: int | None) -> None:
        """The memory, where it was not read with the buffers."""
    def name(self, buffer: int) -> str:
        """The id of this buffer."""
    def canonical(self, first: int, last: int) -> bytes:
        """The lines of the canonical form for these buffers in the order of their ids."""
    def placements(self, offsets: array[int], first: int, last: int) -> bytes:
        """The placements of these buffers as elements of a JSON list, from the second on after a comma."""
    def names(self, members: Sequence[int]) -> bytes:
        """The ids of these buffers as elements of a JSON list."""
    def as_csv(self, offsets: array[int]) -> bytes | None:
        """The plan as CSV; None where an id would need quotes."""
    def picture(self, offsets: array[int], width: int, rows: int) -> tuple[bytes, bytes]:
        """The times at which anything changes, and how full each spot is, row by row from the lowest."""

class PlanColumns:
    """What is long in a plan, and the rest of its document."""

    @property
    def offsets(self) -> bytes: ...
    @property
    def members(self) -> bytes: ...
    @property
    def frame(self) -> bytes: ...

def read_csv(data: bytes) -> Columns | None:
    """The plain problem of a CSV; None where it is not plain."""

def read_json(data: bytes) -> Columns | None:
    """The plain problem of native JSON; None where it is not."""

def read_request(data: bytes) -> tuple[Columns, bytes] | None:
    """The plain problem of a request to plan it, and the text of its options; None where it is not one."""

def read_plan(problem: Columns, data: bytes, is_json: bool) -> PlanColumns | None:
    """The plan of native JSON or CSV that places each buffer once; None where it is not so."""

def of_buffers(buffers: Sequence[Buffer], none: Sequence[str]) -> Columns | None:
    """The columns of buffers of the models; None where one is not plain, or has one of these fields."""
