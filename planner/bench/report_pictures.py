"""The pictures of a report, drawn with matplotlib such that the same figures give the same bytes."""

import io
import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from memstow.planner.bench.analysis import (
    Bench,
    Curve,
    RatedRun,
    cactus,
    cluster,
    log_spaced,
    mean_over_time,
    profile,
    thin_out,
)
from memstow.planner.bench.report_text import name
from memstow.planner.model.errors import MissingBackEndError
from memstow.planner.show.formatting import plain

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


WIDTH: Final = 7.2
"""Inches: a column of print on A4 and on Letter."""
PANEL_HEIGHT: Final = 3.1

INK: Final = "#010203"
RULE: Final = "#040506"
PAPER: Final = "#070809"
_ON_PAGE: Final = {INK: "currentColor", RULE: "var(--rule)", PAPER: "var(--paper)"}
_IN_FILE: Final = {INK: "#1a1a1a", RULE: "#d8d8d4", PAPER: "#ffffff"}

# Told apart by colour on light and dark, by lightness in grey, and by dash and marker where colours run out.
COLOURS: Final = ("#3b7dc4", "#e0782a", "#3f9d4a", "#d1495b", "#8f63b8", "#2aa3a3", "#a8742f", "#8a8f98")
DASHES: Final = ("-", "--", "-.", ":")
LETTERS: Final = "ab"
"""Letters of panels from the left, which captions refer to."""
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")

_STYLE: Final[Any] = {
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.edgecolor": RULE,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 9.5,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.6,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": RULE,
    "xtick.labelcolor": INK,
    "ytick.color": RULE,
    "ytick.labelcolor": INK,
    # Text stays text: small, to be searched, and in the reader's own letters.
    "svg.fonttype": "none",
    "svg.hashsalt": "memstow",
}


@dataclass(frozen=True, slots=True)
class Style:
    """How a solver looks in every picture of a report."""

    colour: str
    dash: str
    marker: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A finished picture with its caption."""

    name: str
    title: str
    caption: str
    drawn: str

    @property
    def on_page(self) -> str:
        """For a page that gives the variables `--rule` and `--paper`; ids are its own."""
        text = re.sub(r'(?<=[ ]id=")|(?<=href="#)|(?<=url\(#)', f"{self.name}-", self.drawn)
        return _renamed(text, _ON_PAGE)

    @property
    def in_file(self) -> str:
        """A file by itself, on white paper."""
        paper = f'\\1\n <rect width="100%" height="100%" fill="{PAPER}"/>'
        text = re.sub(r"(<svg [^>]*>)", paper, self.drawn, count=1)
        return f'<?xml version="1.0" encoding="utf-8"?>\n{_renamed(text, _IN_FILE)}\n'


def styles(solvers: Sequence[str]) -> dict[str, Style]:
    """A look for each solver, in the order given."""
    return {
        solver: Style(
            COLOURS[place % len(COLOURS)],
            DASHES[(place + place // len(COLOURS)) % len(DASHES)],
            MARKERS[(place + place // len(COLOURS)) % len(MARKERS)],
        )
        for place, solver in enumerate(solvers)
    }


@dataclass(frozen=True, slots=True)
class Sketch:
    """A picture before it is drawn: two panels side by side, filled in by `draw`, and a legend below them."""

    name: str
    title: str
    caption: str
    draw: "Callable[[Sequence[Axes]], None]"


def picture(sketch: Sketch) -> Picture:
    """The sketch drawn for a page."""
    written = io.StringIO()
    with _plotting(_STYLE):
        _figure(sketch).savefig(
            written,
            format="svg",
            transparent=True,
            metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")),
        )
    return Picture(sketch.name, sketch.title, sketch.caption, _bare(written.getvalue(), sketch.title))


def as_pdf(sketch: Sketch) -> bytes:
    """The sketch drawn for a paper: a file by itself, its letters in it."""
    written = io.BytesIO()
    with _plotting(
        {**{name: _IN_FILE.get(value, value) for name, value in _STYLE.items()}, "pdf.fonttype": 42}
    ):
        _figure(sketch).savefig(
            written, format="pdf", metadata={"Title": sketch.title, "CreationDate": None, "Producer": None}
        )
    return written.getvalue()


def _figure(sketch: Sketch) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, PANEL_HEIGHT), layout="constrained")
    axes: Sequence[Axes] = figure.subplots(1, 2)
    sketch.draw(axes)
    for panel, letter in zip(axes, LETTERS, strict=True):
        panel.set_title(f"({letter})", loc="left", fontweight="bold")
    _legend(figure, axes)
    return figure


@contextmanager
def _plotting(style: Any) -> Iterator[None]:
    try:
        import matplotlib
    except ImportError:
        raise MissingBackEndError(
            "the pictures of a report need matplotlib: pip install 'memstow[bench]'"
        ) from None
    # Nothing of the user's own settings: the same figures give the same picture everywhere.
    with matplotlib.rc_context(), warnings.catch_warnings():
        # Only measured with letters of here; shown with those of the reader.
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(style)
        yield


def _legend(figure: "Figure", axes: "Sequence[Axes]") -> None:
    # An empty panel has no legend entries; the one beside it may have some.
    named: dict[str, Artist] = {}
    for panel in axes:
        handles, labels = panel.get_legend_handles_labels()
        named.update(zip(map(str, labels), handles, strict=True))
    if named:
        figure.legend(list(named.values()), list(named), loc="outside lower center", ncols=min(len(named), 4))


def _bare(text: str, title: str) -> str:
    """The `svg` element alone, with a title for those who cannot see it."""
    from xml.sax.saxutils import escape, quoteattr

    text = text[text.index("<svg ") :].strip()
    text = re.sub(r"font-family: 'DejaVu Sans'[^;]*;", "font-family: sans-serif;", text)
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    head = f'<svg role="img" aria-label={quoteattr(title)} '
    return re.sub(
        r"<svg (.*?)>",
        lambda m: f"{head}{m[1]}>\n <title>{escape(title)}</title>",
        text,
        count=1,
        flags=re.DOTALL,
    )


def _renamed(text: str, colours: dict[str, str]) -> str:
    for drawn, shown in colours.items():
        text = text.replace(drawn, shown)
    return text


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


MIB: Final = 1 << 20
_UNSOLVED: Final = 3.0
"""How far beyond the worst value a run without one is drawn, as a factor."""
_ASIDE: Final = 1.03
"""How far solvers stand apart at one size, as a factor."""

Styles = Mapping[str, Style]


def sketches(bench: Bench, styles: Styles, pair: tuple[str, str] | None) -> list[Sketch]:
    """All pictures of a report, not drawn yet; a scatter plot only for a pair of solvers."""
    drawn = [
        Sketch(
            "profiles",
            "Performance profiles",
            "The share of all runs within a distance of the best: (a) in the value of the plan, against the "
            "best known of the instance; (b) in the time to a proof, against the fastest of the instance and "
            "seed. Higher is better; runs without a plan or proof count.",
            partial(_profiles, bench, styles),
        ),
        Sketch(
            "cactus",
            "Runs solved over time",
            "The number of runs (x) that took at most y seconds: (a) until the plan was proven, (b) until "
            "the plan was as good as the best known. Further right and lower is better.",
            partial(_cactus, bench, styles),
        ),
        Sketch(
            "gap",
            "Gap over time",
            "The mean distance from the best known value over time, over all runs that were not declined: "
            "(a) of the best plan so far, (b) of the best proven bound so far. 100 % until there is one.",
            partial(_gaps, bench, styles),
        ),
    ]
    if pair is not None:
        first, second = map(name, pair)
        drawn.append(
            Sketch(
                "scatter",
                f"{first} against {second}",
                "A point is an instance with a seed: (a) the seconds, (b) the distance of the plan from the "
                "best known. One point stands for several that are close together: its area is in "
                f"proportion, with their number beside it. Below the line {second} is better; beyond the "
                "dotted lines are runs without a result.",
                partial(_scatter, bench, pair, styles[pair[0]]),
            )
        )
    drawn.append(
        Sketch(
            "size",
            "Memory and time by size",
            "Each run by the number of buffers, solvers side by side: (a) the peak memory of its process, "
            "(b) its seconds.",
            partial(_sizes, bench, styles),
        )
    )
    return drawn


@dataclass(frozen=True, slots=True)
class Curves:
    """The curves of two panels, by solver."""

    left: list[Curve]
    right: list[Curve]


def profiles(bench: Bench) -> Curves:
    """The share of all runs within a distance of the best value, in per cent, and of the fastest proof."""
    total = len(bench.tasks)
    quality = [
        profile(solver, [_excess(r.ratio) for r in rated if r.ratio is not None], total)
        for solver, rated in bench.by_solver.items()
    ]
    fastest: dict[tuple[str, int], float] = {}
    for one in bench.rated:
        if one.proven:
            fastest[_task(one)] = min(fastest.get(_task(one), math.inf), _time(one))
    speed = [
        profile(solver, [_time(r) / fastest[_task(r)] for r in rated if r.proven], total)
        for solver, rated in bench.by_solver.items()
    ]
    return Curves(quality, speed)


def _profiles(bench: Bench, styles: Styles, axes: "Sequence[Axes]") -> None:
    curves = profiles(bench)
    quality, speed = curves.left, curves.right
    lines(axes[0], quality, styles, steps=True, until=_last(quality))
    percents(axes[0], "x", _last(quality))
    axes[0].set(title="Value", xlabel="above the best known", ylabel="share of all runs", ylim=(-0.02, 1.02))
    if not any(curve.x for curve in speed):
        return nothing(axes[1], "Time to proof", "nothing was proven")
    lines(axes[1], speed, styles, steps=True, until=_last(speed, 2.0))
    axes[1].set_xscale("log", base=2)
    axes[1].xaxis.set_major_formatter("{x:g} x")
    axes[1].set(
        title="Time to proof", xlabel="times the fastest", ylim=(-0.02, 1.02), xlim=(1, _last(speed, 2.0))
    )
    return None


def times_to_solve(bench: Bench) -> Curves:
    """By solver, the times of the runs that were proven, and of those as good as the best known."""
    proven = [
        cactus(solver, [_time(r) for r in rated if r.proven]) for solver, rated in bench.by_solver.items()
    ]
    reached = [
        cactus(
            solver,
            [
                max(SHORTEST, r.primal[-1][0] if r.primal else r.run.record.seconds)
                for r in rated
                if r.ratio is not None and r.ratio <= 1
            ],
        )
        for solver, rated in bench.by_solver.items()
    ]
    return Curves(proven, reached)


def _cactus(bench: Bench, styles: Styles, axes: "Sequence[Axes]") -> None:
    both = times_to_solve(bench)
    for panel, curves, title in (
        (axes[0], both.left, "Proven"),
        (axes[1], both.right, "As good as the best known"),
    ):
        if not any(curve.x for curve in curves):
            nothing(panel, title, "there is none")
            continue
        lines(panel, curves, styles)
        decades(panel, "y")
        whole(panel, "x")
        panel.set(title=title, xlabel="runs", ylabel="seconds" if panel is axes[0] else "")


def gaps(bench: Bench) -> Curves:
    """The mean gap of the plan and of the bound to the best known value over time, in per cent."""
    measured = [one for one in bench.rated if one.measured]
    times = log_spaced(SHORTEST, max([10 * SHORTEST, *(one.run.record.seconds for one in measured)]))
    plan, bound = (
        [
            mean_over_time(solver, (getattr(one, gap) for one in measured if one.run.solver == solver), times)
            for solver in bench.solvers
        ]
        for gap in ("primal", "dual")
    )
    return Curves(*([replace(c, y=tuple(100 * y for y in c.y)) for c in curves] for curves in (plan, bound)))


def _gaps(bench: Bench, styles: Styles, axes: "Sequence[Axes]") -> None:
    both = gaps(bench)
    if not any(curve.x for curve in both.left):
        for panel, title in zip(axes, ("Plan", "Bound"), strict=True):
            nothing(panel, title, "no value is known")
        return
    for panel, title, curves in ((axes[0], "Plan", both.left), (axes[1], "Bound", both.right)):
        lines(panel, curves, styles, markers=False)
        decades(panel, "x")
        percents(panel, "y", 100.0)
        panel.set(title=title, xlabel="seconds", ylabel="mean gap" if panel is axes[0] else "")


def _scatter(bench: Bench, pair: tuple[str, str], style: Style, axes: "Sequence[Axes]") -> None:
    first, second = ({_task(one): one for one in bench.by_solver[solver]} for solver in pair)
    both = [(first[task], second[task]) for task in sorted(first.keys() & second.keys())]
    if not both:
        for panel, title in zip(axes, ("Seconds", "Value"), strict=True):
            nothing(panel, title, "no instance in common")
        return
    longest = max(_time(one) for two in both for one in two)
    times = [tuple(_time(one) if one.solved else longest * _UNSOLVED for one in two) for two in both]
    _against(axes[0], times, longest, style, math.log)
    limits = (SHORTEST / 1.5, longest * 1.5 * _UNSOLVED)
    axes[0].set(xlim=limits, ylim=limits)
    decades(axes[0], "x")
    decades(axes[0], "y")
    axes[0].set(title="Seconds", xlabel=legend_name(pair[0]), ylabel=legend_name(pair[1]))
    worst = max([1.0, *(_excess(one.ratio) for two in both for one in two if one.ratio is not None)])
    values = [
        tuple(worst * _UNSOLVED if one.ratio is None else _excess(one.ratio) for one in two) for two in both
    ]
    _against(axes[1], values, worst, style, math.asinh)
    percents(axes[1], "x", worst * _UNSOLVED)
    percents(axes[1], "y", worst * _UNSOLVED)
    axes[1].set(title="Above the best known", xlabel=legend_name(pair[0]))


def _against(
    panel: "Axes",
    pairs: Iterable[tuple[float, ...]],
    last: float,
    style: Style,
    scale: Callable[[float], float],
) -> None:
    crowds(panel, cluster([(x, y) for x, y in pairs], scale), style)
    diagonal(panel, last)


def _sizes(bench: Bench, styles: Styles, axes: "Sequence[Axes]") -> None:
    middle = (len(bench.solvers) - 1) / 2
    for place, (solver, rated) in enumerate(bench.by_solver.items()):
        # Side by side: of equal size and equal memory, the last drawn would hide the others.
        aside = _ASIDE ** (place - middle)
        sized = [(aside * max(1, r.run.instance.features.get("buffers", 1)), r) for r in rated]
        memory = [(size, r.run.record.peak_memory / MIB) for size, r in sized if r.run.record.peak_memory]
        points(axes[0], thin_out(memory, math.log), styles[solver], solver)
        points(axes[1], thin_out([(size, _time(r)) for size, r in sized], math.log), styles[solver], None)
    for panel in axes:
        decades(panel, "x")
    decades(axes[0], "y")
    decades(axes[1], "y")
    axes[0].set(title="Memory", xlabel="buffers", ylabel="MiB")
    axes[1].set(title="Time", xlabel="buffers", ylabel="seconds")


def _task(one: RatedRun) -> tuple[str, int]:
    return one.run.instance.digest, one.run.record.seed


def _time(one: RatedRun) -> float:
    return max(SHORTEST, one.run.record.seconds)


def _excess(ratio: float) -> float:
    return (ratio - 1) * 100


def _last(curves: Sequence[Curve], least: float = 1.0) -> float:
    return max([least, *(x for curve in curves for x in curve.x[-1:])]) * 1.05
