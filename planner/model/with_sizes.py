"""A symbolic problem as an ordinary one, given the sizes."""

from collections import deque
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final

from memstow.planner.model.fields import fields_of
from memstow.planner.model.memory import collector_at_rest
from memstow.planner.model.problem import LIMIT, Buffer, Problem
from memstow.planner.model.symbolic import SymbolicBuffer, SymbolicProblem

_COPIED: Final = tuple(name for name in fields_of(SymbolicBuffer) if name != "size")


def with_sizes(problem: SymbolicProblem, sizes: Sequence[int]) -> Problem:
    """The ordinary problem whose buffers have these sizes."""
    return Problem(
        version=1,
        name=problem.name,
        pools=problem.pools,
        buffers=_buffers(problem.buffers, sizes),
        conflicts=problem.conflicts,
        exclusive=problem.exclusive,
        relative=problem.relative,
        in_place=problem.in_place,
        objective=problem.objective,
    )


def _buffers(buffers: Sequence[SymbolicBuffer], sizes: Sequence[int]) -> tuple[Buffer, ...]:
    """Buffers of these sizes, made without checks, which would take most of the time: all else is checked."""
    if len(sizes) != len(buffers) or not all(type(it) is int and 0 <= it <= LIMIT for it in sizes):
        raise ValueError("sizes are whole numbers from 0 to 2^62, one for each buffer")
    with collector_at_rest():
        made = [object.__new__(Buffer) for _ in buffers]
        _put(made, "size", sizes)
        _put(made, "accesses", (None for _ in buffers))
        for name in _COPIED:
            _put(made, name, map(attrgetter(name), buffers))
        return tuple(made)


def _put(made: list[Buffer], name: str, values: Iterable[object]) -> None:
    """Set the field of each, which is frozen for others."""
    deque(map(Buffer.__dict__[name].__set__, made, values), maxlen=0)
