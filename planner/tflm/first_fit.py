"""The runtime's own rule: where it places what a plan leaves to it.

What has an offset comes first. The others follow from the largest to the smallest, of equal ones the last
listed first, each at the lowest gap among those that live with it. Nothing is checked.
"""

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memstow.planner.graph.liveness import Span

MOST_STEPS: Final = 20_000_000
"""Comparisons of two blocks; more would take too long."""


@dataclass(frozen=True, slots=True)
class Block:
    """Memory that the runtime needs for some time."""

    size: int
    lifetime: Span
    offset: int | None = None
    """Where a plan puts it; None: by the rule."""


_Placed = tuple[int, int, int, int]  # offset, end, first and last time


def first_fit(blocks: Sequence[Block]) -> list[int] | None:
    """The offset of each block; None where there are too many of them."""
    fixed = [i for i, block in enumerate(blocks) if block.offset is not None]
    free = sorted(
        (i for i, block in enumerate(blocks) if block.offset is None), key=lambda i: (-blocks[i].size, -i)
    )
    if len(free) * len(blocks) > MOST_STEPS:
        return None
    offsets = [block.offset or 0 for block in blocks]
    placed: list[_Placed] = []
    for i in fixed:
        _note(placed, blocks[i], offsets[i])
    for i in free:
        offsets[i] = _lowest_gap(placed, blocks[i])
        _note(placed, blocks[i], offsets[i])
    return offsets


def head_of(blocks: Sequence[Block], offsets: Sequence[int]) -> int:
    """How much of the arena the blocks take at these offsets."""
    return max((at + block.size for block, at in zip(blocks, offsets, strict=True)), default=0)


def _note(placed: list[_Placed], block: Block, offset: int) -> None:
    # Of those at one offset, the ones placed earlier stay in front.
    insort(placed, (offset, offset + block.size, *block.lifetime), key=lambda it: it[0])


def _lowest_gap(placed: Sequence[_Placed], block: Block) -> int:
    begin, end = block.lifetime
    lowest = 0
    for offset, until, first, last in placed:
        if first < end and begin < last:
            if offset - lowest >= block.size:
                break
            lowest = max(lowest, until)
    return lowest
