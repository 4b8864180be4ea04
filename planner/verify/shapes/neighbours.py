"""The quick way to see that an order keeps everything apart: neighbours alone are compared.

At each moment the buffers that live are in the sequence of the order. Where each is joined to the next, every
two are: who begins after the end of another that begins after the end of a third begins after that end too.
So a buffer that begins to live is compared with its two neighbours. That shows all of an order of plain
buffers, in time close to linear; where it shows nothing (`False`), sets of buffers decide (`apart.py`).
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final

_MOST_LOOKS: Final = 64
"""Buffers that are looked at to join one pair."""


def neighbours_are_joined(
    events: Iterable[tuple[int, int, int]],
    listed: Iterable[tuple[int, int]],
    pool: Sequence[int],
    place: Sequence[int],
    below: Sequence[Sequence[int]],
) -> bool:
    """Whether all that live together, and all pairs that are listed, are joined; False: perhaps not.

    `events`: (time, 1 for a begin and 0 for an end, buffer) in order. `place`: the sequence, in which every
    buffer comes after those `below` it.
    """
    joined = _Joined(place, below)
    live: dict[int, list[int]] = {}
    owner = {place[i]: i for i in range(len(place))}
    for _, begins, i in events:
        here = live.setdefault(pool[i], [])
        at = bisect_left(here, place[i])
        if not begins:
            del here[at]
            continue
        if at and not joined(owner[here[at - 1]], i):
            return False
        if at < len(here) and not joined(i, owner[here[at]]):
            return False
        here.insert(at, place[i])
    return all(joined(*sorted(pair, key=place.__getitem__)) for pair in listed)


class _Joined:
    """Whether one buffer is below another, by a short way."""

    def __init__(self, place: Sequence[int], below: Sequence[Sequence[int]]) -> None:
        self._place = place
        self._below = below

    def __call__(self, low: int, high: int) -> bool:
        if low in self._below[high]:
            return True
        seen, waiting = {high}, [high]
        while waiting and len(seen) <= _MOST_LOOKS:
            # The lowest of what is at hand is the nearest to the aim.
            for other in self._below[waiting.pop()]:
                if other == low:
                    return True
                if self._place[other] > self._place[low] and other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return False
