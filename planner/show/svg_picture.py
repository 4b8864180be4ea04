"""A plan as an SVG picture: time across, addresses up, a map for each pool on one time axis.

The picture carries no script and refers to nothing, so it can be shown anywhere. It says the same for a plan
of any size: what is large enough is a box, what is too thin is shade, what makes the peak is always there.
"""

from collections.abc import Iterator, Sequence
from typing import Final
from xml.sax.saxutils import escape

from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.show.drawing.frame import FOOT, HEAD
from memstow.planner.show.drawing.items import Scene, scene_of
from memstow.planner.show.drawing.map import MapDrawing, draw_map
from memstow.planner.show.drawing.palette import HOLE, LEVELS, QUIET, RAMP, RESERVED, shade
from memstow.planner.show.drawing.scale import LEFT, RIGHT, Panel
from memstow.planner.show.formatting import count, plain

WIDTH: Final = 960
MOST_POOLS: Final = 24
"""Maps in one picture; those of the highest peaks."""

_TITLE: Final = 26
_CAPTION: Final = 18
_TALL: Final = ((1, 320), (3, 240))
"""The height of a map in pixels, by the number of maps."""
_LEAST_TALL: Final = 160
_SWATCH: Final = 10
_LETTER: Final = 5.8


def svg(problem: Problem, plan: Plan) -> str:
    """The picture, a map for each pool that holds something."""
    scene = scene_of(problem, plan)
    panels, left_out = _panels(problem, plan, scene)
    maps = [draw_map(panel) for panel in panels]
    body = [line for one in maps for line in one.lines]
    bottom = max((panel.bottom + FOOT for panel in panels), default=_TITLE)
    captions = _captions(maps, left_out) if panels else ["nothing is placed"]
    height = bottom + _CAPTION * len(captions)
    title = plain(problem.name or "memory plan", most=200)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="sans-serif" font-size="11" role="img">',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(_description(panels))}</desc>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="17" fill="{QUIET}">{escape(plain(title, most=60))}</text>',
        *_legend(panels, any(one.shaded for one in maps)),
        *body,
    ]
    for place, caption in enumerate(captions):
        y = bottom + _CAPTION * place + 10
        lines.append(f'<text class="caption" x="{LEFT}" y="{y}" fill="{QUIET}">{escape(caption)}</text>')
    return "\n".join(lines) + "\n</svg>\n"


def _panels(problem: Problem, plan: Plan, scene: Scene) -> tuple[list[Panel], int]:
    """The maps to draw, one below the other, and how many pools have none."""
    uses = {use.pool: use for use in plan.pools}
    used = [pool for pool in problem.pools if scene.pools[pool.id] and pool.id in uses]
    highest = {pool.id for pool in sorted(used, key=lambda pool: -uses[pool.id].peak)[:MOST_POOLS]}
    shown = [pool for pool in used if pool.id in highest]
    lengths = [life.end - life.begin for life in scene.lives()]
    ends = (min(lengths, default=1), max(lengths, default=1))
    tall = next((tall for most, tall in _TALL if len(shown) <= most), _LEAST_TALL)
    every = HEAD + tall + FOOT
    panels = []
    for place, pool in enumerate(shown):
        top = _TITLE + place * every + HEAD
        inside, use = scene.pools[pool.id], uses[pool.id]
        panels.append(Panel(pool, use, inside, scene.axis, ends, top, tall, len(shown)))
    return panels, len(used) - len(shown)


def _captions(maps: Sequence[MapDrawing], left_out: int) -> list[str]:
    """A note on what is not drawn box by box."""
    notes = []
    shaded, unseen = sum(one.shaded for one in maps), sum(one.unseen for one in maps)
    if shaded:
        noun = "buffer" if shaded == 1 else "buffers"
        text = (
            f"{count(shaded)} thin {noun} drawn as shade, each column at the moment when most is live in it"
        )
        notes.append(text)
    if unseen:
        noun = "buffer is" if unseen == 1 else "buffers are"
        notes.append(
            f"{count(unseen)} thin {noun} not seen: more is live at other moments of the same columns"
        )
    if left_out:
        notes.append(f"{count(left_out)} more pools, of lower peaks, are not drawn")
    return notes


def _description(panels: Sequence[Panel]) -> str:
    """The figures in words, for those who cannot see the picture."""
    peaks = [
        f"{plain(panel.pool.id, most=40)}: peak {count(panel.use.peak)} bytes"
        + (f", bound {count(panel.use.bound)}" if panel.use.bound else "")
        for panel in panels
    ]
    return "Time across, addresses up, a box for each buffer. " + "; ".join(peaks)


def _legend(panels: Sequence[Panel], shaded: bool) -> Iterator[str]:
    """The legend of the colours, from the right."""
    right = RIGHT
    entries: list[tuple[str, Sequence[str]]] = []
    if any(panel.pool.reserved for panel in panels):
        entries.append(("reserved", (RESERVED,)))
    if any(panel.axis.kind != "buffers" for panel in panels):
        entries.append(("hole", (HOLE,)))
    if shaded:
        levels = [shade(RAMP[len(RAMP) // 2], level + 1) for level in range(LEVELS)]
        entries.append(("a quarter to all of a spot in use", levels))
    if panels and panels[0].lengths[0] != panels[0].lengths[1]:
        entries.append(("short to long life", RAMP))
    for text, colours in entries:
        right -= int(len(text) * _LETTER)
        yield f'<text x="{right}" y="17" fill="{QUIET}">{text}</text>'
        right -= 6 + _SWATCH * len(colours)
        for place, colour in enumerate(colours):
            x = right + _SWATCH * place
            yield f'<rect class="legend" x="{x}" y="8" width="{_SWATCH}" height="10" fill="{colour}"/>'
        right -= 16
