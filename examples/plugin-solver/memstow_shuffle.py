"""A solver for memstow: places the buffers in random orders, each as low as it fits, and keeps the best.

Where that needs no more than what is live at one time, it proves that no plan needs less.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import count, pairwise
from random import Random

from memstow import Buffer, Placement, Plan, Problem, Status
from memstow.plugins import Search


class Shuffle:
    """One memory, one lifetime for each buffer, and the peak."""

    summary = "random orders of the buffers, each as low as it fits"
    supports = "one memory, single lifetimes, alignments, a capacity"
    deterministic = True

    def declines(self, problem: Problem) -> str | None:
        """What of the problem it cannot honour."""
        pool = problem.pools[0]
        if len(problem.pools) > 1 or pool.reserved or pool.base or pool.alignment > 1:
            return "several pools, or a pool with more than a capacity"
        if any(
            not isinstance(buffer.lifetime, tuple) or buffer.offset is not None for buffer in problem.buffers
        ):
            return "buffers without a single lifetime, or with a pin"
        # A field that is added to problems later would be among these.
        known = {"version", "name", "pools", "buffers", "objective"}
        others = [
            name for name in Problem.__dataclass_fields__ if name not in known and getattr(problem, name)
        ]
        return f"`{others[0]}`" if others else None

    def solve(self, problem: Problem, search: Search) -> Plan | None:
        """The best plan of as many orders as there is time, or work, for."""
        pool, random, order = problem.pools[0], Random(search.seed), list(problem.buffers)
        order.sort(key=lambda buffer: -buffer.size)
        best: dict[str, int] | None = None
        least = pool.capacity
        crowd = _fullest(problem.buffers)
        live = sum(problem.buffers[index].size for index in crowd)
        for _ in self._rounds(search, len(order) ** 2):
            offsets = _placed(order)
            peak = max((offsets[buffer.id] + buffer.size for buffer in order), default=0)
            if least is None or peak < least or (best is None and peak == least):
                best, least = offsets, peak
                is_least = peak > 0 and peak == live
                search.offer(
                    _plan(pool.id, offsets), _proof(search.document, peak, crowd) if is_least else None
                )
                if is_least:
                    break
            random.shuffle(order)
        return None if best is None else _plan(pool.id, best)

    def _rounds(self, search: Search, steps: int) -> Iterator[int]:
        """Rounds while there is time, or work where that is limited; one in any case."""
        for number in count():
            yield number
            left = search.seconds_left
            if (left is not None and left <= 0) or (
                search.work is not None and (number + 2) * steps > search.work
            ):
                return


def _placed(order: list[Buffer]) -> dict[str, int]:
    """The buffers in this order, each as low as those allow that are placed."""
    offsets: dict[str, int] = {}
    placed: list[Buffer] = []
    for buffer in order:
        taken = sorted(
            (offsets[other.id], offsets[other.id] + other.size) for other in placed if _meet(buffer, other)
        )
        offset = 0
        for begin, end in taken:
            if begin >= offset + buffer.size:
                break
            offset = max(offset, -(-end // buffer.alignment) * buffer.alignment)
        offsets[buffer.id] = offset
        placed.append(buffer)
    return offsets


def _fullest(buffers: Sequence[Buffer]) -> list[int]:
    """The numbers of the buffers that live at a time when these have the most bytes."""
    sets = ([i for i, other in enumerate(buffers) if _meet(other, one)] for one in buffers)
    begins = (
        [i for i in inside if buffers[i].lifetime[0] <= one.lifetime[0]]
        for one, inside in zip(buffers, sets, strict=True)
    )
    return max(begins, key=lambda inside: sum(buffers[i].size for i in inside), default=[])


def _proof(document: bytes, peak: int, crowd: list[int]) -> bytes:
    """That no peak is less, in the format of docs/proofs.md: the crowd does not fit below it."""
    gaps = [crowd[0], *(after - before - 1 for before, after in pairwise(crowd))]
    overfull = [3, 0, peak - 1, len(crowd), *gaps]
    numbers = [3, peak - 1, *overfull, 0, 1]  # conclude for one byte less; the end, after one step
    return b"memstow proof 1\n" + sha256(document).digest() + b"".join(map(_leb128, numbers))


def _leb128(number: int) -> bytes:
    """Seven bits a byte, the lowest first, with the top bit in all but the last."""
    digits = [number & 127]
    while number := number >> 7:
        digits[-1] |= 128
        digits.append(number & 127)
    return bytes(digits)


def _meet(one: Buffer, other: Buffer) -> bool:
    """Whether both live at one time and have bytes."""
    (begin, end), (other_begin, other_end) = one.lifetime, other.lifetime
    return bool(one.size and other.size) and begin < other_end and other_begin < end


def _plan(pool: str, offsets: dict[str, int]) -> Plan:
    places = [Placement(buffer=name, pool=pool, offset=offset) for name, offset in offsets.items()]
    return Plan(status=Status.FEASIBLE, placements=places)
