"""What a tile needs and moves, counted from how each direction is cut, however many steps there are."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Final, NamedTuple

from memstow.planner.model.tiling import Loop, Piece, Pieces, Role, Tile, TilingOptions
from memstow.planner.verify.tilings.memory import Memory
from memstow.planner.verify.tilings.reading import Direction, Reading

LOOPS: Final[tuple[Loop, ...]] = ("channels", "rows", "columns", "inputs")
MOST_PIECES: Final = 1 << 16
"""No direction is cut into more pieces."""

Range = tuple[int, int]


class Cut(NamedTuple):
    """A direction in pieces of one size, of which the last may be less."""

    number: int
    size: int
    read: int
    """What all pieces read."""
    most: int
    """The most that a piece reads."""
    far: int
    """How far the size is from the next multiple that is wished for."""


class Cuts(NamedTuple):
    """How each direction is cut."""

    channels: Cut
    rows: Cut
    columns: Cut
    inputs: Cut


class Need(NamedTuple):
    """An operand, or what an operator needs beside its operands."""

    role: Role
    tensor: str | None
    size: int
    """Bytes of its largest tile."""
    times: int
    bytes: int
    """All that moves of it."""

    def copies(self, options: TilingOptions) -> int:
        """How many buffers it has."""
        return 2 if options.double_buffer and self.times > 1 else 1


class Counted(NamedTuple):
    """The figures of a tile."""

    bytes: int
    tiles: int
    alignment: int
    l1: int
    beyond: int


@dataclass(frozen=True, slots=True)
class Ways:
    """How the directions of an operator can be cut: every size is counted once."""

    found: Reading
    options: TilingOptions
    _known: dict[tuple[Loop, int], Cut] = field(default_factory=dict)

    def cuts(self, tile: Tile) -> Cuts:
        """The figures of a tile that the operator has."""
        return Cuts(*(self.cut(loop, size) for loop, size in zip(LOOPS, sizes_of(tile), strict=True)))

    def cut(self, loop: Loop, size: int) -> Cut:
        """The figures of pieces of this size."""
        known = self._known.get((loop, size))
        if known is None:
            lengths = [end - begin for begin, end in self._read(loop, size)]
            far = -size % dict(self.options.multiples).get(loop, 1)
            known = Cut(len(lengths), size, sum(lengths), max(lengths), far)
            self._known[loop, size] = known
        return known

    def _read(self, loop: Loop, size: int) -> Iterator[Range]:
        found = self.found
        for piece in ranges(dict(zip(LOOPS, extents_of(found), strict=True))[loop], size):
            if loop == "channels":
                yield channels_read(found, piece)
            elif loop == "inputs":
                yield piece
            else:
                yield places_read(found.rows if loop == "rows" else found.columns, piece)


def what_is_wrong_with_tile(found: Reading, tile: Tile) -> str | None:
    """Why the operator has no such tile."""
    for loop, size, extent in zip(LOOPS, sizes_of(tile), extents_of(found), strict=True):
        if not 0 < size <= extent:
            return f"a tile cannot have {size:,} {loop}: the operator has {extent:,}"
        if -(-extent // size) > MOST_PIECES:
            return f"{loop} are cut into more than {MOST_PIECES:,} pieces"
    if tile.inputs < found.input_channels and not found.adds_up:
        return "input channels are added up in parts, and the operator does not add them up"
    return None


def sizes_of(tile: Tile) -> tuple[int, ...]:
    """The sizes of the tile in each direction."""
    return tile.channels, tile.rows, tile.columns, tile.inputs


def extents_of(found: Reading) -> tuple[int, ...]:
    """How long each direction is."""
    return found.channels, found.rows.made, found.columns.made, found.input_channels


def pieces_of(found: Reading, tile: Tile) -> Pieces:
    """The pieces into which the tile cuts each direction, with what they read."""
    return Pieces(
        tuple(Piece(it, channels_read(found, it)) for it in ranges(found.channels, tile.channels)),
        tuple(Piece(it, places_read(found.rows, it)) for it in ranges(found.rows.made, tile.rows)),
        tuple(Piece(it, places_read(found.columns, it)) for it in ranges(found.columns.made, tile.columns)),
        tuple(ranges(found.input_channels, tile.inputs)),
    )


def ranges(extent: int, size: int) -> list[Range]:
    """The pieces of this size."""
    return [(begin, min(begin + size, extent)) for begin in range(0, extent, size)]


def channels_read(found: Reading, piece: Range) -> Range:
    """The input channels that these output channels are made from."""
    return found.group_of(piece[0])[0], found.group_of(piece[1] - 1)[1]


def places_read(direction: Direction, piece: Range) -> Range:
    """From the first to the last place that the windows reach, as far as these are inside of the image."""
    first = min(max(piece[0] * direction.stride - direction.before, 0), direction.extent)
    reach = (direction.taps - 1) * direction.dilation + 1
    last = min((piece[1] - 1) * direction.stride - direction.before + reach, direction.extent)
    return first, max(first, last)


def needs_of(found: Reading, cuts: Cuts, loops: Sequence[Loop], options: TilingOptions) -> list[Need]:
    """What each operand needs and moves in these loops, and what the operator needs beside them.

    The tile of an operand changes with every turn of its innermost loop that has more than one, and with
    every turn of the loops around that one.
    """
    channels, rows, columns, inputs = cuts
    numbers = dict(zip(LOOPS, (it.number for it in cuts), strict=True))
    turns, turn = {}, 1
    for loop in loops:
        turn *= numbers[loop]
        turns[loop] = turn
    grouped = found.groups > 1
    depth = channels if grouped else inputs
    needs = []
    for it in found.operands:
        times = max((turns[loop] for loop in it.loops if numbers[loop] > 1), default=1)
        if it.role == "image":
            most, all_tiles = rows.most * columns.most * depth.most, rows.read * columns.read * depth.read
        elif it.role == "output":
            most = channels.size * rows.size * columns.size
            all_tiles = found.channels * found.rows.made * found.columns.made
        elif it.role == "weights":
            each = found.input_channels // found.groups
            most, all_tiles = channels.size * min(inputs.most, each), found.channels * each
        else:
            most, all_tiles = (channels.size, found.channels) if it.loops else (1, 1)
        again = times // prod(numbers[loop] for loop in it.loops)
        bytes_each = it.each * it.element
        needs.append(Need(it.role, it.tensor, most * bytes_each, times, all_tiles * bytes_each * again))
    output, image = found.operands[-1], found.operands[0]
    pixels = rows.size * columns.size
    if inputs.number > 1 and found.sums > output.element:
        needs.append(Need("sums", None, found.sums * pixels * channels.size, 0, 0))
    if found.has_weights and not found.is_point and options.im2col:
        laid_out = pixels if options.im2col == "tile" else min(pixels, options.im2col)
        needs.append(Need("im2col", None, laid_out * found.kernel_area * depth.most * image.element, 0, 0))
    return needs


def keeps_output(needs: Sequence[Need], cuts: Cuts) -> bool:
    """Whether every tile of the output stays until it is done."""
    tiles = cuts.channels.number * cuts.rows.number * cuts.columns.number
    return all(it.times == tiles for it in needs if it.role == "output")


def counted(needs: Sequence[Need], cuts: Cuts, options: TilingOptions, memory: Memory) -> Counted:
    """The figures of a tile that has these needs."""
    moved, unit = sum(it.bytes for it in needs), memory.unit
    return Counted(
        moved,
        prod(it.number for it in cuts),
        sum(it.far for it in cuts),
        sum(whole_units(it.size, unit) * it.copies(options) for it in needs),
        beyond(needs, moved, memory),
    )


def whole_units(size: int, unit: int) -> int:
    """The bytes of a buffer for so many bytes."""
    return -(-size // unit) * unit


def beyond(needs: Sequence[Need], moved: int, memory: Memory) -> int:
    """The bytes that come from beyond the memory of whole tensors, in the best choice of these."""
    if memory.home is None:
        return 0
    may = [
        (memory.at_home[it.tensor], it.bytes)
        for it in needs
        if it.tensor is not None and it.tensor in memory.at_home
    ]
    if memory.home_bytes is None or sum(size for size, _ in may) <= memory.home_bytes:
        return moved - sum(gain for _, gain in may)
    # By the bytes that are kept at home, the least that they take there.
    kept = {0: 0}
    for size, gain in may:
        for before, taken in list(kept.items()):
            if taken + size <= memory.home_bytes and taken + size < kept.get(before + gain, taken + size + 1):
                kept[before + gain] = taken + size
    return moved - max(kept)
