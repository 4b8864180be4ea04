"""Shade as SVG: spots of a pixel, or larger ones where they would be too many."""

from collections.abc import Iterator, Sequence
from math import floor
from typing import Final

from memstow.planner.show.drawing.palette import RAMP, shade
from memstow.planner.show.drawing.scale import ACROSS, RIGHT, Box, Panel
from memstow.planner.show.drawing.shade import Columns, ShadeRun, columns_of, shade_runs

MOST_RUNS: Final = 50_000
"""In one picture: more than that makes a file that is slow to open."""


def spots(panel: Panel, thin: Sequence[Box]) -> Iterator[str]:
    """The shade of items too thin for a box, grouped by colour."""
    if not thin:
        return
    graded = [(box.life, box.grade) for box in thin]
    most = MOST_RUNS // panel.beside
    size = 1
    while True:
        columns = columns_of(panel.lives, panel.axis, ACROSS // size)
        # A map of few bytes has no more rows than bytes.
        rows = min(panel.tall // size, panel.height)
        found = shade_runs(graded, columns, rows, panel.height, most + 1)
        if len(found) <= most:
            break
        size *= 2
    paths: dict[tuple[int, int], list[str]] = {}
    for run in found:
        paths.setdefault((run.grade, run.level), []).append(_outline(panel, run, columns, rows))
    for (on_ramp, level), path in sorted(paths.items()):
        yield (
            f'<path class="shade" fill="{shade(RAMP[on_ramp], level)}" shape-rendering="crispEdges" '
            f'd="{"".join(path)}"/>'
        )


def _outline(panel: Panel, run: ShadeRun, columns: Columns, rows: int) -> str:
    # Whole pixels: no seams between neighbours, and no column too narrow to be seen.
    left = min(RIGHT - 1, floor(panel.across(columns.edges[run.first]) + 0.5))
    right = floor(panel.across(columns.edges[run.last]) + 0.5)
    wide = max(1, right - left)
    low = panel.bottom - run.row * panel.tall // rows
    tall = low - (panel.bottom - (run.row + 1) * panel.tall // rows)
    return f"M{left} {low}h{wide}v-{tall}h-{wide}z"
