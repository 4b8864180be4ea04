"""The scale of the map of one pool: from times and addresses to pixels."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from memstow.planner.model.plan import PoolUse
from memstow.planner.model.problem import Pool
from memstow.planner.show.drawing.items import Axis, Life
from memstow.planner.show.drawing.palette import grade

LEFT: Final = 80
ACROSS: Final = 800
RIGHT: Final = LEFT + ACROSS

_NEAR: Final = 1.5
"""A capacity up to this many times the peak is drawn; a larger one is only named."""


@dataclass(frozen=True, slots=True)
class Box:
    """A life in pixels, with its colour's place on the ramp."""

    life: Life
    left: float
    high: float
    wide: float
    tall: float
    grade: int

    @property
    def thinner(self) -> float:
        """Its smaller side."""
        return min(self.wide, self.tall)

    @property
    def area(self) -> float:
        """Square pixels."""
        return self.wide * self.tall


@dataclass(frozen=True)
class Panel:
    """One pool, and where on the page its map is."""

    pool: Pool
    use: PoolUse
    lives: Sequence[Life]
    axis: Axis
    lengths: tuple[int, int]
    """The shortest and the longest life of the whole picture."""
    top: int
    tall: int
    beside: int = 1
    """The number of maps in the picture, which share the limit of boxes in a file."""

    @property
    def bottom(self) -> int:
        """The address 0."""
        return self.top + self.tall

    @cached_property
    def height(self) -> int:
        """Bytes from bottom to top, with some room above the highest line."""
        capacity = self.near_capacity or 0
        highest = max(self.use.peak, self.use.bound, capacity, *(life.top for life in self.lives))
        return highest + max(1, highest // 25)

    @property
    def near_capacity(self) -> int | None:
        """The capacity, where it can be shown to scale."""
        capacity = self.use.capacity
        return capacity if capacity is not None and capacity <= self.use.peak * _NEAR else None

    def across(self, time: int) -> float:
        """Pixels from the left."""
        # Differences first: times may be larger than a float can tell apart.
        return LEFT + ACROSS * ((time - self.axis.begin) / (self.axis.end - self.axis.begin))

    def up(self, address: int) -> float:
        """Pixels from the top of the page."""
        return self.top + self.tall * (1 - address / self.height)

    @cached_property
    def boxes(self) -> list[Box]:
        """Every life where it is, in the order of the problem."""
        grades: dict[int, int] = {}
        made = []
        for life in self.lives:
            length = life.end - life.begin
            on_ramp = grades.get(length)
            if on_ramp is None:
                on_ramp = grades[length] = grade(length, *self.lengths)
            left, high = self.across(life.begin), self.up(life.top)
            wide, tall = self.across(life.end) - left, self.up(life.offset) - high
            made.append(Box(life, left, high, wide, tall, on_ramp))
        return made


def px(value: float) -> str:
    """Pixels to a tenth, as short as can be."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text
