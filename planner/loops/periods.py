"""Steps that repeat: a list of steps as phrases, each of which is said once and runs some times."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

Step = tuple[int, ...]
_Block = Sequence[Step]

# Blocks of one repetition, at most: strides and sizes make short periods.
_LONGEST: Final = 16


@dataclass(frozen=True, slots=True)
class Phrase:
    """Steps that run some times; in each further time the numbers of a step grow by its own growth."""

    steps: tuple[Step, ...]
    times: int = 1
    growth: tuple[Step, ...] = ()


def phrases_of(steps: Sequence[Step], last: int) -> Iterator[Phrase]:
    """The steps of a strip as phrases; each step of the operator `last` ends a block of steps."""
    blocks: list[list[Step]] = [[]]
    for step in steps:
        blocks[-1].append(step)
        if step[0] == last:
            blocks.append([])
    yield from _phrases([block for block in blocks if block])


def _phrases(blocks: Sequence[_Block]) -> Iterator[Phrase]:
    waiting = [(0, len(blocks))] if blocks else []
    while waiting:
        begin, end = waiting.pop()
        found = _longest_run(blocks, begin, end)
        if found is None:
            yield Phrase(tuple(step for block in blocks[begin:end] for step in block))
            continue
        first, size, times, growth = found
        if begin < first:
            yield Phrase(tuple(step for block in blocks[begin:first] for step in block))
        steps = tuple(step for block in blocks[first : first + size] for step in block)
        yield Phrase(steps, times, growth)
        if first + size * times < end:
            waiting.append((first + size * times, end))


def _longest_run(
    blocks: Sequence[_Block], begin: int, end: int
) -> tuple[int, int, int, tuple[Step, ...]] | None:
    """(first block, blocks of a period, times, growth) of the repetition that covers most."""
    best: tuple[int, int, int, int, tuple[Step, ...]] | None = None
    for size in range(1, min(_LONGEST, (end - begin) // 2) + 1):
        for first, until in _runs(blocks, begin, end, size):
            times = (until - first) // size + 1
            covers = size * (times - 1)
            if times > 1 and (best is None or covers > best[0]):
                growth = tuple(
                    it for at in range(first, first + size) for it in _growth(blocks, at, size) or ()
                )
                best = covers, first, size, times, growth
    return None if best is None else best[1:]


def _runs(blocks: Sequence[_Block], begin: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """Ranges of blocks where each is like the one a period later, and grows alike."""
    first = begin
    known: list[tuple[Step, ...] | None] = []
    for at in range(begin, end - size):
        known.append(_growth(blocks, at, size))
        if known[-1] is None:
            yield first, at
            first = at + 1
        elif at - first >= size and known[-1] != known[at - size - begin]:
            yield first, at
            first = at - size + 1
    yield first, end - size


def _growth(blocks: Sequence[_Block], at: int, size: int) -> tuple[Step, ...] | None:
    """By how much each number of a block is larger a period later; None where other operators run."""
    one, two = blocks[at], blocks[at + size]
    if [(it[0], len(it)) for it in one] != [(it[0], len(it)) for it in two]:
        return None
    return tuple(tuple(b - a for a, b in zip(x, y, strict=True)) for x, y in zip(one, two, strict=True))
