"""The figures of a paper as PGF: text that LaTeX draws in its own letters, with the package pgfplots.

Of the same curves as the pictures of a report. Each file is two panels and a legend below them, as wide as
the text.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from memstow.planner.bench.analysis import Bench, Curve
from memstow.planner.bench.report_pictures import (
    COLOURS,
    LETTERS,
    Curves,
    gaps,
    legend_name,
    profiles,
    times_to_solve,
)
from memstow.planner.show.formatting import latex_text

# As the dashes of the pictures: colours alone are not told apart in grey.
_DASHES: Final = ("solid", "dashed", "dash dot", "dotted")
_DIGITS: Final = 6
_MOST_TICKS: Final = 6
_HEAD: Final = r"% needs \usepackage{pgfplots} and \pgfplotsset{compat=1.16}"


class Panel(NamedTuple):
    """What an axis is like."""

    title: str
    options: str
    steps: bool = False


def pgf_figures(bench: Bench) -> dict[str, bytes]:
    """The files by their names; of the profiles, the runs over time, and the gaps."""
    seconds = r"xmode=log, xlabel={seconds}, ymin=0, ymax=100"
    share = r"ymin=0, ymax=1.02, ylabel={share of all runs}"
    counted = r"xlabel={runs}, xmin=0, ymode=log, ylabel={seconds}"
    shares = profiles(bench)
    speed = max((curve.x[-1] for curve in shares.right if curve.x), default=1.0)
    figures = (
        (
            "profiles",
            shares,
            Panel("Value", rf"{share}, xlabel={{per cent above the best known}}, xmin=0", steps=True),
            Panel(
                "Time to proof",
                rf"{share}, xmode=log, log ticks with fixed point, xmin=1, xtick={{{_powers(speed)}}}, "
                "xlabel={times the fastest}",
                steps=True,
            ),
        ),
        (
            "cactus",
            times_to_solve(bench),
            Panel("Proven", counted),
            Panel("As good as the best known", counted),
        ),
        (
            "gap",
            gaps(bench),
            Panel("Plan", rf"{seconds}, ylabel={{mean gap, per cent}}"),
            Panel("Bound", rf"{seconds}, ylabel={{mean gap, per cent}}"),
        ),
    )
    return {
        f"report-{name}.pgf": "\n".join(_figure(bench.solvers, curves, panels)).encode() + b"\n"
        for name, curves, *panels in figures
    }


def _powers(last: float) -> str:
    """The powers of two up to there, few of them."""
    highest = max(1, math.ceil(math.log2(last)))
    return ",".join(str(2**power) for power in range(0, highest + 1, -(-highest // _MOST_TICKS)))


def _figure(solvers: Sequence[str], curves: Curves, panels: Sequence[Panel]) -> Iterator[str]:
    yield _HEAD
    yield r"\begin{tikzpicture}"
    for number, colour in enumerate(COLOURS):
        yield rf"\definecolor{{memstow{number}}}{{HTML}}{{{colour.removeprefix('#').upper()}}}"
    drawn = (curves.left, curves.right)
    for number, (panel, inside) in enumerate(zip(panels, drawn, strict=True)):
        yield from _axis(number, panel, inside, solvers if number == 1 else ())
    yield r"\end{tikzpicture}"


def _axis(number: int, panel: Panel, curves: Sequence[Curve], legend: Sequence[str]) -> Iterator[str]:
    place = "" if number == 0 else r"at={(0.51\textwidth,0)}, anchor=south west, "
    names = (
        r"legend columns=4, legend style={draw=none, at={(-0.17,-0.33)}, anchor=north, font=\small, "
        r"/tikz/every even column/.append style={column sep=1em}}"
    )
    more = f"{names}, " if legend else ""
    title = f"({LETTERS[number]}) {panel.title}"
    yield (
        rf"\begin{{axis}}[{place}width=0.47\textwidth, height=0.36\textwidth, title={{{title}}}, "
        rf"grid=major, tick align=outside, {more}{panel.options}]"
    )
    last = max((curve.x[-1] for curve in curves if curve.x), default=None)
    if last is None:
        # An axis without a plot has no range, and no legend.
        yield r"\addplot[draw=none, forget plot] coordinates {(1,0.1) (2,1)};"
        yield r"\node at (rel axis cs:0.5,0.5) {there is none};"
    for place_of, curve in enumerate(curves):
        yield from _curve(place_of, curve, panel, last)
        if legend:
            yield rf"\addlegendentry{{{latex_text(legend_name(curve.name).strip())}}}"
    yield r"\end{axis}"


def _curve(number: int, curve: Curve, panel: Panel, last: float | None) -> Iterator[str]:
    """A line; one without a point is drawn nowhere, so that its solver is in the legend all the same."""
    style = (
        f"memstow{number % len(COLOURS)}, {_DASHES[(number + number // len(COLOURS)) % len(_DASHES)]}, thick"
    )
    points = list(zip(curve.x, curve.y, strict=True))
    if panel.steps and points and last is not None:
        # The last step holds to the edge.
        points.append((last, points[-1][1]))
    steps = ", const plot" if panel.steps else ""
    if not points:
        yield rf"\addlegendimage{{{style}}}"
        return
    yield rf"\addplot[{style}{steps}] coordinates {{"
    yield " ".join(f"({x:.{_DIGITS}g},{y:.{_DIGITS}g})" for x, y in points)
    yield "};"
