"""The best tile, and the front of memory against bytes moved: by looking at all that may be best.

Directions are fixed one after the other. What is counted grows with the figures of every cut, so the others
at their best give a bound on all that can still come, and most combinations are never looked at.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Final, NamedTuple

from memstow.planner.model.tiling import CHANNELS_INSIDE, CHANNELS_OUTSIDE, Loop, TilingOptions, TilingTerm
from memstow.planner.tiling.homes import Homes
from memstow.planner.tiling.layer import Layer
from memstow.planner.tiling.measures import Cuts, l1_bytes, needs
from memstow.planner.tiling.spans import (
    Cut,
    cuts,
    ideal,
    is_every_size,
    read_by_channels,
    read_by_rows,
    read_the_same,
)

# What decides where the objective does not.
_LAST: Final[tuple[TilingTerm, ...]] = ("bytes", "tiles", "l1")

Key = tuple[int, ...]


class Candidate(NamedTuple):
    """A tile and an order of loops, and what is counted of them."""

    cuts: Cuts
    loops: tuple[Loop, ...]
    bytes: int
    tiles: int
    alignment: int
    l1: int
    beyond: int


@dataclass(slots=True)
class Work:
    """Counts what is looked at."""

    most: int
    done: int = 0
    complete: bool = True

    def more(self) -> bool:
        """Whether there may be one more."""
        if self.done >= self.most:
            self.complete = False
            return False
        self.done += 1
        return True


@dataclass(frozen=True, slots=True)
class Space:
    """All tiles of a layer that may be best."""

    layer: Layer
    options: TilingOptions
    unit: int
    homes: Homes
    channels: Sequence[Cut] = field(init=False)
    rows: Sequence[Cut] = field(init=False)
    columns: Sequence[Cut] = field(init=False)
    inputs: Sequence[Cut] = field(init=False)

    def __post_init__(self) -> None:
        layer, multiple = self.layer, dict(self.options.multiples)
        made = {
            "channels": cuts(layer.channels, multiple.get("channels", 1), read_by_channels(layer)),
            "rows": cuts(layer.rows, multiple.get("rows", 1), read_by_rows(layer, 0)),
            "columns": cuts(layer.columns, multiple.get("columns", 1), read_by_rows(layer, 1)),
            "inputs": cuts(layer.input_channels, multiple.get("inputs", 1), read_the_same),
        }
        if not layer.splits_inputs:
            made["inputs"] = [cut for cut in made["inputs"] if cut.number == 1]
        for name, found in made.items():
            object.__setattr__(self, name, found)

    @property
    def has_all_sizes(self) -> bool:
        """Whether no direction is too long for all sizes of its pieces."""
        layer = self.layer
        extents = (layer.channels, layer.rows, layer.columns)
        return all(map(is_every_size, (*extents, layer.input_channels if layer.splits_inputs else 1)))

    def loops(self) -> tuple[tuple[Loop, ...], ...]:
        """The orders of loops, one of which is as good as any: what they move differs by where channels are.

        Where every operand needs the tile's channels, channels outside are never worse.
        """
        if self.layer.groups > 1 or len(self.channels) == 1:
            return (CHANNELS_OUTSIDE,)
        return (CHANNELS_OUTSIDE, CHANNELS_INSIDE)

    def candidate(self, cut: Cuts, loops: tuple[Loop, ...]) -> Candidate:
        """What is counted of a tile."""
        found = list(needs(self.layer, cut, loops, self.options))
        moved = sum(need.bytes for need in found)
        return Candidate(
            cut,
            loops,
            moved,
            prod(it.number for it in cut),
            sum(it.misaligned for it in cut),
            sum(l1_bytes(need, self.options, self.unit) for need in found),
            self.homes.beyond(found, moved),
        )

    def walk(self, is_of_use: Callable[[Candidate], bool], work: Work) -> Iterator[Candidate]:
        """All candidates but those that a bound, which is not of use, shows to be of none."""
        best = Cuts(*(ideal(it) for it in (self.channels, self.rows, self.columns, self.inputs)))

        def look(cut: Cuts, loops: tuple[Loop, ...]) -> Candidate | None:
            found = self.candidate(cut, loops) if work.more() else None
            return found if found is not None and is_of_use(found) else None

        for loops, inputs, channels in product(self.loops(), self.inputs, self.channels):
            outer = best._replace(channels=channels, inputs=inputs)
            if look(outer, loops) is None:
                continue
            for rows in self.rows:
                if look(outer._replace(rows=rows), loops) is None:
                    continue
                for columns in self.columns:
                    found = look(outer._replace(rows=rows, columns=columns), loops)
                    if found is not None:
                        yield found


def best_of(
    space: Space, objective: Sequence[TilingTerm], capacity: int | None, work: Work
) -> Candidate | None:
    """The best tile that fits; None where none does."""
    terms = (*objective, *(term for term in _LAST if term not in objective))
    best: Candidate | None = None
    best_key: Key = ()

    def is_of_use(it: Candidate) -> bool:
        return (capacity is None or it.l1 <= capacity) and (best is None or _key(it, terms) < best_key)

    for found in space.walk(is_of_use, work):
        best, best_key = found, _key(found, terms)
    return best


def front_of(space: Space, capacity: int | None, work: Work) -> list[Candidate]:
    """The tiles that need less memory than all that move no more bytes; little memory first."""
    front: dict[tuple[int, int], Candidate] = {}

    def is_of_use(it: Candidate) -> bool:
        if capacity is not None and it.l1 > capacity:
            return False
        return not any(l1 <= it.l1 and moved <= it.bytes for l1, moved in front)

    for found in space.walk(is_of_use, work):
        for l1, moved in [key for key in front if found.l1 <= key[0] and found.bytes <= key[1]]:
            del front[l1, moved]
        front[found.l1, found.bytes] = found
    return [front[key] for key in sorted(front)]


def _key(candidate: Candidate, terms: Sequence[TilingTerm]) -> Key:
    return tuple(getattr(candidate, term) for term in terms)
