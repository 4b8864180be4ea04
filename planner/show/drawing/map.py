"""The map of one pool as SVG: boxes for large items, shade for the rest, lines and axes."""

from dataclasses import dataclass
from heapq import nlargest
from typing import Final

from memstow.planner.show.drawing import frame
from memstow.planner.show.drawing.boxes import (
    MOST_TOOLTIPS,
    boxes_with_tooltips,
    names,
    plain_boxes,
    readable,
    summits,
)
from memstow.planner.show.drawing.scale import ACROSS, Box, Panel
from memstow.planner.show.drawing.shade import columns_of
from memstow.planner.show.drawing.shade_svg import spots

MOST_BOXES: Final = 10_000
"""Drawn one by one in one picture; the rest is shade."""


@dataclass(frozen=True, slots=True)
class MapDrawing:
    """The SVG of a map, and the number of items that are not drawn as boxes."""

    lines: list[str]
    shaded: int
    """Buffers that are part of the shade."""
    unseen: int
    """Buffers that live at no moment that is shown."""


def draw_map(panel: Panel) -> MapDrawing:
    """Everything of one pool, from the back to the front."""
    columns = columns_of(panel.lives, panel.axis, ACROSS)
    own, thin = _by_size(panel.boxes, MOST_BOXES // panel.beside)
    with_tooltip = readable(own, MOST_TOOLTIPS // panel.beside)
    tooltip_boxes = [own[index] for index in sorted(with_tooltip)]
    lines = [
        frame.heading(panel),
        *frame.ground(panel, columns),
        *spots(panel, thin),
        *plain_boxes(box for index, box in enumerate(own) if index not in with_tooltip),
        *boxes_with_tooltips(panel, tooltip_boxes),
        *summits(panel, thin),
        *frame.moment(panel),
        *frame.levels(panel),
        *names(tooltip_boxes),
        *frame.axes(panel),
    ]
    seen = {box.life.buffer.id for box in own}
    shaded = {box.life.buffer.id for box in thin if columns.of(box.life)} - seen
    unseen = {box.life.buffer.id for box in thin} - shaded - seen
    return MapDrawing(lines, len(shaded), len(unseen))


def _by_size(boxes: list[Box], most: int) -> tuple[list[Box], list[Box]]:
    """The boxes to draw one by one, and those that are too thin or too many for it."""
    wide = [index for index, box in enumerate(boxes) if box.thinner >= 1]
    own = set(nlargest(most, wide, key=lambda index: boxes[index].area))
    return (
        [box for index, box in enumerate(boxes) if index in own],
        [box for index, box in enumerate(boxes) if index not in own],
    )
