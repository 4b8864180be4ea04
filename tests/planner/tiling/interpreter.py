"""Runs a convolution in tiles: in an array as large as their memory, at the offsets of the plan."""

from itertools import product
from typing import Any

import numpy as np

from memstow.planner.model.graph import Operator, Window
from memstow.planner.model.tiling import Chosen, Loop, TileBuffer, Tiling

Array = np.ndarray[Any, Any]


def convolve(
    image: Array,
    weights: Array,
    window: Window,
    rows: range,
    columns: range,
    at: tuple[int, int],
    groups: int,
) -> Array:
    """Sums of these rows and columns of the output; `image` begins at row and column `at` of the whole image.

    What lies outside of the image is zero; of what lies outside of the part that is given, nothing is known.
    """
    made, high, wide, reads = weights.shape
    sums = np.zeros((len(rows), len(columns), made), np.int64)
    each = made // groups
    for i, j, tap_row, tap_column in product(range(len(rows)), range(len(columns)), range(high), range(wide)):
        row = rows[i] * window.stride[0] - window.padding[0] + tap_row * window.dilation[0] - at[0]
        column = columns[j] * window.stride[1] - window.padding[1] + tap_column * window.dilation[1] - at[1]
        if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
            for group in range(groups):
                read = image[row, column, group * reads : (group + 1) * reads].astype(np.int64)
                mine = slice(group * each, (group + 1) * each)
                sums[i, j, mine] += weights[mine, tap_row, tap_column].astype(np.int64) @ read
    return sums


def requantize(sums: Array, bias: Array) -> Array:
    """To 8 bits, as kernels do it: scaled, rounded, clipped."""
    scaled: Array = np.clip((sums + bias + 8) >> 4, -128, 127).astype(np.int8)
    return scaled


class Tiles:
    """The memory of the tiles, and what comes into it."""

    def __init__(self, tiling: Tiling, operator: Operator, tensors: dict[str, Array]) -> None:
        assert tiling.chosen is not None
        assert operator.window is not None
        self.chosen: Chosen = tiling.chosen
        self.window = operator.window
        self.names = (*operator.inputs, operator.outputs[0])
        self.whole = tensors
        self.memory = bytearray(tiling.capacity)
        self.here: dict[str, tuple[object, TileBuffer]] = {}
        self.times: dict[str, int] = {}
        self.moved = 0

    def buffer(self, tensor: str) -> TileBuffer:
        """The buffer for the next tile of a tensor: in turn, where there are two."""
        own = [move for move in self.chosen.buffers if move.tensor == tensor]
        turn = self.times.get(tensor, 0)
        self.times[tensor] = turn + 1
        return own[turn % len(own)]

    def view(self, buffer: TileBuffer, shape: tuple[int, ...], kind: Any) -> Array:
        """An array in this buffer; it must have room for it."""
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        assert size <= buffer.size
        return np.ndarray(shape, kind, self.memory, buffer.offset)

    def load(self, tensor: str, key: object, part: Array) -> Array:
        """The tile of a tensor, copied where it is not there yet."""
        known = self.here.get(tensor)
        if known is None or known[0] != key:
            self.here[tensor] = key, self.buffer(tensor)
            self.moved += part.nbytes
            self.view(self.here[tensor][1], part.shape, part.dtype)[...] = part
        return self.view(self.here[tensor][1], part.shape, part.dtype)

    def run(self) -> Array:
        """The output, made tile by tile."""
        x, w, b, y = self.names
        pieces, loops = self.chosen.pieces, self.chosen.loops
        output = np.zeros_like(self.whole[y])
        counts: dict[Loop, int] = {
            "channels": len(pieces.channels),
            "rows": len(pieces.rows),
            "columns": len(pieces.columns),
            "inputs": len(pieces.inputs),
        }
        image, weights, bias = (self.whole[entry] for entry in (x, w, b))
        reads = weights.shape[-1]
        grouped = reads < image.shape[2]
        sums = next((entry for entry in self.chosen.buffers if entry.role == "sums"), None)
        for step in product(*(range(counts[loop]) for loop in loops)):
            at = dict(zip(loops, step, strict=True))
            c, r, q = (at["channels"], at["rows"], at["columns"])
            channels, rows, columns = pieces.channels[c], pieces.rows[r], pieces.columns[q]
            begin, end = pieces.inputs[at["inputs"]]
            low, high = max(begin, channels.input[0]), min(end, channels.input[1])
            part = image[slice(*rows.input), slice(*columns.input), low:high]
            tile = self.load(x, (r, q, c if grouped else at["inputs"]), part)
            some = weights[slice(*channels.output)]
            some = self.load(w, (c, at["inputs"]), some if grouped else some[..., low:high])
            bias_tile = self.load(b, c, bias[slice(*channels.output)])
            groups = (high - low) // reads if grouped else 1
            made = convolve(
                tile,
                some,
                self.window,
                range(*rows.output),
                range(*columns.output),
                (rows.input[0], columns.input[0]),
                groups,
            )
            if sums is not None:
                kept = self.view(sums, made.shape, np.int32)
                kept[...] = made if begin == 0 else kept + made
                made = kept
            if end == image.shape[2]:
                result = requantize(made, bias_tile)
                goes = self.view(self.buffer(y), result.shape, np.int8)
                goes[...] = result
                output[slice(*rows.output), slice(*columns.output), slice(*channels.output)] = goes
                self.moved += result.nbytes
        return output
