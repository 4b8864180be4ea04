"""A walk through all steps in the order of the loops, with the tile of each tensor that is in its buffer."""

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Final

from memstow.planner.model.tiling import Chosen, Loop, Pieces, Tiling
from memstow.planner.verify.tilings.reading import Operand, Reading

MOST_STEPS: Final = 50_000
LOOPS: Final[tuple[Loop, ...]] = ("channels", "rows", "columns", "inputs")


def check_walk(found: Reading, tiling: Tiling, chosen: Chosen) -> tuple[bool, list[str]]:
    """Whether all steps were walked through, and what is wrong with what moves."""
    counts = dict(zip(LOOPS, _counts(chosen.pieces), strict=True))
    wrong = []
    if sorted(chosen.loops) != sorted(LOOPS):
        return False, ["the loops are not each direction once"]
    if chosen.tiles != prod(counts.values()):
        wrong.append("the number of tiles is wrong")
    multiples = dict(tiling.options.multiples)
    sizes = (chosen.tile.channels, chosen.tile.rows, chosen.tile.columns, chosen.tile.inputs)
    far = sum(-size % multiples.get(loop, 1) for loop, size in zip(LOOPS, sizes, strict=True))
    if far != chosen.alignment:
        wrong.append("the distance from multiples is wrong")
    if chosen.tiles > MOST_STEPS:
        return False, wrong
    return True, wrong + _walk(found, chosen)


def steps_of(pieces: Pieces, loops: tuple[Loop, ...]) -> Iterator[dict[Loop, int]]:
    """The steps in order: of each, the number of its piece in each direction."""
    counts = dict(zip(LOOPS, _counts(pieces), strict=True))
    for step in product(*(range(counts[loop]) for loop in loops)):
        yield dict(zip(loops, step, strict=True))


def _walk(found: Reading, chosen: Chosen) -> list[str]:
    wrong: list[str] = []
    room = {it.tensor: it.size for it in chosen.buffers if it.tensor is not None}
    here: dict[str, tuple[int, ...]] = {}
    moved = {it.tensor: 0 for it in found.operands}
    times = dict(moved)
    made: set[tuple[int, ...]] = set()
    for at in steps_of(chosen.pieces, chosen.loops):
        for it in found.operands:
            place = tuple(at[loop] for loop in it.loops)
            if here.get(it.tensor) == place:
                continue
            here[it.tensor] = place
            size = tile_elements(found, chosen.pieces, it, at) * it.element
            moved[it.tensor] += size
            times[it.tensor] += 1
            if size > room.get(it.tensor, 0):
                wrong.append(f"a tile of {it.tensor!r} is larger than its buffer")
            if it.role == "output":
                if place in made:
                    wrong.append(f"a tile of {it.tensor!r} goes away before it is done")
                made.add(place)
            if len(wrong) > 10:
                return wrong
    says = {it.tensor: (it.bytes, it.times, it.role) for it in chosen.moved}
    counted = {it.tensor: (moved[it.tensor], times[it.tensor], it.role) for it in found.operands}
    if says != counted or len(chosen.moved) != len(says):
        wrong.append(f"what moves is {counted}, not {says}")
    return wrong


def tile_elements(found: Reading, pieces: Pieces, operand: Operand, at: dict[Loop, int]) -> int:
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
        elements = out * min(end - begin, found.input_channels // found.groups)
    else:
        elements = out if operand.loops else 1
    return elements * operand.each


def _counts(pieces: Pieces) -> tuple[int, int, int, int]:
    return len(pieces.channels), len(pieces.rows), len(pieces.columns), len(pieces.inputs)
