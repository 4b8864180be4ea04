"""A tiling: one operator in tiles that fit a small memory, what each tile covers, and the bytes that move.

docs/tiling.md says which tiles there are and what is counted; `planner.tiling` finds them, and
`planner.verify.tilings` replays them.
"""

from dataclasses import dataclass
from typing import Final, Literal

from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem

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


@dataclass(frozen=True, slots=True)
class Tile:
    """The largest tile: output channels, rows, columns, and the input channels that are added up at once."""

    channels: int
    rows: int
    columns: int
    inputs: int


@dataclass(frozen=True, slots=True)
class Piece:
    """What a tile covers in one direction: a half-open range of the output, and what it reads for it."""

    output: tuple[int, int]
    input: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces in each direction; every combination of one of each is a step.

    A step reads the input channels that are both in the piece of `channels` and in that of `inputs`.
    """

    channels: tuple[Piece, ...]
    rows: tuple[Piece, ...]
    columns: tuple[Piece, ...]
    inputs: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Moved:
    """What moves of one tensor between the memory of the tiles and where it lies whole."""

    tensor: str
    role: Role
    bytes: int
    times: int
    """How often a tile of it is moved."""
    least: int
    """The bytes of those elements that are needed: no tiling moves less."""
    beyond: bool
    """Whether it lies whole beyond the memory `home`."""


@dataclass(frozen=True, slots=True)
class TileBuffer:
    """A buffer in the memory of the tiles."""

    id: str
    role: Role
    tensor: str | None
    """The tensor whose tiles it holds."""
    size: int
    offset: int


@dataclass(frozen=True, slots=True)
class Whole:
    """The layer as one tile."""

    l1: int
    fits: bool


@dataclass(frozen=True, slots=True)
class FrontTile:
    """A point of the front: no tile needs less memory and moves no more bytes."""

    l1: int
    bytes: int
    tiles: int
    tile: Tile
    loops: tuple[Loop, ...]
    replayed: bool = False
    """Whether the judge has walked through its steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TilingOptions:
    """What is asked of the tiles."""

    pool: str | None = None
    """The memory of the tiles; default: the first pool with a capacity, or the only one."""
    capacity: int | None = None
    """Bytes of this memory; default: as the pool says."""
    home: str | None = None
    """The memory where whole tensors lie; default: the first pool after that of the tiles, if any."""
    objective: tuple[TilingTerm, ...] = ("bytes", "tiles")
    double_buffer: bool = True
    im2col: int | Literal["tile"] = 0
    """Pixels that are laid out at once; 0: none."""
    multiples: tuple[tuple[Loop, int], ...] = ()
    """Of what the size of a tile should be a multiple, for the term `alignment`."""
    front: bool = False
    """Also find the front of memory against bytes moved."""
    work: int = 300_000
    """The most combinations that are looked at for each question about an operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The best tile."""

    tile: Tile
    loops: tuple[Loop, ...]
    """Outermost first."""
    tiles: int
    """Steps: tiles of the output, each as often as there are pieces of input channels."""
    bytes: int
    alignment: int
    l1: int
    beyond: int | None
    pieces: Pieces
    moved: tuple[Moved, ...]
    buffers: tuple[TileBuffer, ...]
    problem: Problem
    plan: Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiling:
    """How an operator is computed in tiles; without `chosen`, why not."""

    operator: str
    type: str | None
    pool: str
    capacity: int
    """The bytes that tiles may take: of the pool, the largest stretch that is free."""
    home: str | None = None
    unit: int = 1
    """Buffers take whole units, and begin at a multiple of it."""
    options: TilingOptions = TilingOptions()
    why_not: str | None = None
    """Why the operator has no tiles; None where the family of docs/tiling.md has some."""
    needs: int | None = None
    """The least bytes that any tile needs; where none fits."""
    bound: int | None = None
    """No tile that fits moves fewer bytes; where all were looked at."""
    least: int | None = None
    """The bytes of all elements that are needed, each moved once."""
    whole: Whole | None = None
    complete: bool = True
    """Whether all tiles of the family were looked at, or left out by a bound."""
    looked_at: int = 0
    replayed: bool = False
    """Whether the judge has walked through every step; it does up to a number of them."""
    chosen: Chosen | None = None
    front: tuple[FrontTile, ...] | None = None
