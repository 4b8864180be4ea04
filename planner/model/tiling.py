"""A tiling: one operator in tiles that fit a small memory, what each tile covers, and the bytes that move.

docs/tiling.md says which tiles there are and what is counted; `planner.tiling` finds them, and
`planner.verify.tiling_verdict` replays them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from memstow.planner.model.model_class import Field
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Bytes, Id, Problem

Loop = Literal["channels", "rows", "columns", "inputs"]
CHANNELS_OUTSIDE: Final[tuple[Loop, ...]] = ("channels", "rows", "columns", "inputs")
"""The weights stay while the image passes."""
CHANNELS_INSIDE: Final[tuple[Loop, ...]] = ("rows", "columns", "channels", "inputs")
"""The image's tile stays while the weights pass."""

TilingTerm = Literal["bytes", "tiles", "alignment", "l1", "beyond"]
TILING_TERMS: Final[tuple[TilingTerm, ...]] = ("bytes", "tiles", "alignment", "l1", "beyond")
WHOLE_TILE: Final = "tile"
"""Of `im2col`: all pixels of a tile are laid out at once."""

Role = Literal["image", "weights", "parameter", "output", "im2col", "sums"]

# What a document may hold (`planner/tiling/tiling_documents.py`); nothing checks what Python code makes.
Number = Annotated[int, Field(strict=True, ge=0)]
Flag = Annotated[bool, Field(strict=True)]
Text = Annotated[str, Field(strict=True)]
Multiple = Annotated[int, Field(strict=True, ge=1, lt=1 << 31)]
Pixels = Annotated[int, Field(strict=True, ge=0, lt=1 << 31)] | Literal["tile"]
Range = tuple[Number, Number]


@dataclass(frozen=True, slots=True)
class Tile:
    """The largest tile: output channels, rows, columns, and the input channels that are added up at once."""

    channels: Number
    rows: Number
    columns: Number
    inputs: Number


@dataclass(frozen=True, slots=True)
class Piece:
    """What a tile covers in one direction: a half-open range of the output, and what it reads for it."""

    output: Range
    input: Range


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces in each direction; every combination of one of each is a step.

    A step reads the input channels that are both in the piece of `channels` and in that of `inputs`.
    """

    channels: tuple[Piece, ...]
    rows: tuple[Piece, ...]
    columns: tuple[Piece, ...]
    inputs: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class Moved:
    """What moves of one tensor between the memory of the tiles and where it lies whole."""

    tensor: Id
    role: Role
    bytes: Number
    times: Number
    """How often a tile of it is moved."""
    least: Number
    """The bytes of those elements that are needed: no tiling moves less."""
    beyond: Flag
    """Whether it lies whole beyond the memory `home`."""


@dataclass(frozen=True, slots=True)
class TileBuffer:
    """A buffer in the memory of the tiles."""

    id: Id
    role: Role
    tensor: Id | None
    """The tensor whose tiles it holds."""
    size: Number
    offset: Number


@dataclass(frozen=True, slots=True)
class Whole:
    """The layer as one tile."""

    l1: Number
    fits: Flag


@dataclass(frozen=True, slots=True)
class FrontTile:
    """A point of the front: no tile needs less memory and moves no more bytes."""

    l1: Number
    bytes: Number
    tiles: Number
    tile: Tile
    loops: tuple[Loop, ...]
    replayed: Flag = False
    """Whether the judge has walked through its steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TilingOptions:
    """What is asked of the tiles."""

    pool: Id | None = None
    """The memory of the tiles; default: the first pool with a capacity, or the only one."""
    capacity: Bytes | None = None
    """Bytes of this memory, no more than the pool has; default: as the pool says."""
    home: Id | None = None
    """The memory where whole tensors lie; default: the first pool after that of the tiles, if any."""
    objective: tuple[TilingTerm, ...] = ("bytes", "tiles")
    double_buffer: Flag = True
    im2col: Pixels = 0
    """Pixels that are laid out at once; 0: none."""
    multiples: tuple[tuple[Loop, Multiple], ...] = ()
    """Of what the size of a tile should be a multiple, for the term `alignment`."""
    front: Flag = False
    """Also find the front of memory against bytes moved."""
    work: Annotated[int, Field(strict=True, ge=1)] = 300_000
    """The most combinations that are looked at for each question about an operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The best tile."""

    tile: Tile
    loops: tuple[Loop, ...]
    """Outermost first."""
    tiles: Number
    """Steps: tiles of the output, each as often as there are pieces of input channels."""
    bytes: Number
    alignment: Number
    l1: Number
    beyond: Number | None
    pieces: Pieces
    moved: tuple[Moved, ...]
    buffers: tuple[TileBuffer, ...]
    problem: Problem
    plan: Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiling:
    """How an operator is computed in tiles; without `chosen`, why not."""

    operator: Id
    type: Text | None
    pool: Id
    capacity: Number
    """The bytes that tiles may take: of the pool, the largest stretch that is free."""
    home: Id | None = None
    unit: Number = 1
    """Buffers take whole units, and begin at a multiple of it."""
    options: TilingOptions = TilingOptions()
    why_not: Text | None = None
    """Why the operator has no tiles; None where the family of docs/tiling.md has some."""
    needs: Number | None = None
    """The least bytes that any tile needs; where none fits."""
    bound: Number | None = None
    """No tile that fits moves fewer bytes; where all were looked at."""
    least: Number | None = None
    """The bytes of all elements that are needed, each moved once."""
    whole: Whole | None = None
    complete: Flag = True
    """Whether all tiles of the family were looked at, or left out by a bound."""
    looked_at: Number = 0
    replayed: Flag = False
    """Whether the judge has walked through every step; it does up to a number of them."""
    chosen: Chosen | None = None
    front: tuple[FrontTile, ...] | None = None


@dataclass(frozen=True, slots=True)
class Tilings:
    """Every operator of a graph by itself, and what the tilings move together."""

    tilings: tuple[Tiling, ...]
    tiled: Number
    bytes: Number
    least: Number


_PARTS: Final[tuple[Any, ...]] = (Tile, Piece, Pieces, Moved, TileBuffer, Whole, FrontTile, TilingOptions)
for _part in _PARTS:
    # In a document every member has to be a field.
    _part.__pydantic_config__ = {"extra": "forbid"}


def together(tilings: Iterable[Tiling]) -> Tilings:
    """The tilings with their sums."""
    all_tilings = tuple(tilings)
    tiled = [entry for entry in all_tilings if entry.chosen is not None]
    return Tilings(
        all_tilings,
        len(tiled),
        sum(entry.chosen.bytes for entry in tiled if entry.chosen is not None),
        sum(entry.least or 0 for entry in tiled),
    )
