"""Chance that is the same on every machine and in every version of Python.

Only `random.Random.random` is promised to keep its sequence across versions, so everything is made from it.
"""

from collections.abc import MutableSequence, Sequence
from random import Random
from typing import TypeVar

Item = TypeVar("Item")


class Chance:
    """A seeded source of whole numbers, choices and orders."""

    def __init__(self, seed: int) -> None:
        # Not for secrets: a generator of test problems has to be repeatable.
        self.fraction = Random(seed).random  # noqa: S311

    def below(self, limit: int) -> int:
        """A whole number from 0 up to but without the limit."""
        return int(self.fraction() * limit)

    def between(self, least: int, most: int) -> int:
        """A whole number from `least` to `most`, both included."""
        return least + int(self.fraction() * (most - least + 1))

    def happens(self, probability: float) -> bool:
        """True that often."""
        return self.fraction() < probability

    def pick(self, items: Sequence[Item]) -> Item:
        """One of the items."""
        return items[int(self.fraction() * len(items))]

    def shuffle(self, items: MutableSequence[Item]) -> None:
        """Put the items in a random order, in place."""
        fraction = self.fraction
        for last in range(len(items) - 1, 0, -1):
            other = int(fraction() * (last + 1))
            items[last], items[other] = items[other], items[last]
