"""What a comparison compares: measures (less is better), and outcomes that a run achieves or not."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from memstow.planner.bench.analysis.best_known import ratio
from memstow.planner.bench.compare.pairs import Pair
from memstow.planner.bench.records.results import Run

Difference = float
"""The logarithm of new by old: above 0 is worse."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that every pair, or some of them, has before and after."""

    name: str
    description: str
    difference: Callable[[Pair], Difference | None]
    noisy: bool
    """Differs from run to run even where the run itself is deterministic."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Something that a run achieves or does not."""

    name: str
    description: str
    achieved: Callable[[Run], bool]


def _value(pair: Pair) -> Difference | None:
    old, new = pair.old.value, pair.new.value
    if old is None or new is None or len(old) != len(new):
        return None
    return math.log(ratio(new, old))


def _bound(pair: Pair) -> Difference | None:
    old, new = pair.old.record.bound, pair.new.record.bound
    return None if old is None or new is None else -math.log(ratio((new,), (old,)))


def _answered(run: Run) -> bool:
    # The time of a run that gave up does not count.
    return run.valid or run.proven


def _work(kind: str) -> Callable[[Pair], Difference | None]:
    def difference(pair: Pair) -> Difference | None:
        old, new = (run.record.work.get(kind) for run in (pair.old, pair.new))
        if old is None or new is None or not (_answered(pair.old) and _answered(pair.new)):
            return None
        return math.log(ratio((new,), (old,)))

    return difference


def _measured(of: Callable[[Run], float | None]) -> Callable[[Pair], Difference | None]:
    def difference(pair: Pair) -> Difference | None:
        old, new = of(pair.old), of(pair.new)
        # A 0 was not measured, or was removed from the file on purpose.
        if not old or not new or not (_answered(pair.old) and _answered(pair.new)):
            return None
        return math.log(new / old)

    return difference


MEASURES: Final = (
    Measure("value", "the objective of the plan", _value, noisy=False),
    Measure("bound", "what is proven", _bound, noisy=False),
    Measure("nodes", "nodes of searches", _work("nodes"), noisy=False),
    Measure("steps", "steps of work", _work("steps"), noisy=False),
    Measure("seconds", "seconds until the answer", _measured(lambda run: run.record.seconds), noisy=True),
    Measure("cpu", "seconds of processors", _measured(lambda run: run.record.cpu_seconds), noisy=True),
    Measure(
        "reported",
        "seconds that an outside program says it took",
        _measured(lambda run: run.record.reported_seconds),
        noisy=True,
    ),
    Measure("memory", "most memory", _measured(lambda run: run.record.peak_memory), noisy=True),
)
OUTCOMES: Final = (
    Outcome("solved", "a valid plan, or a proof that there is none", _answered),
    Outcome("proven", "proven", lambda run: run.proven),
)
NAMES: Final = tuple(one.name for one in (*OUTCOMES, *MEASURES))
NOISY: Final = frozenset(one.name for one in MEASURES if one.noisy)
DECIDING: Final = ("solved", "proven", "value", "bound", "nodes", "steps")
"""The measures that decide the exit code by default: none that depends on a clock."""
OF_TWO_SOLVERS: Final = tuple(name for name in NAMES if name not in ("nodes", "steps"))
"""The measures of a comparison of two solvers by default: each counts its work in its own way."""
