"""The search for orders of items whose sizes differ from point to point: the public face of the native code.

An order is a sequence of items and a choice of pool for each: at every point each item is above those before
it that are in its way.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from memstow.solvers import _native
from memstow.solvers._native import (
    BestSequence,
    ExactSequence,
    Formulas,
    LiveEvents,
    PeakMeasure,
    Shaped,
    ShapesAim,
)

if TYPE_CHECKING:
    from array import array

    from memstow.solvers.instance import Instance

__all__ = [
    "AIMS",
    "MOST_PAIRS",
    "BestSequence",
    "ExactSequence",
    "Formulas",
    "LiveEvents",
    "PeakMeasure",
    "Shaped",
    "ShapesAim",
    "shape",
]

MOST_PAIRS: Final = 1 << 24
"""More pairs than this that conflict are too many."""
AIMS: Final = {"worst": ShapesAim.WORST, "sum": ShapesAim.SUM, "first": ShapesAim.FIRST}


def shape(
    instance: "Instance", sizes: "array[int]", points: Sequence[int], most_linked: int = MOST_PAIRS
) -> Shaped | None:
    """The items with sizes by part: one for each of the points, and the largest. None: too many conflict.

    More pairs that conflict than `most_linked` are not listed, which takes most of the time: then a search
    returns its first start.
    """
    return _native.shape(instance.native, sizes, len(points), most_linked)
