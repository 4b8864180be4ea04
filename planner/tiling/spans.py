"""How a direction is cut into pieces, and what each way of cutting costs.

All that is counted of a tiling grows with the figures of a `Cut`, so one that is in no figure better than
another is left out: the best tile is still found, and the whole front.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from memstow.planner.tiling.layer import Layer

MOST_SIZES: Final = 2048
"""Longer directions are cut into up to 64 equal pieces, and into pieces of powers of two."""
MOST_PIECES: Final = 1 << 16
_MOST_COUNTS: Final = 64

Span = tuple[int, int]


class Cut(NamedTuple):
    """A way to cut a direction into pieces of one size, of which the last may be less."""

    size: int
    number: int
    """Of pieces."""
    input_sum: int
    """Of what all pieces read."""
    input_most: int
    """Of what a piece reads."""
    misaligned: int
    """How far the size is from the next multiple that is wished for."""


def spans(extent: int, size: int) -> list[Span]:
    """The pieces of this size."""
    return [(begin, min(begin + size, extent)) for begin in range(0, extent, size)]


def read_by_rows(layer: Layer, axis: int) -> Callable[[Span], Span]:
    """What a piece of rows (0) or columns (1) reads."""
    window = layer.window
    step, margin = window.stride[axis], window.padding[axis]
    reach = (window.kernel[axis] - 1) * window.dilation[axis] + 1
    extent = (layer.input_rows, layer.input_columns)[axis]

    def read(piece: Span) -> Span:
        begin = min(max(piece[0] * step - margin, 0), extent)
        return begin, max(min((piece[1] - 1) * step - margin + reach, extent), begin)

    return read


def read_by_channels(layer: Layer) -> Callable[[Span], Span]:
    """What a piece of output channels reads: the input channels of its groups."""
    outputs, inputs = layer.group_outputs, layer.group_inputs

    def read(piece: Span) -> Span:
        return piece[0] // outputs * inputs, -(-piece[1] // outputs) * inputs

    return read


def read_the_same(piece: Span) -> Span:
    """What a piece of input channels reads."""
    return piece


def cuts(extent: int, multiple: int, read: Callable[[Span], Span]) -> list[Cut]:
    """All ways to cut that may be best, few pieces first."""
    found = []
    for size in _sizes(extent):
        parts = [read(piece) for piece in spans(extent, size)]
        lengths = [end - begin for begin, end in parts]
        found.append(Cut(size, len(parts), sum(lengths), max(lengths), -size % multiple))
    return _undominated(found)


def is_every_size(extent: int) -> bool:
    """Whether all sizes of pieces are looked at."""
    return extent <= MOST_SIZES


def ideal(cut: Sequence[Cut]) -> Cut:
    """In every figure as good as the best of these."""
    return Cut(*map(min, zip(*cut, strict=True)))


def _sizes(extent: int) -> Iterable[int]:
    """Sizes of pieces, large ones first."""
    if is_every_size(extent):
        return range(extent, 0, -1)
    even = {-(-extent // count) for count in range(1, _MOST_COUNTS + 1)}
    round_sizes = {1 << bit for bit in range(extent.bit_length())}
    return sorted((it for it in even | round_sizes if extent <= it * MOST_PIECES), reverse=True)


def _undominated(found: Sequence[Cut]) -> list[Cut]:
    kept: list[Cut] = []
    # Whatever is at least as good in every figure comes first in this order.
    for cut in sorted(found, key=lambda it: (it.number, it.size, *it[2:])):
        if not any(all(a <= b for a, b in zip(other, cut, strict=True)) for other in kept):
            kept.append(cut)
    return kept
