"""Axes, lines and points of the pictures of a report."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

from memstow.planner.bench.analysis.curves import Curve
from memstow.planner.bench.report.canvas import INK, Style
from memstow.planner.show.formatting import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

Which = Literal["x", "y"]

SHORTEST: Final = 0.001
"""Seconds: on axes of time, less is drawn as this."""
LONGEST_NAME: Final = 30
_MOST_MARKERS: Final = 12
_PERCENTS: Final = (0.0, 0.1, 1.0, 10.0, 100.0)
_THOUSANDS: Final = (0.0, 1.0, 100.0, 10_000.0, 1_000_000.0)
_FEW_DECADES: Final = 2.2
# Square points of type that one point of a scatter covers, and the most that many in one place do.
_POINT: Final = 14.0
_LARGEST: Final = 400.0
# More numbers than this, the largest first, would hide the points.
_MOST_NUMBERS: Final = 40
_SMALL: Final = 6.5


def lines(
    panel: "Axes",
    curves: Iterable[Curve],
    styles: Mapping[str, Style],
    *,
    steps: bool = False,
    until: float | None = None,
    markers: bool = True,
) -> None:
    """The curves, each in its solver's look; steps hold until the next, and the last of them to the edge."""
    for curve in curves:
        style = styles[curve.name]
        x, y = list(curve.x), list(curve.y)
        if until is not None and x:
            x, y = [*x, until], [*y, y[-1]]
        panel.plot(
            x,
            y,
            color=style.colour,
            linestyle=style.dash,
            marker=style.marker if markers else "",
            markersize=4,
            markevery=max(1, len(x) // _MOST_MARKERS),
            drawstyle="steps-post" if steps else "default",
            label=legend_name(curve.name),
        )


def points(panel: "Axes", places: Sequence[tuple[float, float]], style: Style, label: str | None) -> None:
    """One mark for each point, see-through so that crowds are darker."""
    panel.plot(
        [x for x, _ in places],
        [y for _, y in places],
        color=style.colour,
        linestyle="",
        marker=style.marker,
        markersize=4,
        markeredgewidth=0,
        alpha=0.65,
        label="_" if label is None else legend_name(label),
    )


def crowds(panel: "Axes", places: Sequence[tuple[float, float, int]], style: Style) -> None:
    """A mark for each place, its area as many times as large as points are there, and their number."""
    panel.scatter(
        [x for x, _, _ in places],
        [y for _, y, _ in places],
        s=[min(_POINT * many, _LARGEST) for _, _, many in places],
        color=style.colour,
        marker=style.marker,
        linewidths=0,
        alpha=0.65,
    )
    most = sorted((many for _, _, many in places if many > 1), reverse=True)[:_MOST_NUMBERS]
    for x, y, many in places:
        if many > 1 and many >= most[-1]:
            away = math.sqrt(min(_POINT * many, _LARGEST)) / 2
            panel.annotate(
                f"{many}", (x, y), (away, -away), textcoords="offset points", va="top", fontsize=_SMALL
            )


def legend_name(solver: str) -> str:
    """A name that fits in a legend; matplotlib leaves out what begins with an underscore."""
    text = plain(solver, most=LONGEST_NAME)
    return f" {text}" if text.startswith("_") else text


def diagonal(panel: "Axes", last: float) -> None:
    """Where both are equal, and how far real values go."""
    panel.axline((last, last), (last / 2, last / 2), color=INK, linewidth=0.8)
    panel.axvline(last, color=INK, linewidth=0.8, linestyle=":")
    panel.axhline(last, color=INK, linewidth=0.8, linestyle=":")


def nothing(panel: "Axes", title: str, why: str) -> None:
    """An empty panel that says so."""
    panel.set(title=title, xticks=[], yticks=[])
    panel.grid(visible=False)
    panel.text(0.5, 0.5, why, transform=panel.transAxes, ha="center", va="center")


def decades(panel: "Axes", which: Which) -> None:
    """A logarithmic axis with plain numbers at its decades."""
    _scale(panel, which, "log")
    axis = _axis(panel, which)
    low, high = panel.get_xlim() if which == "x" else panel.get_ylim()
    if high < low * 10**_FEW_DECADES:
        from matplotlib.ticker import LogLocator

        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("")


def percents(panel: "Axes", which: Which, last: float) -> None:
    """Per cent, from none at all over small parts to multiples."""
    from matplotlib.ticker import NullLocator

    ticks = _THOUSANDS if last > 10 * _PERCENTS[-1] else _PERCENTS
    _scale(panel, which, "symlog", linthresh=ticks[1], linscale=0.7)
    axis = _axis(panel, which)
    axis.set_ticks([tick for tick in ticks if tick <= max(last, 1.0)])
    axis.set_major_formatter("{x:g} %")
    axis.set_minor_locator(NullLocator())
    (panel.set_xlim if which == "x" else panel.set_ylim)(-ticks[1] / 5, max(last, 1.0) * 1.1)


def whole(panel: "Axes", which: Which) -> None:
    """An axis of things that are counted: no half of one."""
    from matplotlib.ticker import MaxNLocator

    _axis(panel, which).set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def _axis(panel: "Axes", which: Which) -> "Axis":
    return panel.xaxis if which == "x" else panel.yaxis


def _scale(panel: "Axes", which: Which, name: str, **details: float) -> None:
    (panel.set_xscale if which == "x" else panel.set_yscale)(name, **details)
