"""Which whole tensors lie in the memory behind that of the tiles: the fewest bytes come from beyond."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from memstow.planner.tiling.measures import Need

MOST_TENSORS: Final = 12
"""Of more, all choices are too many to look at."""


@dataclass(frozen=True, slots=True)
class Homes:
    """The choices of tensors that fit there together, none part of another; None: nothing is limited."""

    choices: tuple[frozenset[str], ...] | None

    def beyond(self, found: Sequence[Need], moved: int) -> int:
        """The bytes that come from beyond, or go there, in the best choice."""
        if self.choices is None:
            return 0
        return moved - max(_at_home(found, choice) for choice in self.choices)

    def best(self, found: Sequence[Need]) -> frozenset[str] | None:
        """The tensors of the best choice; None: all."""
        if self.choices is None:
            return None
        return max(self.choices, key=lambda choice: (_at_home(found, choice), sorted(choice)))


def _at_home(found: Sequence[Need], choice: frozenset[str]) -> int:
    return sum(need.bytes for need in found if need.tensor in choice)


def homes_of(sizes: dict[str, int], capacity: int) -> Homes | None:
    """The choices of these tensors that fit the capacity; None where there are too many to look at."""
    if sum(sizes.values()) <= capacity:
        return Homes((frozenset(sizes),))
    if len(sizes) > MOST_TENSORS:
        return None
    choices: list[frozenset[str]] = []
    for number in range(len(sizes), -1, -1):
        for names in combinations(sizes, number):
            choice = frozenset(names)
            if sum(sizes[it] for it in names) <= capacity and not any(choice < it for it in choices):
                choices.append(choice)
    return Homes(tuple(choices))
