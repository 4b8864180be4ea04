"""What a plan is at one point: the order with the least objective, or the offsets that hold everywhere."""

from collections.abc import Iterator, Sequence

from memstow.planner.model.objective import Term
from memstow.planner.verify.problem_index import ProblemIndex
from memstow.planner.verify.shapes.heights import Broken, Heights, value_of
from memstow.planner.verify.shapes.stack import Stack


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
        """The order with the least objective, the first of equals."""
        return min((self._laid(heights, sizes) for heights in self.all), key=lambda it: it[0])

    def _laid(self, heights: Heights, sizes: Sequence[int]) -> tuple[int, list[int], list[int], Heights]:
        offsets = heights.offsets(sizes)
        peaks = heights.peaks(sizes, offsets)
        return value_of(self._index, self._term, peaks), peaks, offsets, heights
