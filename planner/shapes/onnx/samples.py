"""Values of symbols at which shapes are compared: all where they are few, else ends and mixed ones."""

from collections.abc import Sequence
from itertools import product
from math import prod
from random import Random
from typing import Final

from memstow.planner.model.symbolic import Symbol
from memstow.planner.model.symbolic_points import count_of

_ALL: Final = 64
_MIXED: Final = 40
_PRIMES: Final = (3, 5, 7, 11, 13, 17, 31, 61, 127, 509, 1021, 4093)


def sample(symbols: Sequence[Symbol], fewest: int = _MIXED) -> list[dict[str, int]]:
    """The largest of all first, then the least, then combinations; the same each time."""
    if prod(map(count_of, symbols)) <= max(_ALL, fewest):
        every = list(product(*(range(it.max, it.min - 1, -it.step) for it in symbols)))
        rows = [every[0], every[-1], *every[1:-1]]
    else:
        rows = [tuple(it.max for it in symbols), tuple(it.min for it in symbols)]
        random = Random(len(symbols))  # noqa: S311 - values to try
        columns = []
        for symbol in symbols:
            candidates = _candidates(symbol, random)
            column = [*candidates]
            while len(column) < fewest:
                column.append(symbol.min + symbol.step * random.randrange(count_of(symbol)))
            if len(symbols) > 1:
                random.shuffle(column)
            columns.append(column[:fewest])
        rows += zip(*columns, strict=True)
    named = [{it.id: value for it, value in zip(symbols, row, strict=True)} for row in rows]
    return list({tuple(it.values()): it for it in named}.values())


def _candidates(symbol: Symbol, random: Random) -> list[int]:
    """Both ends and their neighbours, steps at primes, and values next to each other within."""
    last = count_of(symbol) - 1
    steps = [0, 1, 2, 3, last, last - 1, last - 2, last - 3]
    steps += [it for it in _PRIMES if it <= last]
    middle = random.randrange(last + 1)
    steps += [middle, middle + 1, middle + 2, middle + 3]
    kept = dict.fromkeys(it for it in steps if 0 <= it <= last)
    return [symbol.min + symbol.step * it for it in kept]
