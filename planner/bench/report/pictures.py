"""The pictures of a report: profiles, cactus, gap over time, one solver against another, what size costs."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from memstow.planner.bench.analysis.curves import (
    Curve,
    cactus,
    cluster,
    log_spaced,
    mean_over_time,
    profile,
    thin_out,
)
from memstow.planner.bench.analysis.ratios import Bench, RatedRun, Steps
from memstow.planner.bench.report.axes import (
    SHORTEST,
    crowds,
    decades,
    diagonal,
    legend_name,
    lines,
    nothing,
    percents,
    points,
    whole,
)
from memstow.planner.bench.report.canvas import Sketch, Style
from memstow.planner.bench.report.text import name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MIB: Final = 1 << 20
_UNSOLVED: Final = 3.0
"""How far beyond the worst value a run without one is drawn, as a factor."""
_ASIDE: Final = 1.03
"""How far solvers stand apart at one size, as a factor."""

Styles = Mapping[str, Style]


def sketches(bench: Bench, styles: Styles, pair: tuple[str, str] | None) -> list[Sketch]:
    """All pictures of a report, not drawn yet; a scatter plot only for a pair of solvers."""
    scatter = [] if pair is None else [_scatter_sketch(bench, styles, pair)]
    return [
        _profiles_sketch(bench, styles),
        _cactus_sketch(bench, styles),
        _gap_sketch(bench, styles),
        *scatter,
        _size_sketch(bench, styles),
    ]


def _profiles_sketch(bench: Bench, styles: Styles) -> Sketch:
    return Sketch(
        "profiles",
        "Performance profiles",
        "The share of all runs within a distance of the best: (a) in the value of the plan, against the best "
        "known of the instance; (b) in the time to a proof, against the fastest of the instance and seed. "
        "Higher is better; runs without a plan or proof count.",
        2,
        partial(_profiles, bench, styles),
    )


def _cactus_sketch(bench: Bench, styles: Styles) -> Sketch:
    return Sketch(
        "cactus",
        "Runs solved over time",
        "The number of runs (x) that took at most y seconds: (a) until the plan was proven, (b) until the "
        "plan was as good as the best known. Further right and lower is better.",
        2,
        partial(_cactus, bench, styles),
    )


def _gap_sketch(bench: Bench, styles: Styles) -> Sketch:
    return Sketch(
        "gap",
        "Gap over time",
        "The mean distance from the best known value over time, over all runs that were not declined: (a) of "
        "the best plan so far, (b) of the best proven bound so far. 100 % until there is one.",
        2,
        partial(_gaps, bench, styles),
    )


def _size_sketch(bench: Bench, styles: Styles) -> Sketch:
    return Sketch(
        "size",
        "Memory and time by size",
        "Each run by the number of buffers, solvers side by side: (a) the peak memory of its process, (b) "
        "its seconds.",
        2,
        partial(_sizes, bench, styles),
    )


def _scatter_sketch(bench: Bench, styles: Styles, pair: tuple[str, str]) -> Sketch:
    return Sketch(
        "scatter",
        f"{name(pair[0])} against {name(pair[1])}",
        "A point is an instance with a seed: (a) the seconds, (b) the distance of the plan from the best "
        "known. One point stands for several that are close together: its area is in proportion, with their "
        f"number beside it. Below the line {name(pair[1])} is better; beyond the dotted lines are runs "
        "without a result.",
        2,
        partial(_scatter, bench, pair, styles[pair[0]]),
    )


def _profiles(bench: Bench, styles: Styles, axes: "Sequence[Axes]") -> None:
    total = len(bench.tasks)
    quality = [
        profile(solver, [_excess(r.ratio) for r in rated if r.ratio is not None], total)
        for solver, rated in bench.by_solver.items()
    ]
    lines(axes[0], quality, styles, steps=True, until=_last(quality))
    percents(axes[0], "x", _last(quality))
    axes[0].set(title="Value", xlabel="above the best known", ylabel="share of all runs", ylim=(-0.02, 1.02))
    fastest: dict[tuple[str, int], float] = {}
    for one in bench.rated:
        if one.proven:
            fastest[_task(one)] = min(fastest.get(_task(one), math.inf), _time(one))
    speed = [
        profile(solver, [_time(r) / fastest[_task(r)] for r in rated if r.proven], total)
        for solver, rated in bench.by_solver.items()
    ]
    if not fastest:
        return nothing(axes[1], "Time to proof", "nothing was proven")
    lines(axes[1], speed, styles, steps=True, until=_last(speed, 2.0))
    axes[1].set_xscale("log", base=2)
    axes[1].xaxis.set_major_formatter("{x:g} x")
    axes[1].set(
        title="Time to proof", xlabel="times the fastest", ylim=(-0.02, 1.02), xlim=(1, _last(speed, 2.0))
    )
    return None


def _cactus(bench: Bench, styles: Styles, axes: "Sequence[Axes]") -> None:
    proven = [
        cactus(solver, [_time(r) for r in rated if r.proven]) for solver, rated in bench.by_solver.items()
    ]
    reached = [
        cactus(solver, [_reached(r) for r in rated if r.ratio is not None and r.ratio <= 1])
        for solver, rated in bench.by_solver.items()
    ]
    for panel, curves, title in (
        (axes[0], proven, "Proven"),
        (axes[1], reached, "As good as the best known"),
    ):
        if not any(curve.x for curve in curves):
            nothing(panel, title, "there is none")
            continue
        lines(panel, curves, styles)
        decades(panel, "y")
        whole(panel, "x")
        panel.set(title=title, xlabel="runs", ylabel="seconds" if panel is axes[0] else "")


def _gaps(bench: Bench, styles: Styles, axes: "Sequence[Axes]") -> None:
    measured = [one for one in bench.rated if one.measured]
    if not measured:
        for panel, title in zip(axes, ("Plan", "Bound"), strict=True):
            nothing(panel, title, "no value is known")
        return
    times = log_spaced(SHORTEST, max(10 * SHORTEST, *(one.run.record.seconds for one in measured)))
    for panel, title, steps in (
        (axes[0], "Plan", _primal),
        (axes[1], "Bound", _dual),
    ):
        curves = [
            mean_over_time(solver, (steps(one) for one in measured if one.run.solver == solver), times)
            for solver in bench.solvers
        ]
        lines(panel, [_in_percent(curve) for curve in curves], styles, markers=False)
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


def _reached(one: RatedRun) -> float:
    return max(SHORTEST, one.primal[-1][0] if one.primal else one.run.record.seconds)


def _excess(ratio: float) -> float:
    return (ratio - 1) * 100


def _in_percent(curve: Curve) -> Curve:
    return replace(curve, y=tuple(100 * y for y in curve.y))


def _primal(one: RatedRun) -> Steps:
    return one.primal


def _dual(one: RatedRun) -> Steps:
    return one.dual


def _last(curves: Sequence[Curve], least: float = 1.0) -> float:
    return max([least, *(x for curve in curves for x in curve.x[-1:])]) * 1.05
