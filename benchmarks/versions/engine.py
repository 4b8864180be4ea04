"""What the engine reaches on hard problems in the time that they get: calls of `memstow.plan`."""

from functools import partial
from typing import Any, Final

from benchmarks.hard.instances import HEIGHT
from benchmarks.versions.case import Case, Figures, Row
from benchmarks.versions.checkout import Checkout
from benchmarks.versions.inputs import Inputs

SECONDS: Final = 10.0
LONG_SECONDS: Final = 20.0
WORKERS: Final = 2
SLACK: Final = 0.01
LOW_PEAK_OF_J: Final = 1_003_520


def minimalloc(letter: str, checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """One of A-K."""
    path = inputs.published(f"minimalloc/{letter}.{HEIGHT}.csv")
    figures = _minimised(checkout.plan(path, time_limit=SECONDS, workers=WORKERS))
    return {**figures, "low": float("peak" in figures and figures["peak"] <= LOW_PEAK_OF_J)}


def full(n: int, slack: float, checkout: Checkout, inputs: Inputs, seed: int) -> Figures:
    """A planted problem; each run has another one."""
    return _minimised(checkout.plan(inputs.planted(n, seed, slack), time_limit=SECONDS, workers=WORKERS))


def idealloc(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """S_1, the largest of them."""
    path = inputs.published("idealloc/S_1.csv")
    return _minimised(checkout.plan(path, time_limit=LONG_SECONDS, workers=WORKERS))


def reuse(letter: str, checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """One of the two with costs on pairs: the cost is to be low, and its bound near it."""
    path = inputs.published(f"minimalloc-dsa-rp/{letter}.json")
    found = checkout.plan(path, time_limit=LONG_SECONDS, workers=WORKERS)
    if found["value"] is None:
        return {}
    return {"cost": found["value"], "of-cost": found["bound"] / found["value"] if found["value"] else 1.0}


def three_pools(checkout: Checkout, inputs: Inputs, seed: int) -> Figures:
    """Three pools by cost; each run has another problem."""
    found = checkout.plan(inputs.three_pools(200, seed), time_limit=SECONDS, workers=WORKERS)
    return {} if found["value"] is None else {"gap": found["value"] / found["bound"] - 1.0}


def _minimised(found: dict[str, Any]) -> Figures:
    """Of a problem whose peak is to be low."""
    proven = found["status"] == "optimal"
    figures = {"proven": float(proven)}
    if found["value"] is not None:
        figures |= {"peak": found["value"], "of-bound": found["value"] / found["bound"]}
    return figures | ({"seconds": found["seconds"]} if proven else {})


def _full(n: int, slack: float, *, proven: float | None = None, of_bound: float | None = None) -> Case:
    kind = f"planted, {n:,} buffers" + (f", {slack:.0%} slack" if slack else "")
    rows = (
        Row("proven", f"{kind}, {SECONDS:g} s: proven", wanted=proven, more_is_better=True, counted=True),
        Row("seconds", f"{kind}: s to the proof, where there is one"),
        Row("of-bound", f"{kind}: peak / bound", ".4f", wanted=of_bound),
    )
    return Case(f"{'slack' if slack else 'tiling'}-{n}", rows, partial(full, n, slack), runs=5)


def _reuse(letter: str) -> Case:
    kind = f"reuse costs of {letter}, {LONG_SECONDS:g} s"
    rows = (
        Row("cost", f"{kind}: cost", ".0f"),
        Row("of-cost", f"{kind}: bound / cost", wanted=0.5, more_is_better=True),
    )
    return Case(f"reuse-{letter}", rows, partial(reuse, letter), runs=3)


CASES: Final = (
    Case(
        "D",
        (
            Row(
                "proven",
                f"D of MiniMalloc, {SECONDS:g} s: proven",
                wanted=1.0,
                more_is_better=True,
                counted=True,
            ),
            Row("seconds", "D: s to the proof, where there is one"),
        ),
        partial(minimalloc, "D"),
        runs=5,
    ),
    Case(
        "J",
        (
            Row("peak", f"J of MiniMalloc, {SECONDS:g} s: peak", ",.0f"),
            Row("low", f"J: at most {LOW_PEAK_OF_J:,}", wanted=1.0, more_is_better=True, counted=True),
            Row("proven", "J: proven", counted=True),
        ),
        partial(minimalloc, "J"),
        runs=5,
    ),
    _full(200, SLACK, proven=1.0),
    _full(300, SLACK, of_bound=1.03),
    _full(600, SLACK, of_bound=1.06),
    _full(2_000, 0.0, proven=1.0),
    _full(5_000, 0.0, proven=1.0),
    Case(
        "S_1",
        (
            Row("of-bound", f"S_1 of idealloc, {LONG_SECONDS:g} s: peak / bound", ".5f", wanted=1.0005),
            Row("proven", "S_1: proven", counted=True),
            Row("seconds", "S_1: s to the proof, where there is one"),
        ),
        idealloc,
        runs=3,
    ),
    _reuse("A"),
    _reuse("F"),
    Case(
        "pools",
        (
            Row(
                "gap",
                f"three pools of 200 buffers by cost, {SECONDS:g} s: above the bound",
                ".2%",
                wanted=0.01,
            ),
        ),
        three_pools,
        runs=4,
    ),
)
