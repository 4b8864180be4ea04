"""Turns a solution in floats into layouts in integers.

The floats give the order of the items. Items are placed in that order, each as low as possible, so that
a solution with small errors still becomes a layout.
"""

from array import array

from memstow.solvers.instance import Instance, Layout
from memstow.solvers.models.places import Choice
from memstow.solvers.models.relations import Pair, Relations


class Rounding:
    """Turns solutions of a task into layouts, which may be invalid."""

    def __init__(
        self, instance: Instance, relations: Relations, choices: list[list[Choice]], pairs: list[Pair]
    ) -> None:
        self._instance = instance
        self._choices = choices
        self._met: list[list[tuple[int, int, bool]]] = [[] for _ in range(instance.item_count)]
        self._item_of = relations.item_of
        for pair in pairs:
            one, two = relations.item_of[pair.first], relations.item_of[pair.second]
            self._met[one].append((pair.first, pair.second, pair.shared))
            self._met[two].append((pair.second, pair.first, pair.shared))

    def plain(self, pools: list[int], offsets: list[float]) -> Layout:
        """Every offset rounded by itself."""
        return Layout(array("q", pools), array("q", map(round, offsets)))

    def press_down(self, pools: list[int], offsets: list[float]) -> Layout | None:
        """The items in the order of their offsets, each as low as those below it allow."""
        placed: dict[int, int] = {}
        deltas, sizes = self._instance.part_delta, self._instance.part_size
        for item in sorted(range(len(pools)), key=lambda i: (offsets[i], i)):
            low = 0
            for mine, theirs, shared in self._met[item]:
                other = self._item_of[theirs]
                if other not in placed or pools[other] != pools[item]:
                    continue
                begin = placed[other] + deltas[theirs]
                gap = offsets[item] + deltas[mine] - (offsets[other] + deltas[theirs])
                if shared and abs(gap) < 0.5:
                    low = max(low, begin - deltas[mine])
                elif gap > -0.5:
                    low = max(low, begin + sizes[theirs] - deltas[mine])
            offset = self._least(item, pools[item], low)
            if offset is None:
                return None
            placed[item] = offset
        return Layout(array("q", pools), array("q", [placed[item] for item in range(len(pools))]))

    def _least(self, item: int, pool: int, low: int) -> int | None:
        """The least offset allowed that is not below `low`."""
        for choice in self._choices[item]:
            if choice.pool == pool:
                step = -(-(low - choice.residue) // choice.modulus)
                for first, last in choice.steps:
                    if step <= last:
                        return choice.residue + choice.modulus * max(step, first)
        return None
