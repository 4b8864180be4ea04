"""Problems whose optimum is known: a rectangle of height x horizon, cut into n tiles without a gap.

Each tile is a buffer, its width the lifetime and its height the size. Every moment is filled to the top, so
no plan is lower than the rectangle, and the tiling is one of that height. Slack shrinks and drops tiles,
except those that live at one chosen moment: that moment still fills the height, which thus remains the
optimum.

Tiles come from cutting a rectangle in two along time or along addresses, or in five around a middle (a
pinwheel, which no sequence of straight cuts can make). While a rectangle has the full height it is never
cut straight across: such a cut would fall apart into independent problems.
"""

from dataclasses import dataclass
from math import isqrt
from typing import Final

from memstow.planner.generate.random_problems import Chance
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Buffer, Problem

DEFAULT_HEIGHT: Final = 1 << 20
PINWHEELS: Final = 0.25
"""How often a rectangle that is large enough is cut as a pinwheel."""
MOMENTS_A_TILE: Final = 16
"""About how many moments a tile lives, where the horizon is ours to choose."""

Rectangle = tuple[int, int, int, int]
"""Begin and end in time, bottom and top in units of the alignment."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """The rectangle and how wide, for its height, a tile should be."""

    height: int
    horizon: int
    aspect: float


def planted(
    n: int,
    seed: int,
    *,
    height: int = DEFAULT_HEIGHT,
    horizon: int | None = None,
    live: int | None = None,
    alignment: int = 1,
    slack: float = 0.0,
    drop: float = 0.0,
) -> Problem:
    """A problem of n buffers whose optimum is `height`, with about `live` of them live at once.

    Sizes are multiples of the alignment. `slack` shrinks buffers by up to this fraction; `drop` leaves this
    fraction of the tiles out (n are left).
    """
    if height % alignment:
        raise InputError.single(
            "bad_height", "height", f"{height} is not a multiple of the alignment {alignment}"
        )
    chance = Chance(seed)
    tiles = n + int(n * drop / (1 - drop))
    live = min(live or max(4, min(100, isqrt(n))), tiles)
    shape = _shape(tiles, live, height // alignment, horizon)
    rectangles = _cut(chance, shape, tiles)
    chance.shuffle(rectangles)
    full = chance.below(shape.horizon)
    if drop:
        rectangles = _drop(rectangles, full, n)
    buffers = tuple(
        Buffer(
            id=f"b{index}",
            size=_size(chance, rectangle, full, slack) * alignment,
            lifetime=(rectangle[0], rectangle[1]),
            alignment=alignment,
        )
        for index, rectangle in enumerate(rectangles)
    )
    return Problem(version=1, name=f"planted n={len(buffers)} seed={seed} optimum={height}", buffers=buffers)


def _shape(tiles: int, live: int, height: int, horizon: int | None) -> _Shape:
    if horizon is None:
        horizon = max(1, -(-tiles * MOMENTS_A_TILE // live), -(-tiles // max(1, height)))
    if height * horizon < tiles:
        raise InputError.single(
            "too_many_buffers",
            "n",
            f"{tiles} tiles do not fit in {height} units of size x {horizon} moments; make either larger",
        )
    return _Shape(height, horizon, (horizon * live / tiles) / (height / live))


def _cut(chance: Chance, shape: _Shape, tiles: int) -> list[Rectangle]:
    done: list[Rectangle] = []
    todo: list[tuple[Rectangle, int]] = [((0, shape.horizon, 0, shape.height), tiles)]
    while todo:
        rectangle, count = todo.pop()
        if count == 1:
            done.append(rectangle)
            continue
        begin, end, bottom, top = rectangle
        width, tall = end - begin, top - bottom
        whole = tall == shape.height
        if count >= 5 and width >= 3 and tall >= 3 and (whole or chance.happens(PINWHEELS)):
            parts = _pinwheel(chance, rectangle)
        else:
            parts = _straight(chance, rectangle, shape.aspect)
        todo.extend(zip(parts, _share(chance, parts, count), strict=True))
    return done


def _straight(chance: Chance, rectangle: Rectangle, aspect: float) -> list[Rectangle]:
    """Cut in two across the longer side, seen at the aspect wanted, and now and then across the other."""
    begin, end, bottom, top = rectangle
    width, tall = end - begin, top - bottom
    stretch = width / (tall * aspect)
    along_time = tall == 1 or (width > 1 and chance.fraction() < stretch * stretch / (1 + stretch * stretch))
    if along_time:
        at = _within(chance, begin, end)
        return [(begin, at, bottom, top), (at, end, bottom, top)]
    at = _within(chance, bottom, top)
    return [(begin, end, bottom, at), (begin, end, at, top)]


def _pinwheel(chance: Chance, rectangle: Rectangle) -> list[Rectangle]:
    """Four arms around a middle, turning one way or the other."""
    begin, end, bottom, top = rectangle
    left, right = _two_within(chance, begin, end)
    low, high = _two_within(chance, bottom, top)
    middle = (left, right, low, high)
    if chance.happens(0.5):
        return [
            middle,
            (begin, right, bottom, low),
            (right, end, bottom, high),
            (left, end, high, top),
            (begin, left, low, top),
        ]
    return [
        middle,
        (left, end, bottom, low),
        (right, end, low, top),
        (begin, right, high, top),
        (begin, left, bottom, high),
    ]


def _within(chance: Chance, first: int, last: int) -> int:
    """A place strictly between, away from the ends where there is room."""
    room = last - first
    return min(last - 1, max(first + 1, first + int(room * (0.25 + 0.5 * chance.fraction()))))


def _two_within(chance: Chance, first: int, last: int) -> tuple[int, int]:
    """Two places strictly between, the first before the second."""
    room = last - first
    low = min(last - 2, max(first + 1, first + int(room * (0.15 + 0.3 * chance.fraction()))))
    high = min(last - 1, max(low + 1, first + int(room * (0.55 + 0.3 * chance.fraction()))))
    return low, high


def _share(chance: Chance, parts: list[Rectangle], count: int) -> list[int]:
    """How many tiles each part gets: by its area, blurred; at least one and no more than it has cells."""
    areas = [(end - begin) * (top - bottom) for begin, end, bottom, top in parts]
    weights = [area * (0.6 + 0.8 * chance.fraction()) for area in areas]
    free = count - len(parts)
    scale = free / sum(weights)
    shares = [min(area, 1 + int(weight * scale)) for area, weight in zip(areas, weights, strict=True)]
    missing = count - sum(shares)
    for index, area in enumerate(areas):
        more = min(missing, area - shares[index])
        shares[index] += more
        missing -= more
    return shares


def _drop(rectangles: list[Rectangle], full: int, n: int) -> list[Rectangle]:
    """The first n of the tiles, the ones at the full moment always among them."""
    kept = [r for r in rectangles if r[0] <= full < r[1]]
    free = max(0, n - len(kept))
    for rectangle in rectangles:
        if free and not rectangle[0] <= full < rectangle[1]:
            kept.append(rectangle)
            free -= 1
    return kept


def _size(chance: Chance, rectangle: Rectangle, full: int, slack: float) -> int:
    begin, end, bottom, top = rectangle
    size = top - bottom
    if not slack or begin <= full < end:
        return size
    return max(1, size - int(size * slack * chance.fraction()))
