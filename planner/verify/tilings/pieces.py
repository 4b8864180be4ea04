"""Whether pieces cover the output exactly once, and each reads all that its part is made from."""

from collections.abc import Iterator, Sequence

from memstow.planner.model.tiling import Chosen, Piece
from memstow.planner.verify.tilings.counts import pieces_of, ranges
from memstow.planner.verify.tilings.reading import Direction, Reading


def check_pieces(found: Reading, chosen: Chosen) -> Iterator[str]:
    """What is wrong with the pieces of a tile that the operator has."""
    pieces, tile = chosen.pieces, chosen.tile
    covered = (
        ("channels", [it.output for it in pieces.channels], found.channels, tile.channels),
        ("rows", [it.output for it in pieces.rows], found.rows.made, tile.rows),
        ("columns", [it.output for it in pieces.columns], found.columns.made, tile.columns),
        ("inputs", list(pieces.inputs), found.input_channels, tile.inputs),
    )
    for name, some, extent, size in covered:
        if not _covers(some, extent):
            yield f"the pieces of {name} do not cover 0 to {extent:,} exactly once"
            return
        if some != ranges(extent, size):
            yield f"the pieces of {name} do not have {size:,} each, as the tile says"
            return
    for name, direction, parts in (
        ("rows", found.rows, pieces.rows),
        ("columns", found.columns, pieces.columns),
    ):
        if not all(_reads_enough(direction, it) for it in parts):
            yield f"a piece of {name} does not read all that it is made from"
            return
    for it in pieces.channels:
        first, last = found.group_of(it.output[0])[0], found.group_of(it.output[1] - 1)[1]
        if not 0 <= it.input[0] <= first or not last <= it.input[1] <= found.input_channels:
            yield "a piece of channels does not read all that it is made from"
            return
    if pieces != pieces_of(found, tile):
        yield "a piece reads more than it is made from"


def _covers(ranges: Sequence[tuple[int, int]], extent: int) -> bool:
    ends = [0, *(end for _, end in ranges)]
    each = all(begin < end and begin == before for (begin, end), before in zip(ranges, ends, strict=False))
    return each and ends[-1] == extent


def _reads_enough(direction: Direction, piece: Piece) -> bool:
    begin, end = piece.input
    if not 0 <= begin <= end <= direction.extent:
        return False
    if direction.is_point:
        return begin <= piece.output[0] and piece.output[1] <= end
    # Of every place of the output; what is empty needs nothing.
    for place in range(*piece.output):
        low, high = direction.needed(place)
        if low < high and not begin <= low < high <= end:
            return False
    return True
