"""What a tile of an operator needs and moves: the judge's own reading, memories, counts, and a walk.

`read` says which tile of which tensor a step needs, `memory_of` which memories graph and options have.
`needs_of` and `counted` count from how each direction is cut, however many steps there are; `walk` goes
through all steps in the order of the loops, with the tile of each tensor that is in its buffer.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, product
from math import lcm, prod
from typing import Final, NamedTuple

from memstow.planner.model.graph import Graph, Operator, Tensor, Window, element_bits, size_of
from memstow.planner.model.operator_kinds import BY_ELEMENT, PRODUCTS, is_by_channel, word_of
from memstow.planner.model.problem import Pool
from memstow.planner.model.tiling import Loop, Piece, Pieces, Role, Tile, TilingOptions

_LONGEST: Final = 1 << 20
"""Rows or columns that a window reaches over, in one place and in all."""


@dataclass(frozen=True, slots=True)
class Direction:
    """Rows or columns: what element `place` of the output is made from."""

    output_extent: int
    extent: int
    taps: int = 1
    stride: int = 1
    before: int = 0
    dilation: int = 1

    @property
    def is_point(self) -> bool:
        """Whether every place is made from the same place alone."""
        return (self.taps, self.stride, self.before) == (1, 1, 0) and self.extent >= self.output_extent

    def needed(self, place: int) -> tuple[int, int]:
        """Hull of what is needed in the image."""
        at = [place * self.stride - self.before + tap * self.dilation for tap in (0, self.taps - 1)]
        low, high = max(at[0], 0), min(at[1], self.extent - 1)
        return (low, high + 1) if low <= high else (low, low)

    def touched(self) -> int:
        """How many rows or columns of the image anything is made from."""
        if self.is_point:
            return self.output_extent
        ends = min(self.extent, (self.output_extent - 1) * self.stride + (self.taps - 1) * self.dilation + 1)
        marks = bytearray(ends)
        for tap in range(self.taps):
            first = tap * self.dilation - self.before
            skipped = -(-max(-first, 0) // self.stride)
            begin, end = first + skipped * self.stride, first + (self.output_extent - 1) * self.stride + 1
            places = range(begin, min(end, ends), self.stride)
            marks[begin : min(end, ends) : self.stride] = b"\1" * len(places)
        return marks.count(1)


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor that moves in tiles."""

    tensor: str
    role: Role
    element: int
    """Bytes of an element."""
    each: int
    """Elements for each place in the directions in which it is cut."""
    loops: tuple[Loop, ...]
    """The directions that say which tile it is."""


@dataclass(frozen=True, slots=True)
class Reading:
    """An operator as a loop nest: how each direction of its output is made from its inputs."""

    rows: Direction
    columns: Direction
    channels: int
    input_channels: int
    groups: int
    operands: tuple[Operand, ...]
    kernel_area: int
    is_point: bool
    has_weights: bool
    sums: int
    """Bytes in which an element of the output is added up."""

    @property
    def adds_up(self) -> bool:
        """Whether input channels may be added up a part at a time."""
        return self.has_weights and self.groups == 1

    def group_of(self, channel: int) -> tuple[int, int]:
        """The input channels that an output channel is made from."""
        size = self.input_channels // self.groups
        group = channel // (self.channels // self.groups)
        return group * size, (group + 1) * size

    def least(self) -> dict[str, int]:
        """By tensor, the bytes of the elements that are needed."""
        by_tensor = {}
        for operand in self.operands:
            if operand.role == "image":
                places = _touched(self.rows) * _touched(self.columns) * self.input_channels
            elif operand.role == "output":
                places = self.rows.output_extent * self.columns.output_extent * self.channels
            elif operand.role == "weights":
                places = self.channels * self.input_channels // self.groups
            else:
                places = self.channels if operand.loops else 1
            by_tensor[operand.tensor] = places * operand.each * operand.element
        return by_tensor


@lru_cache(maxsize=64)
def _touched(direction: Direction) -> int:
    return direction.touched()


def read(operator: Operator, by_id: Mapping[str, Tensor]) -> Reading | str:
    """The operator as the judge understands it, or why it has no tiles."""
    inputs = [by_id[name] for name in dict.fromkeys(operator.inputs)]
    outputs = [by_id[name] for name in operator.outputs]
    if not inputs or len(outputs) != 1 or outputs[0] in inputs:
        return "the operator does not make one output from other tensors"
    for entry in (*inputs, *outputs):
        if entry.type is None or not entry.shape or not all(entry.shape) or element_bits(entry.type) % 8:
            return f"{entry.id!r} is no tensor of whole bytes whose shape is known"
    word = word_of(operator)
    if operator.window is not None:
        return _with_window(operator.window, word, inputs, outputs[0])
    if word in PRODUCTS:
        return _product(inputs, outputs[0])
    if word in BY_ELEMENT:
        return _by_element(inputs, outputs[0])
    return "the operator is none of those that have tiles"


def _with_window(window: Window, word: str, inputs: list[Tensor], output: Tensor) -> Reading | str:
    output_shape, image_shape = _shape(output)[-3:], _shape(inputs[0])[-3:]
    for i in (0, 1):
        reach = (window.kernel[i] - 1) * window.dilation[i] + 1
        if max(reach, output_shape[i] * window.stride[i], window.padding[i]) > _LONGEST:
            return f"its window reaches over more than {_LONGEST:,} rows or columns"
    high, wide, deep = image_shape
    area = prod(window.kernel)
    weights, groups = None, 1
    for input_ in inputs[1:]:
        full, size = area * deep * output_shape[2], prod(_shape(input_))
        if (
            len(_shape(input_)) >= 2
            and full % size == 0
            and deep % (full // size) == output_shape[2] % (full // size) == 0
        ):
            weights, groups = input_, full // size
            break
    if weights is None and is_by_channel(word) and output_shape[2] % deep == 0:
        groups = deep
    rows, columns = (
        Direction(
            output_shape[i],
            (high, wide)[i],
            window.kernel[i],
            window.stride[i],
            window.padding[i],
            window.dilation[i],
        )
        for i in (0, 1)
    )
    point = area == 1 and window.stride == (1, 1) and not any(window.padding)
    return _reading(
        rows, columns, output_shape[2], deep, groups, inputs[:1], weights, inputs[1:], output, area, point
    )


def _product(inputs: list[Tensor], output: Tensor) -> Reading | str:
    channels = _shape(output)[-1]
    rows = prod(_shape(output)) // channels
    deep = prod(_shape(inputs[0])) // rows
    if (
        len(inputs) < 2
        or prod(_shape(inputs[1])) != deep * channels
        or prod(_shape(inputs[0])) != deep * rows
    ):
        return "the operator is no product with a matrix"
    line, point = Direction(rows, rows), Direction(1, 1)
    return _reading(line, point, channels, deep, 1, inputs[:1], inputs[1], inputs[1:], output, 1, True)


def _by_element(inputs: list[Tensor], output: Tensor) -> Reading | str:
    high, wide, channels = seen = _extents(output)
    images = [input_ for input_ in inputs if input_.kind != "constant" and prod(_shape(input_)) == prod(seen)]
    if (
        not images
        or any(_extents(image) != seen for image in images)
        or any(prod(_shape(input_)) not in (1, channels) for input_ in inputs if input_ not in images)
    ):
        return "the inputs do not have the shape of the output"
    rows, columns = (Direction(entry, entry) for entry in (high, wide))
    rest = [input_ for input_ in inputs if input_ not in images]
    return _reading(rows, columns, channels, channels, channels, images, None, rest, output, 1, True)


def _reading(
    rows: Direction,
    columns: Direction,
    channels: int,
    deep: int,
    groups: int,
    images: list[Tensor],
    weights: Tensor | None,
    others: list[Tensor],
    output: Tensor,
    area: int,
    point: bool,
) -> Reading:
    where: tuple[Loop, ...] = (
        ("rows", "columns", "inputs") if groups == 1 else ("rows", "columns", "channels")
    )
    operands = [Operand(image.id, "image", _bytes(image), 1, where) for image in images]
    if weights is not None:
        operands.append(Operand(weights.id, "weights", _bytes(weights), area, ("channels", "inputs")))
    for entry in others:
        size = prod(_shape(entry))
        if entry is weights or entry in images:
            continue
        if channels in _shape(entry):
            operands.append(Operand(entry.id, "parameter", _bytes(entry), size // channels, ("channels",)))
        else:
            operands.append(Operand(entry.id, "parameter", _bytes(entry), size, ()))
    element = _bytes(output)
    operands.append(Operand(output.id, "output", element, 1, ("channels", "rows", "columns")))
    kind = output.type or ""
    sums = max(4, element) if kind == "bool" or kind.startswith(("int", "uint")) else element
    return Reading(
        rows, columns, channels, deep, groups, tuple(operands), area, point, weights is not None, sums
    )


def _shape(tensor: Tensor) -> tuple[int, ...]:
    return tensor.shape or ()


def _extents(tensor: Tensor) -> tuple[int, int, int]:
    """Rows, columns and channels, with all dimensions before as rows."""
    *rows, columns, channels = (1, 1, *_shape(tensor))
    return prod(rows), columns, channels


def _bytes(tensor: Tensor) -> int:
    return element_bits(tensor.type) // 8 if tensor.type is not None else 0


UNNAMED: Final = "memory"
"""The pool of a graph that has none."""
_MOST_AT_HOME: Final = 12
"""Of more tensors, the choices of those that lie in `home` are too many."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The pool of the tiles and that of whole tensors, and what of it tensors of the operator may take."""

    pool: Pool
    unit: int
    """Buffers take whole units, and begin at multiples of one."""
    capacity: int
    """Bytes of the largest stretch in which buffers may lie."""
    home: Pool | None
    at_home: dict[str, int]
    """Bytes of the tensors that may lie in `home`."""
    home_bytes: int | None
    """How many of them fit; None: all."""

    @property
    def has_too_many_choices(self) -> bool:
        """Whether nobody looks at all choices of tensors that lie in `home`."""
        return len(self.at_home) > _MOST_AT_HOME and not self.fits_home(self.at_home)

    def fits_home(self, tensors: Iterable[str]) -> bool:
        """Whether these tensors may lie in `home` together."""
        names = list(tensors)
        if self.home is None:
            return True
        if not all(name in self.at_home for name in names):
            return False
        return self.home_bytes is None or sum(self.at_home[name] for name in names) <= self.home_bytes


def memory_of(graph: Graph, options: TilingOptions, tensors: Iterable[Tensor]) -> Memory | str:
    """The memories that the options name, or what is wrong with these."""
    pools = {pool.id: pool for pool in graph.pools}
    if options.pool is not None:
        pool = pools.get(options.pool)
        if not pools and options.pool == UNNAMED:
            pool = Pool(id=UNNAMED)
        if pool is None:
            return f"the graph has no pool {options.pool!r}"
    else:
        limited = (pool for pool in graph.pools if pool.capacity is not None)
        pool = next(chain(limited, graph.pools), Pool(id=UNNAMED))
    if options.capacity is not None:
        limit = options.capacity
        if pool.capacity is not None and limit > pool.capacity:
            return f"the pool {pool.id!r} has {pool.capacity:,} bytes, and the options take {limit:,} of it"
        reserved = (
            replace(entry, size=min(entry.size, limit - entry.offset))
            for entry in pool.reserved
            if entry.offset < limit
        )
        pool = replace(pool, capacity=limit, reserved=tuple(reserved))
    if pool.capacity is None:
        return f"the pool {pool.id!r} has no capacity, and the options name none"
    if options.home is not None:
        home = pools.get(options.home)
        if home is None or home.id == pool.id:
            return f"the graph has no other pool {options.home!r} in which whole tensors may lie"
    else:
        names = list(pools)
        behind = names[names.index(pool.id) + 1 :] if pool.id in pools else []
        home = pools[behind[0]] if behind else None
    some = list(tensors)
    unit = lcm(pool.alignment, *(entry.alignment for entry in some))
    may = {} if home is None else {entry.id: size_of(entry) for entry in some if _may_lie_in(entry, home)}
    room = None
    if home is not None and home.capacity is not None:
        room = max(home.capacity - sum(entry.size for entry in home.reserved), 0)
    return Memory(pool, unit, _largest_stretch(pool, pool.capacity, unit), home, may, room)


def _largest_stretch(pool: Pool, capacity: int, unit: int) -> int:
    """The bytes of the largest free stretch that begins at a multiple of the unit, in whole units."""
    base = pool.base or 0
    taken = sorted((entry.offset, entry.offset + entry.size) for entry in pool.reserved)
    largest = at = 0
    for begin, end in (*taken, (capacity, capacity)):
        first = -(-(base + at) // unit) * unit - base
        largest = max(largest, (begin - first) // unit * unit)
        at = max(at, end)
    return largest


def _may_lie_in(tensor: Tensor, home: Pool) -> bool:
    if tensor.pools is None:
        return tensor.kind == "data" or tensor.kind == "state"
    return tensor.kind != "external" and home.id in tensor.pools


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

    reading: Reading
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
        reading = self.reading
        for piece in ranges(dict(zip(LOOPS, extents_of(reading), strict=True))[loop], size):
            if loop == "channels":
                yield channels_read(reading, piece)
            elif loop == "inputs":
                yield piece
            else:
                yield places_read(reading.rows if loop == "rows" else reading.columns, piece)


def what_is_wrong_with_tile(reading: Reading, tile: Tile) -> str | None:
    """Why the operator has no such tile."""
    for loop, size, extent in zip(LOOPS, sizes_of(tile), extents_of(reading), strict=True):
        if not 0 < size <= extent:
            return f"a tile cannot have {size:,} {loop}: the operator has {extent:,}"
        if -(-extent // size) > MOST_PIECES:
            return f"{loop} are cut into more than {MOST_PIECES:,} pieces"
    if tile.inputs < reading.input_channels and not reading.adds_up:
        return "input channels are added up in parts, and the operator does not add them up"
    return None


def sizes_of(tile: Tile) -> tuple[int, ...]:
    """The sizes of the tile in each direction."""
    return tile.channels, tile.rows, tile.columns, tile.inputs


def extents_of(reading: Reading) -> tuple[int, ...]:
    """How long each direction is."""
    return reading.channels, reading.rows.output_extent, reading.columns.output_extent, reading.input_channels


def pieces_of(reading: Reading, tile: Tile) -> Pieces:
    """The pieces into which the tile cuts each direction, with what they read."""
    return Pieces(
        tuple(Piece(span, channels_read(reading, span)) for span in ranges(reading.channels, tile.channels)),
        tuple(
            Piece(span, places_read(reading.rows, span))
            for span in ranges(reading.rows.output_extent, tile.rows)
        ),
        tuple(
            Piece(span, places_read(reading.columns, span))
            for span in ranges(reading.columns.output_extent, tile.columns)
        ),
        tuple(ranges(reading.input_channels, tile.inputs)),
    )


def ranges(extent: int, size: int) -> list[Range]:
    """The pieces of this size."""
    return [(begin, min(begin + size, extent)) for begin in range(0, extent, size)]


def channels_read(reading: Reading, piece: Range) -> Range:
    """The input channels that these output channels are made from."""
    return reading.group_of(piece[0])[0], reading.group_of(piece[1] - 1)[1]


def places_read(direction: Direction, piece: Range) -> Range:
    """From the first to the last place that the windows reach, as far as these are inside of the image."""
    first = min(max(piece[0] * direction.stride - direction.before, 0), direction.extent)
    reach = (direction.taps - 1) * direction.dilation + 1
    last = min((piece[1] - 1) * direction.stride - direction.before + reach, direction.extent)
    return first, max(first, last)


def needs_of(reading: Reading, cuts: Cuts, loops: Sequence[Loop], options: TilingOptions) -> list[Need]:
    """What each operand needs and moves in these loops, and what the operator needs beside them.

    The tile of an operand changes with every turn of its innermost loop that has more than one, and with
    every turn of the loops around that one.
    """
    channels, rows, columns, inputs = cuts
    numbers = dict(zip(LOOPS, (cut.number for cut in cuts), strict=True))
    turns, turn = {}, 1
    for loop in loops:
        turn *= numbers[loop]
        turns[loop] = turn
    grouped = reading.groups > 1
    depth = channels if grouped else inputs
    needs = []
    for operand in reading.operands:
        times = max((turns[loop] for loop in operand.loops if numbers[loop] > 1), default=1)
        if operand.role == "image":
            most, all_tiles = rows.most * columns.most * depth.most, rows.read * columns.read * depth.read
        elif operand.role == "output":
            most = channels.size * rows.size * columns.size
            all_tiles = reading.channels * reading.rows.output_extent * reading.columns.output_extent
        elif operand.role == "weights":
            each = reading.input_channels // reading.groups
            most, all_tiles = channels.size * min(inputs.most, each), reading.channels * each
        else:
            most, all_tiles = (channels.size, reading.channels) if operand.loops else (1, 1)
        again = times // prod(numbers[loop] for loop in operand.loops)
        bytes_each = operand.each * operand.element
        needs.append(
            Need(operand.role, operand.tensor, most * bytes_each, times, all_tiles * bytes_each * again)
        )
    output, image = reading.operands[-1], reading.operands[0]
    pixels = rows.size * columns.size
    if inputs.number > 1 and reading.sums > output.element:
        needs.append(Need("sums", None, reading.sums * pixels * channels.size, 0, 0))
    if reading.has_weights and not reading.is_point and options.im2col:
        laid_out = pixels if options.im2col == "tile" else min(pixels, options.im2col)
        needs.append(Need("im2col", None, laid_out * reading.kernel_area * depth.most * image.element, 0, 0))
    return needs


def keeps_output(needs: Sequence[Need], cuts: Cuts) -> bool:
    """Whether every tile of the output stays until it is done."""
    tiles = cuts.channels.number * cuts.rows.number * cuts.columns.number
    return all(need.times == tiles for need in needs if need.role == "output")


def counted(needs: Sequence[Need], cuts: Cuts, options: TilingOptions, memory: Memory) -> Counted:
    """The figures of a tile that has these needs."""
    moved, unit = sum(need.bytes for need in needs), memory.unit
    return Counted(
        moved,
        prod(cut.number for cut in cuts),
        sum(cut.far for cut in cuts),
        sum(whole_units(need.size, unit) * need.copies(options) for need in needs),
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
        (memory.at_home[need.tensor], need.bytes)
        for need in needs
        if need.tensor is not None and need.tensor in memory.at_home
    ]
    if memory.home_bytes is None or sum(size for size, _ in may) <= memory.home_bytes:
        return moved - sum(gain for _, gain in may)
    # By the bytes that are kept at home, the least that they take there.
    least_room = {0: 0}
    for size, gain in may:
        for before, taken in list(least_room.items()):
            if taken + size <= memory.home_bytes and taken + size < least_room.get(
                before + gain, taken + size + 1
            ):
                least_room[before + gain] = taken + size
    return moved - max(least_room)


MOST_STEPS: Final = 50_000


class Walked(NamedTuple):
    """What was seen of each tensor."""

    bytes: dict[str, int]
    """All that moved of it."""
    times: dict[str, int]
    """How often a tile of it moved."""
    most: dict[str, int]
    """The bytes of its largest tile."""
    is_whole: bool
    """Whether no tile of the output went away before it was done."""

    def shows(self, needs: Iterable[Need]) -> bool:
        """Whether the steps need and move what was counted."""
        return self.is_whole and all(
            (self.most[need.tensor], self.times[need.tensor], self.bytes[need.tensor])
            == (need.size, need.times, need.bytes)
            for need in needs
            if need.tensor is not None
        )


def walk(reading: Reading, pieces: Pieces, loops: Sequence[Loop]) -> Walked:
    """What moves in all steps."""
    here: dict[str, tuple[int, ...]] = {}
    moved = {operand.tensor: 0 for operand in reading.operands}
    times, most = dict(moved), dict(moved)
    visited: set[tuple[int, ...]] = set()
    is_whole = True
    for at in _steps(pieces, loops):
        for operand in reading.operands:
            place = tuple(at[loop] for loop in operand.loops)
            if here.get(operand.tensor) == place:
                continue
            here[operand.tensor] = place
            size = _elements(reading, pieces, operand, at) * operand.element
            moved[operand.tensor] += size
            times[operand.tensor] += 1
            most[operand.tensor] = max(most[operand.tensor], size)
            if operand.role == "output":
                is_whole = is_whole and place not in visited
                visited.add(place)
    return Walked(moved, times, most, is_whole)


def _steps(pieces: Pieces, loops: Sequence[Loop]) -> Iterator[dict[Loop, int]]:
    """The steps in order: of each, the number of its piece in each direction."""
    counts = (len(pieces.channels), len(pieces.rows), len(pieces.columns), len(pieces.inputs))
    numbers = dict(zip(LOOPS, counts, strict=True))
    for step in product(*(range(numbers[loop]) for loop in loops)):
        yield dict(zip(loops, step, strict=True))


def _elements(reading: Reading, pieces: Pieces, operand: Operand, at: dict[Loop, int]) -> int:
    """The elements of the tile that a step needs."""
    channels, rows, columns = (
        pieces.channels[at["channels"]],
        pieces.rows[at["rows"]],
        pieces.columns[at["columns"]],
    )
    begin, end = pieces.inputs[at["inputs"]]
    begin, end = max(begin, channels.input[0]), min(end, channels.input[1])
    out = channels.output[1] - channels.output[0]
    if operand.role == "image":
        elements = (rows.input[1] - rows.input[0]) * (columns.input[1] - columns.input[0]) * (end - begin)
    elif operand.role == "output":
        elements = out * (rows.output[1] - rows.output[0]) * (columns.output[1] - columns.output[0])
    elif operand.role == "weights":
        elements = out * min(end - begin, reading.input_channels // reading.groups)
    else:
        elements = out if operand.loops else 1
    return elements * operand.each
