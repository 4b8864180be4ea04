"""The points of a front: cut into pieces, walked through and counted by the judge itself."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from memstow.planner.model.tiling import FrontTile, Piece, Pieces, Tiling
from memstow.planner.verify.tilings.reading import Direction, Reading
from memstow.planner.verify.tilings.walk import LOOPS, MOST_STEPS, steps_of, tile_elements

Range = tuple[int, int]


def check_front(found: Reading, tiling: Tiling) -> tuple[tuple[FrontTile, ...] | None, list[str]]:
    """The points with whether each was walked through, and what is wrong with them.

    All points together have as many steps as one tiling may have; those of few steps come first.
    """
    if tiling.front is None:
        return None, []
    wrong: list[str] = []
    left, judged = MOST_STEPS, list(tiling.front)
    for number in sorted(range(len(judged)), key=lambda it: judged[it].tiles):
        point = judged[number]
        left -= point.tiles
        if left < 0:
            break
        if sorted(point.loops) != sorted(LOOPS) or _counted(found, tiling, point) != (point.bytes, point.l1):
            wrong.append(f"a point of the front does not need {point.l1:,} bytes and move {point.bytes:,}")
        judged[number] = replace(point, replayed=True)
    figures = [(it.l1, it.bytes) for it in tiling.front]
    if any(a[0] >= b[0] or a[1] <= b[1] for a, b in pairwise(figures)):
        wrong.append("a point of the front is no better than another")
    return tuple(judged), wrong


def _counted(found: Reading, tiling: Tiling, point: FrontTile) -> tuple[int, int]:
    """The bytes that move, and those of the buffers."""
    pieces = _pieces(found, point)
    moved = 0
    most = {it.tensor: 0 for it in found.operands}
    times = dict(most)
    here: dict[str, tuple[int, ...]] = {}
    for at in steps_of(pieces, point.loops):
        for it in found.operands:
            place = tuple(at[loop] for loop in it.loops)
            if here.get(it.tensor) != place:
                here[it.tensor] = place
                size = tile_elements(found, pieces, it, at) * it.element
                moved += size
                times[it.tensor] += 1
                most[it.tensor] = max(most[it.tensor], size)
    double = tiling.options.double_buffer
    sizes = [(size, 2 if double and times[name] > 1 else 1) for name, size in most.items()]
    sizes += [(found.sums_bytes(point.tile, pieces), 1)]
    sizes += [(found.laid_out_bytes(point.tile, pieces, tiling.options.im2col), 1)]
    return moved, sum(-(-size // tiling.unit) * tiling.unit * number for size, number in sizes)


def _pieces(found: Reading, point: FrontTile) -> Pieces:
    tile = point.tile
    groups = [found.group_of(channel) for channel in range(found.channels)]
    return Pieces(
        tuple(
            Piece((begin, end), (groups[begin][0], groups[end - 1][1]))
            for begin, end in _ranges(found.channels, tile.channels)
        ),
        tuple(_slid(found.rows, _ranges(found.rows.made, tile.rows))),
        tuple(_slid(found.columns, _ranges(found.columns.made, tile.columns))),
        tuple(_ranges(found.input_channels, tile.inputs)),
    )


def _slid(direction: Direction, ranges: Sequence[Range]) -> Iterator[Piece]:
    """From the first to the last place that the windows reach, as far as these are inside of the image."""
    for begin, end in ranges:
        first = min(max(begin * direction.stride - direction.before, 0), direction.extent)
        reach = (direction.taps - 1) * direction.dilation + 1
        last = min((end - 1) * direction.stride - direction.before + reach, direction.extent)
        yield Piece((begin, end), (first, max(first, last)))


def _ranges(extent: int, size: int) -> list[Range]:
    return [(begin, min(begin + size, extent)) for begin in range(0, extent, size)]
