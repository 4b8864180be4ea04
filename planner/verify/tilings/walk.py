"""A walk through all steps in the order of the loops, with the tile of each tensor that is in its buffer."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Final, NamedTuple

from memstow.planner.model.tiling import Loop, Pieces
from memstow.planner.verify.tilings.counts import LOOPS, Need
from memstow.planner.verify.tilings.reading import Operand, Reading

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
            (self.most[it.tensor], self.times[it.tensor], self.bytes[it.tensor])
            == (it.size, it.times, it.bytes)
            for it in needs
            if it.tensor is not None
        )


def walk(found: Reading, pieces: Pieces, loops: Sequence[Loop]) -> Walked:
    """What moves in all steps."""
    here: dict[str, tuple[int, ...]] = {}
    moved = {it.tensor: 0 for it in found.operands}
    times, most = dict(moved), dict(moved)
    made: set[tuple[int, ...]] = set()
    is_whole = True
    for at in _steps(pieces, loops):
        for it in found.operands:
            place = tuple(at[loop] for loop in it.loops)
            if here.get(it.tensor) == place:
                continue
            here[it.tensor] = place
            size = _elements(found, pieces, it, at) * it.element
            moved[it.tensor] += size
            times[it.tensor] += 1
            most[it.tensor] = max(most[it.tensor], size)
            if it.role == "output":
                is_whole = is_whole and place not in made
                made.add(place)
    return Walked(moved, times, most, is_whole)


def _steps(pieces: Pieces, loops: Sequence[Loop]) -> Iterator[dict[Loop, int]]:
    """The steps in order: of each, the number of its piece in each direction."""
    counts = (len(pieces.channels), len(pieces.rows), len(pieces.columns), len(pieces.inputs))
    numbers = dict(zip(LOOPS, counts, strict=True))
    for step in product(*(range(numbers[loop]) for loop in loops)):
        yield dict(zip(loops, step, strict=True))


def _elements(found: Reading, pieces: Pieces, operand: Operand, at: dict[Loop, int]) -> int:
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
