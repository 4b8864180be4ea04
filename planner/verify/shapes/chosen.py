"""What a plan is at one point: the order with the least objective, or the offsets that hold everywhere."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from memstow.planner.model.objective import Term
from memstow.planner.verify.problem_index import ProblemIndex
from memstow.planner.verify.shapes.heights import Broken, Heights, value_of
from memstow.planner.verify.shapes.stack import Stack


class Laid(Protocol):
    """A plan that can be laid out for any sizes."""

    def value(self, sizes: Sequence[int]) -> int: ...


class Orders:
    """The orders of a plan, all sound."""

    def __init__(self, index: ProblemIndex, stacks: Sequence[Stack], term: Term) -> None:
        self._index = index
        self._term = term
        self.stacks = stacks
        self.all = [Heights(stack) for stack in stacks]

    def value(self, sizes: Sequence[int]) -> int:
        """The objective with these sizes."""
        return self._best(sizes)[0]

    def peaks(self, sizes: Sequence[int]) -> list[int]:
        """The peak of each pool with these sizes."""
        return self._best(sizes)[1]

    def broken(self, sizes: Sequence[int]) -> Iterator[Broken]:
        """What does not hold with these sizes."""
        _, _, offsets, heights = self._best(sizes)
        yield from heights.broken(sizes, offsets)

    def _best(self, sizes: Sequence[int]) -> tuple[int, list[int], list[int], Heights]:
        best: tuple[int, list[int], list[int], Heights] | None = None
        for heights in self.all:
            offsets = heights.offsets(sizes)
            peaks = heights.peaks(sizes, offsets)
            value = value_of(self._index, self._term, peaks)
            if best is None or value < best[0]:
                best = value, peaks, offsets, heights
        assert best is not None
        return best
